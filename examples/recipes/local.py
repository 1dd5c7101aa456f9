"""A blacklist that four processes check locally while it is replaced. It is built offline.

    python3 local.py redis://127.0.0.1:6379 10000000
"""
import subprocess
import sys
import time

import redis
from splitbloom import Filter, Follower

KEY = "example:addresses"


def build(number, capacity):
    """A list of addresses, of which only "always" is on every list."""
    filter = Filter(capacity, 0.001)
    filter.update(f"10.{number}.{n}" for n in range(capacity - 2))
    filter.update(["always", f"list {number}"])
    return filter


def check(url):
    """Checks addresses until the last list is here. Without a list, everything is blocked."""
    with Follower(url, KEY, default=True) as blocked:
        if not blocked.wait_until_ready():
            return False
        missed = 0
        while "list 3" not in blocked:
            missed += "always" not in blocked
        return missed == 0


def main(url, capacity=100_000):
    db = redis.Redis.from_url(url)
    build(1, int(capacity)).push(db, KEY, replace=True)
    command = [sys.executable, __file__, url, "check"]
    processes = [subprocess.Popen(command) for _ in range(4)]
    for number in (2, 3):
        time.sleep(0.3)
        build(number, int(capacity)).push(db, KEY, replace=True)
    good = sum(process.wait() == 0 for process in processes)
    print("processes that have the last list and missed nothing:", good)


if sys.argv[2:] == ["check"]:
    sys.exit(0 if check(sys.argv[1]) else "an address was missed")
main(*sys.argv[1:])
