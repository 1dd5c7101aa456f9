"""examples/workers.py with the commands of docs/workers.md, while its server is there and away."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import celery  # type: ignore[import-untyped]
import pytest
from conftest import Server

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/workers.md"
# Long enough for workers that are not stuck, however busy the machine is.
STUCK_SECONDS = 120
Answer = tuple[list[bool], dict[str, Any]]


def eventually(holds: Callable[[], bool], log: Path) -> None:
    deadline = time.monotonic() + STUCK_SECONDS
    while not holds():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.01)


class Workers:
    """Two workers of a program that has forked them. `broker` is a server for Celery."""

    program: str
    options: list[str] = []

    def __init__(self, url: str, broker: Server, folder: Path, wait: float = STUCK_SECONDS) -> None:
        self.folder, self.log = folder, folder / "workers.log"
        self.broker = f"redis+socket://{broker.socket}"
        self.prepare()
        [command] = re.findall(rf"^\$ ({self.program} .*) 8\b(.*)$", PAGE.read_text(), re.MULTILINE)
        words = [sys.executable, "-m", *" 2".join(command).split(), *self.options]
        environment = {**os.environ, "SERVER": url, "BROKER": self.broker, "WAIT": str(wait)}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                words, cwd=ROOT, env=environment, stdout=log, stderr=log
            )

    def prepare(self) -> None:
        raise NotImplementedError

    def ask(self, items: list[str]) -> Iterator[Answer]:
        """Some workers' answers."""
        raise NotImplementedError

    def answers(self, *items: str) -> dict[int, Answer]:
        """The answer of each worker, by its process."""
        found: dict[int, Answer] = {}

        def are_all() -> bool:
            found.update((answer[1]["pid"], answer) for answer in self.ask(list(items)))
            return len(found) == 2

        eventually(are_all, self.log)
        assert self.process.pid not in found
        return found

    def children(self) -> set[int]:
        """The workers, whether they respond or not."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return set(map(int, path.read_text().split()))

    def all_find(self, item: str) -> bool:
        return all(
            is_there and state["ready"] and state["error"] is None
            for [is_there], state in self.answers(item).values()
        )

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(STUCK_SECONDS)
        finally:
            self.process.kill()


class Gunicorn(Workers):
    program = "gunicorn"

    def prepare(self) -> None:
        self.socket = self.folder / "web"
        self.options = ["--bind", f"unix:{self.socket}", "--no-control-socket"]

    def ask(self, items: list[str]) -> Iterator[Answer]:
        connection = http.client.HTTPConnection("localhost")
        connection.sock = socket.socket(socket.AF_UNIX)
        with connection.sock as sock:
            try:
                sock.connect(str(self.socket))
            except (FileNotFoundError, ConnectionRefusedError):
                return
            connection.request("GET", "/" + "/".join(map(quote, items)))
            yield json.loads(connection.getresponse().read())


class Celery(Workers):
    program = "celery"

    def prepare(self) -> None:
        self.app = celery.Celery(broker=self.broker, backend=self.broker)

    def ask(self, items: list[str]) -> Iterator[Answer]:
        # Both workers are needed for so many.
        jobs = [self.app.send_task("look_up", [items]) for _ in range(8)]
        for job in jobs:
            yield job.get(timeout=STUCK_SECONDS)


@pytest.fixture(params=[Gunicorn, Celery])
def kind(request: pytest.FixtureRequest) -> type[Workers]:
    return request.param  # type: ignore[no-any-return]


def fill(server: Server, *items: str | int) -> None:
    """Creates the filter, in which nothing else is found by chance."""
    server.client().bf().reserve("ids", 1e-9, 10_000)
    server.client().bf().madd("ids", *items)


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Server]:
    """A server with the filter, which a test may stop."""
    server = Server(tmp_path)
    fill(server, *range(1_000))
    yield server
    server.stop()


@pytest.fixture
def workers(
    kind: type[Workers], own: Server, server: Server, tmp_path: Path
) -> Iterator[Workers]:
    workers = kind(f"unix://{own.socket}", server, tmp_path)
    yield workers
    workers.stop()


def test_each_worker_begins_with_the_copy_and_follows(workers: Workers, own: Server) -> None:
    shown = re.search(r"^\[\[true.*$", PAGE.read_text(), re.MULTILINE)
    assert shown is not None
    answer, shown_state = json.loads(shown[0])
    for found, state in workers.answers("7", "new").values():
        assert found == answer and state.keys() == shown_state.keys()
        assert state["ready"] and state["fetches"] == 1
    own.client().bf().madd("ids", "new", "é")
    eventually(lambda: workers.all_find("new") and workers.all_find("é"), workers.log)
    # They asked the server for what is new since the fork, not for the filter.
    assert all(state["fetches"] == 1 for _, state in workers.answers().values())


def test_workers_follow_before_they_are_asked(workers: Workers, own: Server) -> None:
    def followers() -> int:
        clients = own.client().client_list()
        return sum(client["name"] == "splitbloom-follower" for client in clients)

    eventually(lambda: followers() == 3, workers.log)  # one is their parent's


def test_a_worker_that_replaces_another_begins_with_what_its_parent_has(
    workers: Workers, own: Server
) -> None:
    first = workers.answers()
    own.client().bf().add("ids", "new")
    eventually(lambda: workers.all_find("new"), workers.log)
    own.stop()
    killed = min(first)
    os.kill(killed, signal.SIGKILL)
    # Its parent forks another one, which cannot ask the server.
    eventually(lambda: killed not in (now := workers.children()) and len(now) == 2, workers.log)
    for [is_there, is_absent], state in workers.answers("new", "absent").values():
        assert is_there and not is_absent and state["fetches"] == 1


def test_while_the_server_is_away_workers_answer_from_their_copies(
    workers: Workers, own: Server, tmp_path: Path
) -> None:
    before = workers.answers()
    own.stop()

    def are_all_old() -> bool:
        answers = workers.answers("7", "absent").values()
        assert all(answer == [True, False] and state["ready"] for answer, state in answers)
        return all(state["error"] and state["staleness"] > 1 for _, state in answers)

    eventually(are_all_old, workers.log)
    another = Server(tmp_path)
    try:
        # A server that is back without the filter takes the copies away.
        eventually(
            lambda: not any(state["ready"] for _, state in workers.answers().values()), workers.log
        )
        fill(another, "7", "new")
        eventually(lambda: workers.all_find("new"), workers.log)
        assert workers.answers().keys() == before.keys()
    finally:
        another.stop()


def test_without_a_server_at_the_start_any_id_may_exist_until_it_is_there(
    kind: type[Workers], server: Server, tmp_path: Path
) -> None:
    workers = kind(f"unix://{tmp_path}/socket", server, tmp_path, wait=0)
    try:
        for [may_exist], state in workers.answers("absent").values():
            assert may_exist and not state["ready"] and state["error"]
        own = Server(tmp_path)
        try:
            fill(own, *range(1_000))
            eventually(lambda: workers.all_find("7"), workers.log)
            for answer, state in workers.answers("7", "absent").values():
                assert answer == [True, False] and state["fetches"] == 1
        finally:
            own.stop()
    finally:
        workers.stop()
