"""Whatever a public call is given, it raises an ordinary exception or works: no panic, no crash."""

import array
import ctypes
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from splitbloom import CountingFilter, Filter, Follower, _native

HUGE = 10**5_000  # more digits than Python prints


class Odd:
    """An object whose every special method raises, or returns itself."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__arrow"):
            raise AttributeError(name)
        return self

    def __index__(self) -> int:
        raise LookupError("no index")

    def __str__(self) -> str:
        raise LookupError("no text")

    def __len__(self) -> int:
        return -1


class Endless:
    """Says that it is long, and is not."""

    def __len__(self) -> int:
        return 2**62

    def __iter__(self) -> Iterator[Any]:
        return iter(["a"])


def arrays() -> Iterator[Any]:
    """Arrays of all types, in all arrangements of memory."""
    codes = ["S0", "S1", "S5", "U0", "U1", ">U2", "V0", "V3", "O", "?", "f2", "f8", "c16"]
    codes += ["i1", "<i2", ">i4", "i8", ">u8", "M8[s]", "m8[ns]", "M8", [("a", "S0"), ("b", "i4")]]
    for code in codes:
        for shape in [(), (0,), (4,), (4, 3), (0, 3), (2, 0, 2)]:
            for order in "CF":
                kind = np.ndarray(shape, code, order=order)
                if not kind.dtype.hasobject:
                    kind.view()[...] = np.zeros((), code)
                yield kind
        line = np.zeros(12, code)
        yield from (line[::-1], line[::5], line[1:1], np.broadcast_to(line[:1], (70_000,)))
        yield np.lib.stride_tricks.as_strided(line, (5,), (0,))
        if line.dtype.itemsize:
            yield np.lib.stride_tricks.as_strided(line, (3,), (-line.itemsize,))[:0]
        yield line.reshape(3, 4).T[1]
        yield from (np.ma.masked_array(line, True), line.view(np.recarray))
    yield np.zeros(3, [("name", "S0"), ("n", "i4")])["name"]
    yield np.zeros(3, [("n", "i1"), ("m", "i8")])["m"]  # not aligned
    yield np.frombuffer(b"abcdef", "S2")
    yield np.array(["a"], dtype=np.dtypes.StringDType())
    yield np.array(["a", None, 7, object(), b"b", np.int64(7)], dtype=object)
    for scalar in (np.int64(7), np.str_("a"), np.bytes_(b"a"), np.void(3), np.float64(1)):
        yield scalar


def others() -> Iterator[Any]:
    """Everything else."""
    yield from (None, True, 0, -1, HUGE, -HUGE, 1.5, float("nan"), 2j, "", b"", "\ud800", ...)
    yield from (Odd(), Odd, Endless(), object(), type, len, NotImplemented, Filter(10), _native)
    view = memoryview(bytes(range(24)))
    yield from (view[::-1], view[::2], view[:0], view.cast("B", (2, 3, 4)), view.cast("d"))
    released = memoryview(b"a")
    released.release()
    yield from (released, memoryview(np.ndarray((), "i4")), memoryview(np.ndarray((4,), "S0")))
    yield from (array.array("i", [1]), array.array("d"), array.array("u", "a"))
    yield from (ctypes.c_int(7), (ctypes.c_char * 3)(), (ctypes.c_int * 0)(), ctypes.py_object(7))
    yield from (pa.array([]), pa.nulls(3), pa.scalar("a"), pa.array([[1]]), pa.array([{"a": 1}]))
    yield from (pa.array(["a"], pa.string_view()), pa.array([b"abc"], pa.binary(3)), pa.table({}))
    yield from (pa.array([1.5]), pa.chunked_array([], pa.int8()), pa.chunked_array([["a", None]]))
    yield from (pa.schema([]), pa.array([True]), pa.array(["a"]).dictionary_encode(), pa.int8())
    yield from (pd.Series([], dtype=object), pd.Series([1.5]), pd.Series(["a", None]), pd.NA)
    yield from (pd.DataFrame(), pd.Index(["a"]), pd.Series(["a"]).array, pd.Timestamp(0))


def ordinary(call: Callable[[Any], Any], odd: Any) -> bool:
    """Calls, and returns whether that raised nothing. No other exception gets through."""
    try:
        call(odd)
        return True
    except Exception:
        return False


def calls(filter: Any, path: Path) -> Iterator[Callable[[Any], Any]]:
    """Every public call that takes something."""
    kind = type(filter)
    yield from (filter.add, filter.update, filter.contains, filter.__contains__, filter.__eq__)
    yield lambda odd: filter.update([odd])
    yield lambda odd: filter.contains(["a", odd])
    yield lambda odd: filter.contains(iter([odd, odd]))
    yield from (kind, kind.loads, kind.open, filter.update_lines, filter.contains_lines)
    yield lambda odd: kind(10, odd)
    yield lambda odd: kind(10, seed=odd)
    yield lambda odd: kind(10, expansion=odd)
    yield lambda odd: filter.save(path, replace=odd)
    yield lambda odd: filter.push(odd, odd)
    yield lambda odd: kind.pull(odd, odd)
    yield from (filter._chunk, filter.__deepcopy__, _native.temporary_key)
    if isinstance(filter, Filter):
        yield from (filter.union, filter.__or__, filter.shrink)
    else:
        yield from (filter.add_if_absent, filter.remove, filter.count)


@pytest.mark.parametrize("kind", [Filter, CountingFilter])
@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_odd_arguments_raise_ordinary_exceptions_or_are_taken(kind: Any, tmp_path: Path) -> None:
    taken = refused = 0
    for odd in (*arrays(), *others()):
        filter = kind(1_000)
        for call in calls(filter, tmp_path / "file"):
            if ordinary(call, odd):
                taken += 1
            else:
                refused += 1
        filter.update(["still", "works"])
        assert "works" in filter
    assert taken > 500 and refused > 2_000, (taken, refused)


def test_a_follower_raises_ordinary_exceptions_for_odd_arguments() -> None:
    with Follower("redis://127.0.0.1:1", "key", default=False) as follower:
        for odd in (*arrays(), *others()):
            for call in (follower.contains, follower.__contains__, follower.contains_lines):
                ordinary(call, odd)
    for odd in others():
        ordinary(lambda odd: Follower(odd, "key").close(), odd)
        ordinary(lambda odd: Follower("redis://127.0.0.1:1", odd).close(), odd)
        ordinary(lambda odd: Follower("redis://127.0.0.1:1", "key", partitions=odd).close(), odd)
