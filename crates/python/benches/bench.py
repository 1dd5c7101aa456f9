"""The package next to others, and to a filter on a server: time per item, from Python.

Argument: ITEMS, the capacity of all filters, at 1 %. They hold nine tenths of it, and take the rest
during the rounds. In each round every contender does every task on the same items, in turn; the
table has medians over the rounds. Items are strings of 13 characters that no earlier round has
used, so that Python's cached hash of a string helps nobody; half of those looked up are present.
"""

import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import fastbloom_rs
import numpy as np
import pyarrow as pa
import pybloom_live
import rbloom
import redis

import splitbloom

ERROR_RATE = 0.01
ROUNDS = 9
# Items of a task in a round: below a second for the slowest, and more than a cache holds.
PER_ROUND = 20_000

Task = Callable[[Any, list[str]], Any]


def name(number: int) -> str:
    """The item of this number. Neighbours are not alike; one in a million has a twin."""
    return f"{number * 0x9E3779B97F4A7C15 % 2**64 % 10**13:013}"


def each_in(filter: Any, items: list[str]) -> list[bool]:
    return [item in filter for item in items]


def each_add(filter: Any, items: list[str]) -> None:
    add = filter.add
    for item in items:
        add(item)


def batches(command: str, size: int) -> Task:
    def run(db: redis.Redis, items: list[str]) -> None:
        for start in range(0, len(items), size):
            db.execute_command(command, "bench", *items[start : start + size])

    return run


# What each contender does for: `in`, a batch of lookups, `add`, a batch of adds.
CONTENDERS: dict[str, tuple[Task | None, Task | None, Task | None, Task | None]] = {
    "splitbloom, list": (
        each_in,
        lambda filter, items: filter.contains(items),
        each_add,
        lambda filter, items: filter.update(items),
    ),
    "splitbloom, NumPy array": (
        None,
        lambda filter, items: filter.contains(items),
        None,
        lambda filter, items: filter.update(items),
    ),
    "splitbloom, Arrow array": (
        None,
        lambda filter, items: filter.contains(items),
        None,
        lambda filter, items: filter.update(items),
    ),
    "rbloom": (each_in, each_in, each_add, lambda filter, items: filter.update(items)),
    "fastbloom-rs": (
        lambda filter, items: [filter.contains_str(item) for item in items],
        lambda filter, items: filter.contains_str_batch(items),
        lambda filter, items: [filter.add_str(item) for item in items],
        lambda filter, items: filter.add_str_batch(items),
    ),
    "pybloom-live": (each_in, each_in, each_add, each_add),
    "server, 1 item a command": (batches("BF.EXISTS", 1), None, batches("BF.ADD", 1), None),
    "server, 100 items a command": (None, batches("BF.MEXISTS", 100), None, batches("BF.MADD", 100)),
    "server, 1000 items a command": (
        None,
        batches("BF.MEXISTS", 1000),
        None,
        batches("BF.MADD", 1000),
    ),
}
TASKS = ("in", "lookups in a batch", "add", "adds in a batch")


def filters(capacity: int, db: redis.Redis) -> dict[str, Any]:
    """An empty filter for each contender."""
    options = fastbloom_rs.FilterBuilder(capacity, ERROR_RATE)
    db.execute_command("BF.RESERVE", "bench", ERROR_RATE, capacity, "NONSCALING")
    made = {
        "rbloom": rbloom.Bloom(capacity, ERROR_RATE),
        "fastbloom-rs": options.build_bloom_filter(),
        "pybloom-live": pybloom_live.BloomFilter(capacity, ERROR_RATE),
    }
    ours = ("list", "NumPy array", "Arrow array")
    for kind in ours:
        made[f"splitbloom, {kind}"] = splitbloom.Filter(capacity, ERROR_RATE, expansion=0)
    for contender in CONTENDERS:
        if contender.startswith("server"):
            made[contender] = db
    return made


