"""When memory is short, a call raises MemoryError, and the filter works on."""

import subprocess
import sys

import pytest

PROLOGUE = """
import resource, sys
from splitbloom import CountingFilter, Filter

def limited_to(mebibytes):
    # The soft limit on what the process takes, this much above what it has, or none.
    if mebibytes is None:
        most = resource.RLIM_INFINITY
    else:
        pages = int(open("/proc/self/statm").read().split()[0])
        most = pages * resource.getpagesize() + (mebibytes << 20)
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))

def refused(mebibytes, call):
    limited_to(mebibytes)
    try:
        call()
    except MemoryError:
        limited_to(None)
        return
    raise AssertionError("no MemoryError")
"""


@pytest.mark.parametrize(
    "program",
    [
        """
filter = Filter(200_000_000)
refused(64, lambda: filter.update(range(2**40)))
before = len(filter)
assert before > 10_000 and all(filter.contains(range(1000)))
refused(64, lambda: filter.update(range(2**40, 2**41)))
assert len(filter) >= before and 7 in filter
""",
        """
for kind in (Filter, CountingFilter):
    filter = kind(10)
    refused(8, lambda: filter.update(range(2**40)))
    assert len(filter) > 10_000 and all(filter.contains(range(1000)))
    del filter
""",
        """
filter = Filter(100_000_000)
filter.update(range(1_000_000))
refused(32, filter.dumps)
assert 7 in filter
""",
        """
filter = Filter(100)
refused(32, lambda: filter.contains(iter(range(2**40))))
refused(32, lambda: filter.contains_lines("/dev/zero"))
refused(32, lambda: filter.update_lines("/dev/zero"))
assert 7 not in filter
""",
        """
filter = Filter(10_000_000)
filter.update(range(5_000_000))
filter.save(sys.argv[1])
refused(4, lambda: Filter.open(sys.argv[1]))
""",
    ],
)
def test_memory_that_is_short_is_an_error(program: str, tmp_path: object) -> None:
    words = [sys.executable, "-c", PROLOGUE + program, f"{tmp_path}/filter.sbf"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
