"""Arrays of NumPy and Arrow, sound and hostile."""

import ctypes
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from splitbloom import CountingFilter, Filter

WORDS = ["", "a", "alice", "Grüße", "世界", "x" * 300] + [str(n) for n in range(70_000)]


@pytest.fixture
def filter() -> Filter:
    return Filter(100_000, 1e-6, seed=1)


@pytest.fixture
def expected() -> bytes:
    same = Filter(100_000, 1e-6, seed=1)
    same.update(WORDS)
    return same.dumps()


def test_an_array_of_bytes_is_its_items(filter: Filter, expected: bytes) -> None:
    array = np.array([word.encode() for word in WORDS])
    assert filter.update(array) == len(WORDS)
    assert filter.dumps() == expected
    found = filter.contains(array)
    assert isinstance(found, np.ndarray) and found.dtype == np.bool_ and found.all()
    found[0] = False  # it is the caller's
    mixed = np.array([b"1", b"no such word"] * 50_000)
    assert (filter.contains(mixed) == [True, False] * 50_000).all()


@pytest.mark.parametrize(
    "array",
    [
        np.array([b"b", b"", b"a\x00b", b"c\x00\x00"]),
        np.array([b"a", b"bcd", b"ef", b"g"])[::2],
        np.array([b"a", b"bcd"])[::-1],
        np.array([], dtype="S5"),
        np.array([b"", b""], dtype="S1"),
        np.zeros(3, dtype="S0"),
        np.array(["a", "Grüße"]),
        np.array(["a", b"b", 7], dtype=object),
        np.array([[b"a", b"b"], [b"c", b"d"]])[:, 1],
        np.array(["one", "three"], dtype=np.dtypes.StringDType()),
    ],
)
def test_any_array_has_the_items_that_iterating_it_has(filter: Filter, array: Any) -> None:
    filter.update(array)
    assert all(item in filter for item in array)
    found = filter.contains(array)
    assert isinstance(found, np.ndarray) and found.shape == (len(array),) and found.all()
    assert len(filter) == len(set(array.tolist()))


def test_an_array_that_is_no_column_of_items_is_refused(filter: Filter) -> None:
    for array in (
        np.array([[b"a"], [b"b"]]),
        np.array([[1, 2], [3, 4]]),
        np.array(b"a"),
        np.array(7),
        np.array([1.5]),
        np.array([True]),
        np.array([1], dtype="m8[s]"),
        np.ma.masked_array(np.array([b"a", b"b"]), [False, True]),
    ):
        with pytest.raises(TypeError):
            filter.update(array)
    assert len(filter) <= 1


INTEGERS = [np.dtype(code) for code in "bhilqBHILQ"]


@pytest.mark.parametrize("kind", [*INTEGERS, *[dtype.newbyteorder() for dtype in INTEGERS]])
def test_an_array_of_integers_has_the_items_that_a_list_of_them_has(kind: Any) -> None:
    limits = np.iinfo(kind)
    numbers = [limits.min, limits.max, 0, 1, 9, 10, 99, 100, *range(100)] * 100
    by_array, by_list = (Filter(10_000, 1e-6, seed=1) for _ in range(2))
    assert by_array.update(np.array(numbers, kind)) == by_list.update(numbers)
    assert by_array == by_list
    found = by_list.contains(np.array(numbers + [101], kind)[::-1])
    assert isinstance(found, np.ndarray) and found.tolist() == [False] + [True] * len(numbers)
    if kind.isnative:
        arrow = pa.array(np.array(numbers, kind))
        assert by_list.contains(arrow[1:]) == [True] * (len(numbers) - 1)
        assert by_array.update(arrow) == 0


def test_a_file_in_memory_is_an_array(filter: Filter, tmp_path: Any) -> None:
    array = np.memmap(tmp_path / "file", dtype="S4", mode="w+", shape=(3,))
    array[:] = [b"a", b"bc", b"defg"]
    assert filter.update(array) == 3 and "defg" in filter


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()])
def test_an_arrow_array_is_its_items(filter: Filter, expected: bytes, kind: Any) -> None:
    array = pa.array(WORDS).cast(kind)
    assert filter.update(array) == len(WORDS)
    assert filter.dumps() == expected
    assert filter.contains(array) == [True] * len(WORDS)
    counting = CountingFilter(100, seed=1)
    assert counting.update(array[:3]) == 3 and counting.count("alice") == 1


