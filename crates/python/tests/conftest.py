"""A server with the module for each test that wants one, and the tool."""

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis


class Server:
    """A server in a folder of its own, on a socket there."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "socket"
        log = folder / "log"
        self.process = subprocess.Popen(
            [os.environ["SPLITBLOOM_SERVER"], "--port", "0", "--unixsocket", str(self.socket)]
            + ["--save", "", "--dir", str(folder), "--logfile", str(log)]
            + ["--enable-debug-command", "yes", "--loadmodule", os.environ["SPLITBLOOM_MODULE"]]
        )
        while True:
            try:
                self.client().ping()
                return
            except redis.ConnectionError:
                assert self.process.poll() is None, log.read_text()
                time.sleep(0.01)

    def client(self, **options: object) -> redis.Redis:
        return redis.Redis(unix_socket_path=str(self.socket), **options)  # type: ignore[arg-type]

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("server"))
    yield server
    server.stop()


@pytest.fixture
def server(running: Server) -> Server:
    running.client().flushall()
    return running


@pytest.fixture
def db(server: Server) -> redis.Redis:
    return server.client()


@pytest.fixture
def tool() -> Path:
    return Path(os.environ["SPLITBLOOM_TOOL"])
