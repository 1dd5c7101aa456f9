"""Filters and followers in processes that fork, in each way that Python and its servers have."""

import ctypes
import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path

import pytest
import redis
from conftest import Server

from splitbloom import CountingFilter, Filter, Follower, NotReadyError

# Forks in a test: FORKS=10000 make test-python
FORKS = int(os.environ.get("FORKS", "200"))
# Children at a time.
GROUP = 4
# Long enough for a child that is not stuck, however busy the machine is.
STUCK_SECONDS = 120
HERE = Path(__file__).parent


def eventually(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.002)


def start_child(act: Callable[[], None], fork: Callable[[], int] = os.fork) -> int:
    """Calls `act` in a child, which the system kills if it is stuck."""
    if (child := fork()) != 0:
        return child
    status = 1
    try:
        signal.alarm(STUCK_SECONDS)
        act()
        status = 0
    except BaseException as error:
        print("child:", repr(error), file=sys.stderr, flush=True)
    finally:
        os._exit(status)


def in_children(act: Callable[[], None], number: int = FORKS) -> None:
    """Calls `act` in that many children; each must come to its end."""
    for _ in range(0, number, GROUP):
        children = [start_child(act) for _ in range(GROUP)]
        assert [os.waitpid(child, 0)[1] for child in children] == [0] * GROUP


@pytest.fixture
def url(server: Server) -> str:
    return f"unix://{server.socket}"


@pytest.fixture
def seen(db: redis.Redis, url: str) -> Iterator[Follower]:
    db.bf().create("seen", 0.001, 100_000)
    db.bf().madd("seen", *range(1_000))
    with Follower(url, "seen") as follower:
        assert follower.wait_until_ready()
        yield follower


@pytest.fixture
def writer(server: Server) -> Iterator[None]:
    """Another process that adds to the filter all the time."""
    program = """
import redis, sys, time
db = redis.Redis(unix_socket_path=sys.argv[1])
number = 10_000
while True:
    db.execute_command("BF.MADD", "seen", *range(number, number + 500))
    number += 500
    time.sleep(0.01)  # else a busy machine's followers cannot keep up with it
"""
    with subprocess.Popen([sys.executable, "-c", program, str(server.socket)]) as process:
        yield
        process.kill()


def test_a_child_follows_while_the_parent_applies_what_is_new(
    server: Server, seen: Follower, writer: None
) -> None:
    def follow() -> None:
        assert "7" in seen and all(seen.contains(range(1_000)))
        own = f"of {os.getpid()}"
        with server.client() as db:
            db.bf().add("seen", own)
        # It may also have been found by chance.
        try:
            eventually(lambda: own in seen and seen.error is None)
        except AssertionError:
            raise AssertionError(f"{seen}: {seen.error}, fetches {seen.fetches}") from None
        assert all(seen.contains(range(1_000)))

    eventually(lambda: seen.changes > 0)
    in_children(follow)
    assert all(seen.contains(range(1_000)))


def test_a_child_goes_on_from_where_its_parent_was(server: Server, seen: Follower) -> None:
    def follow() -> None:
        assert seen.is_ready and seen.staleness is not None
        with server.client() as db:
            db.bf().add("seen", os.getpid())
        eventually(lambda: os.getpid() in seen and seen.error is None)
        assert seen.fetches == 1
        seen.close()
        with pytest.raises(NotReadyError, match="closed"):
            7 in seen

    in_children(follow, 8)
    assert (seen.fetches, seen.error) == (1, None)


def test_a_child_without_a_server_says_how_old_its_copy_is_and_why(tmp_path: Path) -> None:
    server = Server(tmp_path)
    server.client().bf().insert("seen", range(1_000))
    with Follower(f"unix://{server.socket}", "seen") as seen:
        assert seen.wait_until_ready()
        server.stop()

        def grow_old() -> None:
            before = seen.staleness
            assert before is not None and seen.error is not None
            eventually(lambda: "forked" not in (seen.error or "forked"))
            assert all(seen.contains(range(1_000))) and seen.error in repr(seen)
            assert seen.staleness is not None and seen.staleness > before

        in_children(grow_old, 8)


def test_a_child_waits_for_a_copy_that_its_parent_has_not_yet(
    db: redis.Redis, url: str
) -> None:
    with Follower(url, "seen") as seen:
        child = start_child(lambda: eventually(lambda: seen.wait_until_ready() and "7" in seen))
        db.bf().insert("seen", range(1_000))
        assert os.waitpid(child, 0)[1] == 0
        assert seen.wait_until_ready()