def argument(contender: str, items: list[str]) -> Any:
    """The items in the form that the contender takes, made before the clock starts."""
    if "NumPy" in contender:
        return np.array([item.encode() for item in items])
    if "Arrow" in contender:
        return pa.array(items)
    return items


def fill(capacity: int, made: dict[str, Any], db: redis.Redis) -> int:
    """Adds nine tenths of the capacity; returns their number."""
    number = capacity * 9 // 10
    for start in range(0, number, 100_000):
        items = [name(n) for n in range(start, min(start + 100_000, number))]
        for contender, filter in made.items():
            if contender.startswith("server"):
                continue
            add = CONTENDERS[contender][3]
            assert add is not None
            add(filter, argument(contender, items))
        batches("BF.MADD", 1000)(db, items)
    return number


def rounds(capacity: int, db: redis.Redis) -> dict[tuple[str, str], float]:
    """Nanoseconds per item, by contender and task."""
    made = filters(capacity, db)
    added = fill(capacity, made, db)
    chooser, fresh = random.Random(1), iter(range(2**40, 2**41))
    nanoseconds: dict[tuple[str, str], list[float]] = {}
    for _ in range(ROUNDS):
        for number, task in enumerate(TASKS):
            if number < 2:
                present = [chooser.randrange(added) for _ in range(PER_ROUND // 2)]
                chosen = present + [next(fresh) for _ in present]
                chooser.shuffle(chosen)
            else:
                # Each adds its share of what is left.
                share = min(PER_ROUND, capacity // 10 // (2 * ROUNDS + 1))
                chosen = [next(fresh) for _ in range(share)]
            for contender, tasks in CONTENDERS.items():
                run = tasks[number]
                if run is None:
                    continue
                # New strings for each, whose hash Python has not cached.
                items = argument(contender, [name(n) for n in chosen])
                start = time.perf_counter_ns()
                run(made[contender], items)
                took = time.perf_counter_ns() - start
                nanoseconds.setdefault((contender, task), []).append(took / len(chosen))
    describe(made, fresh)
    return {key: statistics.median(values) for key, values in nanoseconds.items()}


def describe(made: dict[str, Any], fresh: Iterator[int]) -> None:
    """Prints bits and false positives, which must be alike for a fair comparison."""
    absent = [name(next(fresh)) for _ in range(100_000)]
    sizes = {
        "splitbloom, list": lambda filter: filter.nbytes * 8,
        "rbloom": lambda filter: filter.size_in_bits,
        "fastbloom-rs": lambda filter: len(filter.get_bytes()) * 8,
        "pybloom-live": lambda filter: filter.num_bits,
    }
    print("| package | bits per item | false positives |\n| --- | --- | --- |")
    for contender, size in sizes.items():
        filter = made[contender]
        look = CONTENDERS[contender][1]
        assert look is not None
        found = sum(look(filter, absent))
        bits = size(filter) / int(sys.argv[1])
        print(f"| {contender.split(',')[0]} | {bits:.2f} | {found / len(absent):.2%} |")
    print()


def main() -> None:
    capacity = int(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        socket = os.path.join(folder, "socket")
        server = subprocess.Popen(
            [os.environ["SPLITBLOOM_SERVER"], "--port", "0", "--unixsocket", socket, "--save", ""]
            + ["--dir", folder, "--logfile", "log", "--loadmodule", os.environ["SPLITBLOOM_MODULE"]]
        )
        try:
            while not os.path.exists(socket):
                time.sleep(0.01)
            db = redis.Redis(unix_socket_path=socket)
            medians = rounds(capacity, db)
        finally:
            server.kill()
            server.wait()
    print(f"{capacity} items, {ROUNDS} rounds, ns per item, {sys.version.split()[0]}\n")
    print("|  | " + " | ".join(TASKS) + " |")
    print("| --- |" + " --- |" * len(TASKS))
    for contender in CONTENDERS:
        cells = [medians.get((contender, task)) for task in TASKS]
        shown = ["-" if cell is None else f"{cell:.0f}" for cell in cells]
        print(f"| {contender} | " + " | ".join(shown) + " |")


main()
