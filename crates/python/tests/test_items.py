"""What is an item, and that a server sees the same."""

import enum
from typing import Any

import pytest
import redis

from splitbloom import CountingFilter, Filter

ITEMS: list[Any] = [
    "",
    "alice",
    "Grüße, 世界 🎈",
    b"",
    b"\x00\xff\n",
    b"ends with NUL\x00",
    0,
    -7,
    2**70,
    memoryview(b"view"),
]


class Name(str):
    pass


class Number(enum.IntEnum):
    ONE = 1


def test_an_item_of_any_type_is_the_same_on_a_server(db: redis.Redis) -> None:
    db.execute_command("BF.RESERVE", "there", "0.000001", "1000")
    here = Filter(1000, 1e-6)
    db.bf().madd("there", *ITEMS)
    assert here.update(ITEMS) == len(ITEMS) - 1  # "" and b"" are one
    pulled = Filter.pull(db, "there")
    assert pulled.contains(ITEMS) == [True] * len(ITEMS)
    here.push(db, "here")
    assert db.bf().mexists("here", *ITEMS) == [1] * len(ITEMS)
    for item in ITEMS:
        assert item in here and item in pulled
        assert db.bf().exists("here", item)


def test_text_is_its_utf_8_and_a_number_its_digits() -> None:
    filter = Filter(1000, 1e-9)
    for item, same in [("Grüße", "Grüße".encode()), (42, "42"), (-1, b"-1"), (Name("x"), "x")]:
        assert filter.add(item)
        assert not filter.add(same)
    assert memoryview(b"4x2x")[::2] in filter
    assert bytearray(b"42") in filter and memoryview(b"42") in filter


@pytest.mark.parametrize("item", [None, True, 1.5, Number.ONE, ("a",), object(), ["a"]])
@pytest.mark.parametrize("filter", [Filter(10, seed=1), CountingFilter(10, seed=1)])
def test_another_type_is_refused_by_name(filter: Any, item: Any) -> None:
    for call in (filter.add, filter.__contains__):
        with pytest.raises(TypeError, match="str, bytes, bytearray, memoryview or int, not "):
            call(item)
    with pytest.raises(TypeError, match=type(item).__name__):
        filter.update(["before", item, "after"])
    assert filter.contains(["before", "after"]) == [True, False]


def test_half_a_surrogate_pair_is_no_text() -> None:
    with pytest.raises(UnicodeEncodeError):
        Filter(10).add("\ud800")


def test_the_refusal_of_an_item_of_many_says_which_it_is() -> None:
    filter = Filter(20_000)
    for number, bad in [(0, None), (2, ()), (4_096, True), (9_000, 1.5)]:
        items = [*range(number), bad, None]
        for call in (filter.update, filter.contains):
            for many in (items, iter(items), dict.fromkeys(items)):
                with pytest.raises(TypeError, match=f"^item {number}: an item is a str, .* not "):
                    call(many)

    def failing() -> Any:
        yield "a"
        raise TypeError("from the iterator")

    with pytest.raises(TypeError, match="^from the iterator$"):
        filter.update(failing())


@pytest.mark.parametrize("one", ["abc", b"abc", bytearray(b"abc"), memoryview(b"abc")])
def test_a_single_item_is_not_taken_for_many(one: Any) -> None:
    filter = Filter(10)
    for call in (filter.update, filter.contains):
        with pytest.raises(TypeError, match="put it into a list"):
            call(one)
    assert len(filter) == 0


@pytest.mark.parametrize("number", [0, 1, 4095, 4096, 4097, 10_000])
def test_any_iterable_is_a_batch(number: int) -> None:
    filter = Filter(20_000, 1e-6, seed=1)
    items = [str(n) for n in range(number)]
    assert filter.update(items) == number
    assert filter.update(iter(items)) == 0
    assert filter.update({item: 0 for item in items}) == 0
    assert filter.contains(tuple(items)) == [True] * number
    assert filter.contains(item for item in items) == [True] * number
    assert filter.contains(range(number)) == [True] * number


def test_an_iterator_that_raises_or_uses_the_filter_is_no_trouble() -> None:
    filter = Filter(100, seed=1)

    def items() -> Any:
        yield "a"
        filter.add("b")
        filter.update(["c"])
        assert filter.contains(["b", "c"]) == [True, True]
        yield "d"
        raise LookupError("from the iterator")

    with pytest.raises(LookupError, match="from the iterator"):
        filter.update(items())
    assert filter.contains(["a", "b", "c", "d"]) == [True] * 4


def test_what_cannot_be_iterated_is_refused() -> None:
    with pytest.raises(TypeError, match="iterable"):
        Filter(10).update(7)  # type: ignore[call-overload, arg-type, unused-ignore]
