"""A guard with a local copy of the filter of valid ids in front of the server's.

    python3 local-guard.py redis://127.0.0.1:6379
"""
import sys
import time
import redis
from fail_open import FailOpen
from rebuild import rebuild
from splitbloom import Follower

KEY = "example:ids"


class Guard:
    def __init__(self, url):
        self.server = FailOpen(url)
        self.copy = Follower(url, KEY, default=True)  # without a copy, any id may exist
        self.asked = 0

    def may_exist(self, id):
        """The server is asked about ids that the copy lacks. What it cannot deny may exist."""
        if id in self.copy:
            return True
        self.asked += 1
        item = str(id).encode()
        exists = ("BF.PACKEXISTS", KEY, "FIXED", len(item), item, "MUSTEXIST")
        return self.server.ask(exists) != [b"\0"]

    def create(self, id, patience=10):
        """Adds an id, and returns once the copy has it. Until then, do not say that it exists."""
        [added] = self.server.db.execute_command("BF.INSERT", KEY, "NOCREATE", "ITEMS", id)
        if isinstance(added, Exception):
            raise added
        deadline = time.monotonic() + patience
        while id not in self.copy:
            if time.monotonic() > deadline:
                raise TimeoutError(self.copy.error)
            time.sleep(0.0002)


def main(url):
    try:
        rebuild(redis.Redis.from_url(url), KEY, 0.001, 20_000, lambda: range(10_000))
    except redis.RedisError as error:
        print("the filter is as it was:", error, file=sys.stderr)
    guard = Guard(url)
    guard.copy.wait_until_ready(10)
    print("found:", sum(guard.may_exist(id) for id in range(10_000)))
    print("the server was asked:", guard.asked)
    denied = 0
    for id in range(10_000, 10_100):
        guard.server.db.execute_command("BF.INSERT", KEY, "NOCREATE", "ITEMS", id)
        denied += not guard.may_exist(id)  # the copy may not have it yet
        guard.create(id + 1_000)
        denied += id + 1_000 not in guard.copy
    print("new ids that were denied:", denied)


main(sys.argv[1])