@pytest.mark.parametrize("kind", [Filter, CountingFilter])
def test_a_child_has_a_filter_that_threads_add_to(
    kind: type[Filter] | type[CountingFilter],
) -> None:
    filter = kind(1_000_000)
    filter.update(range(1_000))
    done = threading.Event()

    def add() -> None:
        # Again and again: a filter that grew would take a child longer and longer.
        for number in cycle(range(10_000, 100_000, 4_000)):
            if done.is_set():
                return
            filter.update([str(number + n) for n in range(4_000)])
            filter.contains([str(number + n) for n in range(4_000)])

    def use() -> None:
        assert "7" in filter and all(filter.contains(range(1_000)))
        items = len(filter)
        assert filter.update(["one", "two", "three"]) == len(filter) - items
        assert all(filter.contains(["one", "two", "three"]))
        assert len(kind.loads(filter.dumps())) == len(filter)

    threads = [threading.Thread(target=add) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        in_children(use)
    finally:
        done.set()
        for thread in threads:
            thread.join()


def test_a_fork_by_a_server_in_c_is_a_fork(seen: Follower, writer: None) -> None:
    def fork() -> int:
        ctypes.pythonapi.PyOS_BeforeFork()
        child: int = ctypes.PyDLL(None).fork()
        if child == 0:
            ctypes.pythonapi.PyOS_AfterFork_Child()
        else:
            ctypes.pythonapi.PyOS_AfterFork_Parent()
        return child

    def follow() -> None:
        assert all(seen.contains(range(1_000)))
        eventually(lambda: seen.error is None)

    for _ in range(20):
        assert os.waitpid(start_child(follow, fork), 0)[1] == 0


ENDINGS = {
    "its last line": "",
    "sys.exit": "sys.exit()",
    "os._exit": "os._exit(0)",
    "close": "preloaded.seen.close()",
    "another program": "os.execv('/bin/true', ['/bin/true'])",
}


@pytest.mark.parametrize("ending", ENDINGS.values(), ids=ENDINGS.keys())
def test_a_child_ends_without_its_parent(url: str, seen: Follower, ending: str) -> None:
    program = f"""
import atexit, os, signal, sys
import preloaded
atexit.register(lambda: preloaded.seen.close())
child = os.fork()
if child == 0:
    signal.alarm({STUCK_SECONDS})
    assert preloaded.follows(7)
    {ending}
else:
    assert os.waitpid(child, 0)[1] == 0
    changes = preloaded.seen.changes
    print("more", flush=True)
    input()
    while preloaded.seen.changes == changes:
        assert preloaded.seen.error is None
    assert preloaded.seen.fetches == 1
"""
    with python("-c", program, url=url, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None and parent.stdout.readline() == b"more\n"
        with redis.Redis(unix_socket_path=url.removeprefix("unix://")) as db:
            db.bf().madd("seen", *range(5_000, 5_100))
        parent.communicate(b"\n", STUCK_SECONDS)
        assert parent.returncode == 0


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_a_pool_looks_up(url: str, seen: Follower, writer: None, method: str) -> None:
    program = f"""
import multiprocessing
import preloaded
context = multiprocessing.get_context({method!r})
context.set_forkserver_preload(["preloaded"])
for _ in range(3):
    with context.Pool(4) as pool:
        assert all(pool.map(preloaded.follows, range(1000), 20))
"""
    with python("-c", program, url=url) as process:
        assert process.wait(STUCK_SECONDS) == 0


def test_each_worker_of_gunicorn_follows_what_was_loaded_before_the_fork(
    db: redis.Redis, url: str, seen: Follower, tmp_path: Path
) -> None:
    class Connection(http.client.HTTPConnection):
        def connect(self) -> None:
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.connect(str(tmp_path / "web"))

    def ask(item: int) -> int:
        connection = Connection("localhost")
        connection.request("GET", f"/{item}")
        return int(connection.getresponse().read())

    words = ["gunicorn", "--preload", "--workers", "2", "--log-level", "error"]
    words += ["--bind", f"unix:{tmp_path}/web", "preloaded:application"]
    with python("-m", *words, url=url) as process:
        try:
            eventually((tmp_path / "web").exists)
            for item in [7, 5_000]:
                db.bf().add("seen", item)
                workers = {0}
                while len(workers) < 3:
                    workers.add(ask(item))
                assert process.pid not in workers
        finally:
            process.terminate()


def python(
    *words: str, url: str, stdin: int | None = None, stdout: int | None = None
) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "FOLLOW": url, "PYTHONPATH": str(HERE)}
    words = (sys.executable, *words)
    return subprocess.Popen(words, env=environment, stdin=stdin, stdout=stdout)