@pytest.mark.parametrize("kind", [pa.string(), pa.large_binary()])
def test_a_slice_of_an_arrow_array_is_its_items(kind: Any) -> None:
    array = pa.array([str(n) for n in range(100)]).cast(kind)
    for start, length in [(0, 0), (0, 1), (7, 20), (99, 1), (100, 0), (8, 92)]:
        filter = Filter(1000, 1e-9)
        assert filter.update(array[start : start + length]) == length
        assert filter.contains(array) == [start <= n < start + length for n in range(100)]


def test_nulls_are_refused_unless_they_are_elsewhere(filter: Filter) -> None:
    array = pa.array(["a", None, "b", "c", "d", "e", "f", "g", "h", "i"])
    for part, row in [(array, 1), (array[1:], 0)]:
        with pytest.raises(ValueError, match=f"item {row} of the Arrow array is null"):
            filter.update(part)
    assert len(filter) == 0
    assert filter.update(array[2:]) == 8 and filter.update(array.drop_null()) == 1


def test_an_arrow_array_of_another_type_is_refused_by_its_format(filter: Filter) -> None:
    for array, format in [
        (pa.array([1.5]), "g"),
        (pa.array([True]), "b"),
        (pa.array(["a"]).dictionary_encode(), "i"),
        (pa.array([["a"]]), r"\+l"),
        (pa.array(["a"], pa.string_view()), "vu"),
    ]:
        with pytest.raises(TypeError, match=f"the format {format}: cast it"):
            filter.update(array)


