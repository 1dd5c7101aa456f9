"""Filters in the process: parameters, results, copies, unions, threads."""

import copy
import pickle
import threading
from typing import Any

import pytest

import splitbloom
from splitbloom import CountingFilter, Filter, FormatError, FullError


def test_a_filter_finds_what_was_added_and_little_else() -> None:
    filter = Filter(10_000, 0.01)
    assert filter.update(range(10_000)) > 9_900
    assert all(filter.contains(range(10_000)))
    wrong = sum(filter.contains(range(10_000, 110_000)))
    assert wrong < 1_400  # 1000 expected at most; 12 standard deviations above


def test_a_filter_says_what_it_is_but_not_its_seed() -> None:
    filter = Filter(1000, 0.001, seed=2**64 - 1, expansion=4)
    filter.update(["a", "b"])
    said = (filter.capacity, filter.error_rate, filter.seed, filter.expansion, len(filter))
    assert said == (1000, 0.001, 2**64 - 1, 4, 2)
    assert repr(filter) == "<Filter of 2 items, capacity 1000, error rate 0.001>"
    assert Filter(10).expansion == 2 and CountingFilter(10).expansion == 1
    assert Filter(10).seed != Filter(10).seed
    assert splitbloom.__version__[0].isdigit()


def test_every_method_has_a_description() -> None:
    for name in [*dir(Filter), *dir(CountingFilter)]:
        if not name.startswith("_"):
            described = getattr(Filter, name, None) or getattr(CountingFilter, name)
            assert described.__doc__, name
    assert "BF.RESERVE" in (Filter.__doc__ or "") and "CF.RESERVE" in (CountingFilter.__doc__ or "")


@pytest.mark.parametrize("kind", [Filter, CountingFilter])
def test_parameters_out_of_range_are_refused(kind: Any) -> None:
    for capacity in (0, -1, 2**40 + 1, 2**80):
        with pytest.raises(ValueError, match="capacity must be from 1 to 1099511627776"):
            kind(capacity)
    for rate in (0.0, 1.0, -0.1, 2, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="error_rate must be above 0 and below 1"):
            kind(10, rate)
    for seed in (-1, 2**64):
        with pytest.raises(ValueError, match="seed must be from 0"):
            kind(10, seed=seed)
    with pytest.raises(ValueError, match="expansion must be from 0 to 32768"):
        kind(10, expansion=32_769)
    with pytest.raises(TypeError, match="capacity must be an int, not float"):
        kind(1e6)


def test_a_filter_that_does_not_grow_is_full_and_keeps_what_it_has() -> None:
    filter = Filter(100, 1e-9, expansion=0)
    with pytest.raises(FullError, match="does not grow"):
        filter.update(range(1000))
    assert len(filter) == 100 and all(filter.contains(range(100)))
    with pytest.raises(FullError):
        filter.add("one more")
    counting = CountingFilter(2, expansion=0)
    assert counting.update(["a", "a"]) == 2
    with pytest.raises(FullError):
        counting.add("a")
    assert counting.remove("a") and counting.add("b")


def test_a_filter_grows_beyond_its_capacity() -> None:
    filter = Filter(10, 0.01)
    before = filter.nbytes
    filter.update(range(100_000))
    assert len(filter) > 99_000 and all(filter.contains(range(100_000)))
    assert 100_000 < filter.nbytes < 300_000 and before < 1000


def test_a_counting_filter_counts_and_removes() -> None:
    filter = CountingFilter(1000, 0.0001)
    assert filter.add("a") and filter.add("a")
    assert not filter.add_if_absent("a") and filter.add_if_absent("b")
    assert [filter.count(item) for item in ("a", "b", "c")] == [2, 1, 0]
    assert len(filter) == 3 and "a" in filter
    assert filter.remove("a") and filter.remove("a") and not filter.remove("a")
    assert "a" not in filter and filter.contains(["a", "b"]) == [False, True]
    assert filter.update(["x"] * 5) == 5 and filter.count("x") == 5


