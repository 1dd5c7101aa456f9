"""What a filter takes in the workers of gunicorn and Celery: opened or followed before the fork,
followed by each worker, or on a replica on the same machine.

Argument: ITEMS, the filter's capacity, of which nine tenths are added first. An hour of adds at
1 000 a second for 10⁸ items, and in proportion for fewer, takes 36 seconds. Memory is the
proportional set size of the main process, its workers and the replica.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import celery
import numpy
import redis

from splitbloom import Filter, Follower

WORKERS, SECONDS, BATCH = 8, 3, 100
State = dict[str, Any]
# Adds a second: slow enough for the followers of two cores.
RATE = 100_000


class Remote:
    """The filter of a server, looked up there."""

    def __init__(self, path: str) -> None:
        self.db = redis.Redis(unix_socket_path=path)

    def __contains__(self, item: int) -> bool:
        return bool(self.db.execute_command("BF.EXISTS", "ids", item))

    def contains(self, items: list[int]) -> Any:
        return self.db.execute_command("BF.MEXISTS", "ids", *items)


# What a worker of each way looks up in, and whether it is there before the fork.
WAYS: dict[str, tuple[Callable[[str], Any], bool]] = {
    "none": (lambda folder: None, True),
    "opened before the fork": (lambda folder: Filter.open(Path(folder, "ids.sbf")), True),
    "followed before the fork": (lambda folder: Follower(f"unix://{folder}/primary", "ids"), True),
    "followed by each worker": (lambda folder: Follower(f"unix://{folder}/primary", "ids"), False),
    "replica": (lambda folder: Remote(f"{folder}/replica"), False),
}


class Worker:
    """What is measured in a worker."""

    def __init__(self, way: str, folder: str) -> None:
        self.make = lambda: WAYS[way][0](folder)
        self.is_shared = WAYS[way][1]
        if self.is_shared:
            self.ids = self.make()
            self.begin()
        os.register_at_fork(after_in_child=self.enter)

    def enter(self) -> None:
        if not self.is_shared:
            self.ids = self.make()
        self.begin()

    def begin(self) -> None:
        if isinstance(self.ids, Follower) and not self.ids.wait_until_ready():
            raise RuntimeError("there is no copy")

    def __call__(self, name: str) -> State:
        end = time.monotonic() + SECONDS
        ids, number, step = self.ids, os.getpid() << 32, 1 if name == "singles" else BATCH
        start = number
        while name != "state" and time.monotonic() < end:
            for number in range(number, number + 100 * step, step):
                if step == 1:
                    number in ids
                else:
                    ids.contains(list(range(number, number + step)))
            number += step
        if name == "state":
            time.sleep(0.3)  # so that no worker takes two
        is_follower = isinstance(ids, Follower)
        error = ids.error if is_follower else None
        follows = (ids.is_ready, ids.fetches, ids.changes, error) if is_follower else None
        return {"pid": os.getpid(), "a second": (number - start) / SECONDS, "follows": follows}


if __name__ != "__main__":
    worker = Worker(os.environ["WAY"], os.environ["FOLDER"])

    def application(environ: Any, start_response: Any) -> list[bytes]:
        start_response("200 OK", [])
        return [json.dumps(worker(environ["PATH_INFO"][1:])).encode()]

    if "BROKER" in os.environ:
        jobs = celery.Celery(broker=os.environ["BROKER"], backend=os.environ["BROKER"])

        @jobs.task(name="worker")
        def work(name: str) -> State:
            return worker(name)


def pids_of(master: int) -> list[int]:
    """The process and its children."""
    children = Path(f"/proc/{master}/task/{master}/children").read_text().split()
    return [master, *map(int, children)]


def over_http(folder: str, name: str) -> list[State]:
    def ask(_: int) -> State:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(f"{folder}/web")
            connection.sendall(f"GET /{name} HTTP/1.0\r\n\r\n".encode())
            response = connection.makefile("rb").read()
        state: State = json.loads(response.split(b"\r\n\r\n")[1])
        return state

    with ThreadPoolExecutor(WORKERS) as pool:
        return list(pool.map(ask, range(WORKERS)))


def over_celery(folder: str, name: str) -> list[State]:
    broker = f"redis+socket://{folder}/primary"
    app = celery.Celery(broker=broker, backend=broker)
    jobs = [app.send_task("worker", [name]) for _ in range(WORKERS)]
    return [job.get(timeout=60) for job in jobs]


class Rig:
    """Servers with the filter, and workers of one way."""

    def __init__(self, folder: str, items: int) -> None:
        self.folder = folder
        self.filter = Filter(items, 0.01)
        for first in range(0, items * 9 // 10, 1 << 20):
            last = min(first + (1 << 20), items * 9 // 10)
            self.filter.update(numpy.arange(first, last, dtype=numpy.int64))
        self.filter.save(Path(folder, "ids.sbf"))
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.processes: list[subprocess.Popen[bytes]] = []
        self.primary = self.server("primary", "--port", str(self.port))
        self.replica = self.server("replica", "--port", "0")
        # An hour's adds come in less than a minute: followers may be further behind than usual.
        self.primary.execute_command("CONFIG", "SET", "bf.max-followed-items", 1 << 21)
        self.filter.push(self.primary, "ids")
        self.primary.execute_command("CONFIG", "SET", "repl-diskless-sync-delay", 0)
        self.replica.execute_command("REPLICAOF", "127.0.0.1", self.port)

    def server(self, name: str, *words: str) -> redis.Redis:
        path = f"{self.folder}/{name}"
        words = (os.environ["SPLITBLOOM_SERVER"], "--unixsocket", path, "--save", "", *words)
        words += ("--dir", self.folder, "--loadmodule", os.environ["SPLITBLOOM_MODULE"])
        self.processes.append(subprocess.Popen(words, stdout=subprocess.DEVNULL))
        while not Path(path).exists():
            time.sleep(0.01)
        return redis.Redis(unix_socket_path=path, socket_timeout=None)

    def add(self, items: int) -> int:
        """Adds items on the server; returns how many were new there."""
        begin, new = time.monotonic(), 0
        for first in range(0, items, 1_000):
            added = range(-first - 1_000, -first)
            new += sum(self.primary.execute_command("BF.MADD", "ids", *added))
            time.sleep(max(0.0, begin + first / RATE - time.monotonic()))
        return new

    def each(self, name: str, holds: Callable[[State], bool] = lambda _: True) -> list[State]:
        """The state of each worker, once that holds for all."""
        deadline = time.monotonic() + 120
        while True:
            try:
                states = self.ask(self.folder, name)
            except OSError:
                states = []  # it has not started
            if len({state["pid"] for state in states}) == WORKERS and all(map(holds, states)):
                return states
            if self.workers.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"workers: {states}")
            time.sleep(0.1)

    def megabytes(self, pids: list[int]) -> float:
        # A server keeps the memory of a filter that it has replaced for a while.
        self.replica.execute_command("MEMORY", "PURGE")
        lines = [Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines() for pid in pids]
        kibibytes = [int(it.split()[1]) for of in lines for it in of if it.startswith("Pss:")]
        return sum(kibibytes) * 1024 / 1e6

    def measure(self, way: str, kind: str, adds: int) -> str:
        """A row of the table."""
        self.filter.push(self.primary, "ids", replace=True)
        self.primary.execute_command("WAIT", 1, 0)
        environment = {**os.environ, "WAY": way, "FOLDER": self.folder}
        if kind == "gunicorn":
            words = f"--preload --workers {WORKERS} --bind unix:{self.folder}/web"
            words += " --no-control-socket --log-level error workers:application"
        else:
            words = f"--quiet --app workers:jobs worker --concurrency {WORKERS} --loglevel ERROR"
            environment["BROKER"] = f"redis+socket://{self.folder}/primary"
        command = [sys.executable, "-m", kind, *words.split()]
        self.ask = over_http if kind == "gunicorn" else over_celery
        self.workers = subprocess.Popen(command, cwd=Path(__file__).parent, env=environment)
        try:
            begun = [True, 1, 0, None]
            self.each("state", lambda state: state["follows"] in (None, begun))
            pids = pids_of(self.workers.pid)
            if way == "replica":
                pids += pids_of(self.processes[1].pid)
            before = self.megabytes(pids)
            names = ("singles", "batches") if way != "none" else ()
            loops = [self.each(name) for name in names]
            added = self.add(adds) if way != "none" else 0
            whole = [True, 1, added, None]
            self.each("state", lambda state: state["follows"] in (None, whole))
            after = self.megabytes(pids)
        finally:
            self.workers.terminate()
            self.workers.wait()
        rates = [f"{sum(state['a second'] for state in states):.0f}" for states in loops]
        one, many = rates or ("-", "-")
        return f"| {way} | {kind} | {before:.0f} | {after:.0f} | {one} | {many} |"


def main(items: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        rig = Rig(folder, items)
        try:
            print("| filter | workers | MB | MB after adds | lookups a second | in batches |")
            print("| --- | --- | --- | --- | --- | --- |", flush=True)
            for way in WAYS:
                for kind in ("gunicorn", "celery"):
                    print(rig.measure(way, kind, items * 36 // 1_000), flush=True)
        finally:
            for process in rig.processes:
                process.kill()
                process.wait()


if __name__ == "__main__":
    main(int(sys.argv[1]))
