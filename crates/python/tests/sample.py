"""How programs use the package, and misuse it: mypy --strict agrees with each comment."""

from collections.abc import Iterator
from pathlib import Path
from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import splitbloom
from splitbloom import CountingFilter, Filter, Follower


def uses(path: Path, words: list[str], array: NDArray[np.bytes_], connection: object) -> None:
    filter = Filter(1_000_000, 0.001, seed=7, expansion=0)
    new: bool = filter.add("alice")
    number: int = filter.update(words) + filter.update_lines(path) + filter.update(array)
    found: list[bool] = filter.contains(words) + filter.contains_lines("lines")
    mask: NDArray[np.bool_] = filter.contains(array)
    filter.save(path, replace=new)
    rate: float = filter.false_positive_rate
    smaller: int = filter.shrink() + filter.shrink(7) + filter.update_lines(path, text=True)
    filter.clear()
    same: bool = filter == filter
    filter |= Filter.open(path) | Filter.loads(filter.dumps())
    filter.push(connection, b"key", replace=True)
    counting: CountingFilter = CountingFilter.pull(connection, "key")
    counts: int = counting.count("a") + len(counting) + counting.nbytes
    print(b"a" in filter, number, found, mask, counts, rate, smaller, same)
    print(splitbloom.__version__)


def contains(filter: Filter, words: Iterator[str], numbers: NDArray[np.int64]) -> None:
    """The type of the result follows that of the items."""
    assert_type(filter.contains(np.array([b"a"])), NDArray[np.bool_])
    assert_type(filter.contains(numbers), NDArray[np.bool_])
    assert_type(filter.contains(words), list[bool])
    assert_type(filter.contains(word.encode() for word in words), list[bool])
    assert_type(filter.contains({"a": 0}), list[bool])
    assert_type(filter.contains({"a", "b"}), list[bool])
    assert_type(filter.contains({0: "a"}.values()), list[bool])
    assert_type(filter.contains(["a", 7]), list[bool])
    assert_type(filter.contains(range(7)), list[bool])
    filter.update(numbers)


def follows(words: list[str], array: NDArray[np.bytes_]) -> None:
    with Follower("redis://localhost", "seen", default=True, partitions=64) as follower:
        is_ready: bool = follower.wait_until_ready(1) and follower.is_ready
        staleness: float | None = follower.staleness
        found: list[bool] = follower.contains(words)
        mask: NDArray[np.bool_] = follower.contains(array)
        print("a" in follower, is_ready, staleness, found, mask, follower.error)


async def awaits(follower: Follower) -> None:
    is_ready: bool = await follower.ready(1) and await follower.ready()
    print(is_ready, follower)


def misuses(filter: Filter, counting: CountingFilter) -> None:
    filter.add(1.5)  # type: ignore[arg-type]
    filter.update([None])  # type: ignore[list-item]
    filter.contains([None])  # type: ignore[list-item]
    filter.remove("a")  # type: ignore[attr-defined]
    filter.capacity = 1  # type: ignore[misc]
    filter |= counting  # type: ignore[arg-type]
    Filter(10, 0.01, 7)  # type: ignore[call-arg]
    Follower("redis://localhost", "seen", default="yes")  # type: ignore[arg-type]


class Own(Filter):  # type: ignore[misc]
    pass