@pytest.mark.parametrize("kind", [Filter, CountingFilter])
def test_a_copy_is_independent(kind: Any) -> None:
    filter = kind(1000, 1e-9)
    filter.update(range(1000))
    for other in (
        copy.copy(filter),
        copy.deepcopy(filter),
        pickle.loads(pickle.dumps(filter)),
        kind.loads(filter.dumps()),
    ):
        assert type(other) is kind and other.dumps() == filter.dumps()
        other.add("only there")
        assert "only there" in other and "only there" not in filter


@pytest.mark.parametrize("kind", [Filter, CountingFilter])
def test_filters_are_equal_if_their_files_are(kind: Any) -> None:
    one, other = (kind(1_000, seed=7) for _ in range(2))
    assert one == other and one == one and not one != other
    one.update(range(3_000))
    assert one != other
    other.update(range(3_000))
    assert one == other == copy.copy(one) == kind.loads(one.dumps())
    assert one != kind(1_000, seed=8) and one.__eq__(one.dumps()) is NotImplemented
    assert Filter(10, seed=1) != CountingFilter(10, seed=1) and one != None  # noqa: E711
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


@pytest.mark.parametrize("kind", [Filter, CountingFilter])
def test_a_cleared_filter_is_as_new(kind: Any) -> None:
    filter = kind(1_000, 0.001, seed=7, expansion=4)
    new = copy.copy(filter)
    filter.update(range(10_000))
    before = filter.nbytes
    filter.clear()
    assert filter == new and len(filter) == 0 and filter.nbytes < before
    filter.clear()
    assert filter == new and filter.add("a")


@pytest.mark.parametrize("kind", [Filter, CountingFilter])
def test_the_false_positive_rate_is_that_of_now(kind: Any) -> None:
    filter = kind(10_000, 0.01)
    assert filter.false_positive_rate == 0
    filter.update(range(5_000))
    half = filter.false_positive_rate
    filter.update(range(5_000, 10_000))
    wrong = sum(filter.contains(range(10_000, 210_000))) / 200_000
    assert half < filter.false_positive_rate <= 0.011
    assert abs(wrong - filter.false_positive_rate) < 0.003  # 12 standard deviations at 1 %


def test_a_filter_shrinks_to_what_was_reserved_for_its_items() -> None:
    filter = Filter(100_000, seed=7, expansion=0)
    filter.update(range(1_000))
    before = filter.nbytes
    with pytest.raises(ValueError, match="items, more than that capacity"):
        filter.shrink(len(filter) - 1)
    middle, eighth = copy.copy(filter), copy.copy(filter)
    assert 20_000 <= middle.shrink(20_000) == middle.capacity < 100_000
    assert eighth.shrink(12_000) == eighth.capacity == 12_544
    same = Filter(12_544, seed=7, expansion=0)
    same.update(range(1_000))
    assert eighth == same  # its size divides that of the filter
    assert 1_000 <= filter.shrink() == filter.capacity < 10_000
    assert filter.nbytes < before / 10 and all(filter.contains(range(1_000)))
    assert filter.shrink() == filter.capacity
    with pytest.raises(ValueError, match="capacity must be from 1"):
        filter.shrink(0)


def test_a_pickle_of_a_sparse_filter_is_small() -> None:
    filter = Filter(10**12)
    filter.update(range(1000))
    data = pickle.dumps(filter)
    assert len(data) < 84 * 1000 + 4000
    assert pickle.loads(data).contains(range(1000)) == [True] * 1000


def test_a_union_finds_what_either_does() -> None:
    one, other = (Filter(5000, 0.001, seed=7) for _ in range(2))
    one.update(range(500))
    other.update(range(500, 3000))
    both = one | other
    assert all(both.contains(range(3000))) and len(one) <= 500
    assert one.union(other).dumps() == both.dumps()
    same = one
    one |= other
    assert same is one and one.dumps() == both.dumps()
    one |= one
    assert one.dumps() == both.dumps()


