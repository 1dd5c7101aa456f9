"""When memory is short, a call raises MemoryError, and the filter works on."""

import subprocess
import sys

import pytest

PROLOGUE = """
import resource, sys
from splitbloom import CountingFilter, Filter

def limit(mebibytes):
    # On top of what the process has.
    pages = int(open("/proc/self/statm").read().split()[0])
    most = pages * resource.getpagesize() + (mebibytes << 20)
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))

def refused(call):
    try:
        call()
    except MemoryError:
        return
    raise AssertionError("no MemoryError")
"""


@pytest.mark.parametrize(
    "program",
    [
        """
filter = Filter(200_000_000)
limit(64)
refused(lambda: filter.update(range(2**40)))
before = len(filter)
assert before > 10_000 and all(filter.contains(range(1000)))
refused(lambda: filter.update(range(2**40, 2**41)))
assert len(filter) >= before and 7 in filter
""",
        """
for kind in (Filter, CountingFilter):
    filter = kind(10)
    limit(8)
    refused(lambda: filter.update(range(2**40)))
    assert len(filter) > 10_000 and all(filter.contains(range(1000)))
    del filter
""",
        """
filter = Filter(100_000_000)
filter.update(range(1_000_000))
limit(32)
refused(filter.dumps)
refused(lambda: Filter.loads(b"x" * (64 << 20)))
assert 7 in filter
""",
        """
filter = Filter(100)
limit(32)
refused(lambda: filter.contains(iter(range(2**40))))
refused(lambda: filter.contains_lines("/dev/zero"))
refused(lambda: filter.update_lines("/dev/zero"))
assert 7 not in filter
""",
        """
filter = Filter(10_000_000)
filter.update(range(5_000_000))
filter.save(sys.argv[1])
limit(4)
refused(lambda: Filter.open(sys.argv[1]))
""",
    ],
)
def test_memory_that_is_short_is_an_error(program: str, tmp_path: object) -> None:
    words = [sys.executable, "-c", PROLOGUE + program, f"{tmp_path}/filter.sbf"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
