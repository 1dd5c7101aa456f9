"""A copy that follows a server's filter."""

import asyncio
import re
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import redis
from conftest import Server

from splitbloom import Filter, Follower, NotReadyError


def eventually(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.005)


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


def test_a_follower_has_what_the_server_has_and_gets_what_is_new(
    db: redis.Redis, seen: Follower
) -> None:
    assert all(seen.contains(range(1_000)))
    assert sum(seen.contains(range(1_000, 11_000))) < 100
    assert "7" in seen and b"7" in seen and 7 in seen and "seven" not in seen
    db.bf().madd("seen", *range(1_000, 2_000))
    eventually(lambda: 1_999 in seen)
    assert all(seen.contains(range(2_000)))
    assert (seen.fetches, seen.error) == (1, None)
    assert 990 <= seen.changes <= 1_000 and seen.nbytes > 100_000
    assert seen.is_ready and seen.staleness is not None and seen.staleness < 60


def test_arrays_and_lines_are_looked_up_as_in_a_filter(seen: Follower, tmp_path: object) -> None:
    found = seen.contains(np.array([b"1", b"one"]))
    assert isinstance(found, np.ndarray) and found.tolist() == [True, False]
    lines = f"{tmp_path}/lines"
    with open(lines, "w") as file:
        file.write("1\none\n999\n")
    assert seen.contains_lines(lines) == [True, False, True]


def test_without_a_copy_the_caller_says_what_a_lookup_answers(db: redis.Redis, url: str) -> None:
    with Follower(url, "none") as strict, Follower(url, "none", default=True) as lenient:
        eventually(lambda: strict.error is not None and "does not exist" in strict.error)
        assert not strict.wait_until_ready(0.01) and not strict.is_ready
        assert strict.staleness is None
        with pytest.raises(NotReadyError, match="no copy"):
            "a" in strict
        with pytest.raises(NotReadyError):
            strict.contains(["a"])
        assert "a" in lenient and lenient.contains(["a", "b"]) == [True, True]
        db.bf().insert("none", ["a"], error=1e-6)
        eventually(lambda: strict.is_ready and lenient.is_ready)
        assert "a" in strict and lenient.contains(["a", "b"]) == [True, False]
        db.delete("none")
        eventually(lambda: not strict.is_ready)


def test_a_filter_that_is_built_here_and_pushed_over_another_is_followed(
    db: redis.Redis, seen: Follower
) -> None:
    done = threading.Event()
    missed: list[int] = []

    def read() -> None:
        while not done.is_set():
            missed.extend([] if 7 in seen else [7])

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for first in range(10_000, 100_000, 10_000):
        other = Filter(100_000, 0.001)
        other.update([7, *range(first, first + 1_000)])
        other.push(db, "seen", replace=True)
        eventually(lambda: all(seen.contains(range(first, first + 1_000))))
    done.set()
    for reader in readers:
        reader.join()
    assert not missed
    assert sum(seen.contains(range(8, 1_000))) < 50, "the first filter is gone"


def test_an_address_that_leads_nowhere_is_an_error_that_is_told_later(url: str) -> None:
    with Follower("redis://127.0.0.1:1", "seen") as follower:
        eventually(lambda: follower.error is not None)
        assert not follower.is_ready
        assert follower.error is not None and follower.error.startswith("Connection refused")
    for bad in ["seen", "localhost:6379", ""]:
        with pytest.raises(ValueError, match="it begins with redis://, rediss:// or unix://"):
            Follower(bad, "seen")
    for bad in ["http://localhost", "redis://"]:
        with pytest.raises(ValueError, match="not the URL of a server"):
            Follower(bad, "seen")
    for partitions in [0, 3, 32_768]:
        with pytest.raises(ValueError, match="power of two"):
            Follower(url, "seen", partitions=partitions)
    with pytest.raises(TypeError):
        Follower(url, 1.5)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        Follower("rediss://localhost", "seen", ca_cert="/nowhere")


def test_a_follower_prints_its_key_and_its_state(
    db: redis.Redis, url: str, seen: Follower
) -> None:
    eventually(lambda: seen.error is None)
    assert re.fullmatch(r"<Follower of 'seen': \d+\.\d{3} s behind>", repr(seen))
    with Follower(url, b"none") as none:
        eventually(lambda: none.error is not None)
        assert repr(none) == "<Follower of b'none': no copy, none does not exist>"
    seen.close()
    assert repr(seen) == "<Follower of 'seen': closed>"


def test_a_program_of_asyncio_waits_for_a_copy_while_it_does_other_things(
    db: redis.Redis, url: str
) -> None:
    async def wait() -> None:
        with Follower(url, "late") as late:
            assert not await late.ready(0)
            ready = asyncio.create_task(late.ready())
            await asyncio.sleep(0)
            assert not ready.done()
            db.bf().add("late", "a")
            assert await ready and "a" in late
        with pytest.raises(NotReadyError, match="closed"):
            await late.ready()

    asyncio.run(wait())


def test_a_closed_follower_says_so(seen: Follower) -> None:
    seen.close()
    seen.close()
    with pytest.raises(NotReadyError, match="closed"):
        "a" in seen
    with pytest.raises(NotReadyError, match="closed"):
        seen.is_ready