def test_a_union_of_different_filters_is_refused() -> None:
    filter = Filter(1000, seed=7)
    for other, difference in [
        (Filter(1000, 0.02, seed=7), "error rates"),
        (Filter(1100, seed=7), "capacities"),  # small ones are not folded
        (Filter(1000, seed=7, expansion=0), "expansions"),
        (Filter(1000, seed=8), "seeds"),
    ]:
        with pytest.raises(ValueError, match=f"the {difference} of the two filters differ") as raised:
            filter |= other
        assert ("only those above some 6 000 items" in str(raised.value)) == (
            difference == "capacities"
        )
    with pytest.raises(TypeError):
        filter | CountingFilter(1000)  # type: ignore[operator]


def test_a_union_above_the_error_rate_is_refused_unless_it_is_forced() -> None:
    one, other = (Filter(1000, seed=7, expansion=0) for _ in range(2))
    one.update(range(900))
    other.update(range(900, 1800))
    before = one.dumps()
    with pytest.raises(ValueError, match="above 0.01"):
        one | other
    with pytest.raises(ValueError, match="above 0.01"):
        one |= other
    assert one.dumps() == before
    assert all(one.union(other, force=True).contains(range(1800)))


def test_bytes_of_the_other_kind_are_refused() -> None:
    with pytest.raises(FormatError, match="CountingFilter"):
        Filter.loads(CountingFilter(10).dumps())
    with pytest.raises(FormatError, match="take Filter"):
        CountingFilter.loads(Filter(10).dumps())


def test_damaged_bytes_are_refused_wherever_the_damage_is() -> None:
    filter = Filter(1000)
    filter.update(range(1000))
    data = filter.dumps()
    for at in range(0, len(data), 97):
        damaged = bytearray(data)
        damaged[at] ^= 1
        with pytest.raises(FormatError):
            Filter.loads(bytes(damaged))
        with pytest.raises(FormatError):
            Filter.loads(data[:at])
    with pytest.raises(FormatError, match="it goes on after its end"):
        Filter.loads(data + b"\n")


def test_threads_add_and_look_up_at_a_time() -> None:
    filter = Filter(100_000, 0.001)
    done = threading.Event()
    failures: list[BaseException] = []

    def guarded(work: Any) -> Any:
        def run() -> None:
            try:
                work()
            except BaseException as failure:
                failures.append(failure)

        return threading.Thread(target=run)

    def look() -> None:
        while not done.is_set():
            before = len(filter)
            found = filter.contains(range(100_000))
            assert before <= sum(found)  # what was new then is there
            filter.dumps()

    def adder(start: int) -> Any:
        def add() -> None:
            for first in range(start, 100_000, 4_000):
                filter.update(range(first, first + 1_000))
                filter.add(first)

        return add

    def unite() -> None:
        other = Filter(100_000, 0.001, seed=filter.seed)
        for _ in range(20):
            before = len(filter)
            union = filter | other
            assert sum(union.contains(range(100_000))) >= before
            other |= filter

    readers = [guarded(look) for _ in range(3)] + [guarded(unite)]
    writers = [guarded(adder(start)) for start in (0, 1_000, 2_000, 3_000)]
    for thread in readers + writers:
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    for thread in readers:
        thread.join()
    assert not failures, failures
    assert all(filter.contains(range(100_000)))


def test_two_filters_may_be_united_with_each_other_at_a_time() -> None:
    one, other = (Filter(10_000, seed=1) for _ in range(2))
    one.update(range(5_000))
    other.update(range(5_000, 10_000))

    def unite(to: Filter, what: Filter) -> None:
        for _ in range(200):
            to |= what

    threads = [threading.Thread(target=unite, args=pair) for pair in ((one, other), (other, one))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(one.contains(range(10_000))) and all(other.contains(range(10_000)))


def test_nothing_is_leaked_by_calls_that_succeed_or_fail() -> None:
    """The reference counts of items, and the memory of the process."""
    import sys

    filter = Filter(1000)
    items: list[Any] = ["".join(["un", "ique", str(n)]) for n in range(100)]
    before = [sys.getrefcount(item) for item in items]
    for _ in range(100):
        filter.update(items)
        filter.contains(items)
        with pytest.raises(TypeError):
            filter.update([*items, None])
        assert [filter.add(item) for item in items] == [False] * 100
        assert [item in filter for item in items] == [True] * 100
    assert [sys.getrefcount(item) for item in items] == before