class Schema(ctypes.Structure):
    _fields_ = [
        ("format", ctypes.c_char_p),
        ("name", ctypes.c_char_p),
        ("metadata", ctypes.c_char_p),
        ("flags", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("children", ctypes.c_void_p),
        ("dictionary", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    ]


class Array(ctypes.Structure):
    _fields_ = [
        ("length", ctypes.c_int64),
        ("null_count", ctypes.c_int64),
        ("offset", ctypes.c_int64),
        ("n_buffers", ctypes.c_int64),
        ("n_children", ctypes.c_int64),
        ("buffers", ctypes.c_void_p),
        ("children", ctypes.c_void_p),
        ("dictionary", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    ]


RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def capsule(address: int, name: bytes) -> Any:
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(address, name, None)


class Forged:
    """An array of the items "ab", "" and "cde", with fields set to anything."""

    def __init__(self, **fields: Any) -> None:
        self.validity = ctypes.create_string_buffer(b"\xff")
        width = ctypes.c_int64 if fields.get("format") in (b"U", b"Z") else ctypes.c_int32
        self.offsets = (width * 4)(*fields.pop("offsets", (0, 2, 2, 5)))
        self.data = ctypes.create_string_buffer(b"abcde")
        pointers = [ctypes.addressof(it) for it in (self.validity, self.offsets, self.data)]
        for missing in fields.pop("missing", ()):
            pointers[missing] = 0
        self.buffers = (ctypes.c_void_p * 3)(*pointers)
        self.names = fields.pop("names", (b"arrow_schema", b"arrow_array"))
        self.released: list[str] = []
        self.releases = [
            RELEASE(lambda _: self.released.append("schema")),
            RELEASE(lambda _: self.released.append("array")),
        ]
        schema, array = (ctypes.cast(it, ctypes.c_void_p).value for it in self.releases)
        self.schema = Schema(format=b"u", release=schema)
        buffers = ctypes.addressof(self.buffers)
        self.array = Array(length=3, n_buffers=3, buffers=buffers, release=array)
        for name, value in fields.items():
            where, _, field = name.rpartition("__")
            setattr(self.schema if where == "schema" or name == "format" else self.array, field, value)

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return (
            capsule(ctypes.addressof(self.schema), self.names[0]),
            capsule(ctypes.addressof(self.array), self.names[1]),
        )


def test_a_forged_array_that_is_sound_is_read(filter: Filter) -> None:
    for format in (b"u", b"z", b"U", b"Z"):
        assert filter.contains(Forged(format=format)) == [format != b"u"] * 3
        filter.update(Forged(format=format))
    assert all(item in filter for item in ("ab", "", "cde")) and len(filter) == 3
    assert filter.contains(Forged(length=1, offset=2)) == [True]
    assert filter.contains(Forged(length=0, missing=[0, 1, 2])) == []
    assert filter.contains(Forged(null_count=-1, missing=[0])) == [True] * 3
    assert filter.contains(Forged(null_count=-1)) == [True] * 3
    assert filter.contains(Forged(offsets=(0, 0, 0, 0), missing=[2])) == [True] * 3


@pytest.mark.parametrize(
    "fields",
    [
        {"length": -1},
        {"length": 2**63 - 1},
        {"length": 2**60},
        {"offset": -1},
        {"offset": 2**63 - 1},
        {"n_buffers": 2},
        {"n_buffers": 4},
        {"n_buffers": -1},
        {"n_children": 1},
        {"buffers": None},
        {"buffers": 12345},
        {"release": None},
        {"schema__release": None},
        {"schema__format": None},
        {"null_count": 3, "missing": [0]},
        {"null_count": -2, "missing": [0]},
        {"missing": [1]},
        {"missing": [2]},
        {"offsets": (-1, 2, 2, 5)},
        {"offsets": (0, 3, 2, 5)},
        {"offsets": (0, 2, 2, 1)},
        {"offsets": (0, 2, 2, -5)},
        {"offsets": (0, 2**31 - 1, 2, 5)},
        {"offsets": (0, 2**62, 2, 5), "format": b"U"},
        {"offsets": (0, -(2**63), 2, 5), "format": b"Z"},
        {"names": (b"arrow_array", b"arrow_array")},
        {"names": (b"arrow_schema", b"arrow_schema")},
        {"names": (b"other", b"arrow_array")},
    ],
)
def test_a_forged_array_that_is_not_sound_is_refused(
    filter: Filter, fields: dict[str, Any]
) -> None:
    for call in (filter.update, filter.contains):
        forged = Forged(**fields)
        with pytest.raises(ValueError):
            call(forged)
        assert forged.released == [], "what the capsule has is its own"
    assert len(filter) == 0


def test_whoever_takes_an_array_as_well_frees_nothing_that_is_read(filter: Filter) -> None:
    forged = Forged(format=b"z")
    theirs = forged.array.release
    for _ in range(2):
        filter.update(forged)
        # What is left in the capsule shares the array, which only its last user releases.
        assert forged.array.release not in (None, theirs) and forged.released == []
    assert len(filter) == 3 and filter.contains(forged) == [True] * 3
    release(forged.array)
    assert forged.released == ["array"] and forged.array.release is None
    with pytest.raises(ValueError, match="released"):
        filter.contains(forged)
    unsound = Forged(format=b"z", n_buffers=1)
    with pytest.raises(ValueError, match="number of its buffers"):
        filter.update(unsound)
    release(unsound.array)
    assert unsound.released == ["array"]


def release(array: Array) -> None:
    """What any consumer of the array does."""
    RELEASE(array.release)(ctypes.addressof(array))


@pytest.mark.parametrize("result", [None, (), (1, 2), ("a", "b", "c"), [1]])
def test_an_export_that_returns_no_capsules_is_refused(filter: Filter, result: Any) -> None:
    class Other:
        def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
            return result

    with pytest.raises((TypeError, ValueError)):
        filter.update(Other())


def test_an_export_that_raises_says_why(filter: Filter) -> None:
    class Other:
        def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
            raise LookupError("from the export")

    with pytest.raises(LookupError, match="from the export"):
        filter.update(Other())


def test_arrays_are_released() -> None:
    """Both libraries count who has their memory."""
    filter = Filter(100_000)
    array, before = pa.array(WORDS), pa.total_allocated_bytes()
    for _ in range(20):
        filter.update(array)
        filter.contains(pa.array(WORDS))
    assert pa.total_allocated_bytes() == before
    numbers = np.array([b"a", b"b"])
    filter.update(numbers)
    numbers.resize(4)  # refused while somebody has its buffer


CHUNKS = [WORDS[:3], [], WORDS[3:40_000], WORDS[40_000:]]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_binary()])
def test_a_chunked_array_is_its_items(filter: Filter, expected: bytes, kind: Any) -> None:
    chunked = pa.chunked_array([pa.array(chunk).cast(kind) for chunk in CHUNKS])
    before = pa.total_allocated_bytes()
    assert filter.update(chunked) == len(WORDS)
    assert filter.dumps() == expected
    assert filter.contains(chunked) == [True] * len(WORDS)
    assert filter.contains(chunked.slice(5, 7)) == [True] * 7
    assert filter.contains(pa.chunked_array([], kind)) == []
    assert pa.total_allocated_bytes() == before


def test_a_series_is_its_items_whatever_they_are_in(filter: Filter, expected: bytes) -> None:
    for kind in ("str", "string[pyarrow]", "category", object, pd.ArrowDtype(pa.string())):
        series = pd.Series(WORDS, dtype=kind)
        filter.update(series)
        assert filter.dumps() == expected
        assert filter.contains(series[::-1]) == [True] * len(WORDS)
    numbers = [1, 0, -7, 2**40]
    for kind in ("int64", "Int64", object):
        filter.update(pd.Series(numbers, dtype=kind))
    assert filter.contains(numbers) == [True] * 4
    mixed = pd.Series(["mixed", b"and", 77], dtype=object)
    assert filter.update(mixed) == 2 and filter.contains(["mixed", "and", "77"]) == [True] * 3
    for other in (pd.Series([1.5]), pd.Series(["a", None], dtype=object), pd.Series([True])):
        with pytest.raises(TypeError, match="item [01]: an item is a str"):
            filter.update(other)
    with pytest.raises(ValueError, match="item 3 of the Arrow array is null"):
        filter.update(pa.chunked_array([["a", "b"], ["c", None]]))


def test_a_column_without_pyarrow_is_iterated(filter: Filter) -> None:
    class Column:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            raise ImportError("pyarrow is needed")

        def __iter__(self) -> Any:
            return iter(["a", "b"])

    assert filter.update(Column()) == 2


def test_a_table_is_refused_rather_than_its_names_added(filter: Filter) -> None:
    frame = pd.DataFrame({"name": ["a", "b"], "more": [1, 2]})
    table = pa.table({"name": ["a", "b"]})
    for whole in (frame, table, table.to_batches()[0]):
        for call in (filter.update, filter.contains):
            with pytest.raises(TypeError, match=f"not a {type(whole).__name__} of"):
                call(whole)
    assert len(filter) == 0
    assert filter.update(frame["name"]) == 2 and filter.update(table["name"]) == 0


class ForgedStream:
    """A stream of the array "ab", "" and "cde", some times."""

    def __init__(self, times: int = 1, code: int = 0, **fields: Any) -> None:
        self.arrays = [Forged(format=b"z", **fields) for _ in range(times)]
        self.kept, self.code, self.released = list(self.arrays), code, 0
        self.text = ctypes.create_string_buffer(b"the disk is on fire")
        fill = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        text = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
        self.functions = (
            fill(self.get_schema),
            fill(self.get_next),
            text(lambda _: ctypes.addressof(self.text)),
            RELEASE(self.release),
        )
        pointers = [ctypes.cast(it, ctypes.c_void_p).value for it in self.functions]
        self.stream = (ctypes.c_void_p * 5)(*pointers, None)

    def release(self, _: Any) -> None:
        self.released += 1

    def get_schema(self, _: Any, to: int) -> int:
        self.schema = Forged(format=b"z")
        ctypes.memmove(to, ctypes.byref(self.schema.schema), ctypes.sizeof(Schema))
        return 0

    def get_next(self, _: Any, to: int) -> int:
        if self.arrays:
            ctypes.memmove(to, ctypes.byref(self.arrays.pop().array), ctypes.sizeof(Array))
            return 0
        return self.code

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return capsule(ctypes.addressof(self.stream), b"arrow_array_stream")


def test_a_stream_and_all_it_gives_are_released_once(filter: Filter) -> None:
    sound = ForgedStream(3)
    assert filter.contains(sound) == [False] * 9
    unsound = ForgedStream(3, n_buffers=1)
    with pytest.raises(ValueError, match="number of its buffers"):
        filter.update(unsound)
    failing = ForgedStream(1, code=5)
    with pytest.raises(OSError, match="the disk is on fire") as raised:
        filter.update(failing)
    assert raised.value.errno == 5 and len(filter) == 3
    for stream, number in [(sound, 3), (unsound, 1), (failing, 1)]:
        assert stream.released == 1 and stream.schema.released == ["schema"]
        assert [it.released for it in stream.kept[-number:]] == [["array"]] * number
        with pytest.raises(ValueError, match="released"):
            filter.update(stream)  # a stream can be read once
