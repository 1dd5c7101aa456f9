"""A guard with a local copy of the filter of valid ids in front of the server's.

    python3 local-guard.py redis://127.0.0.1:6379
"""
import sys
import time

import redis
from splitbloom import Follower

KEY = "example:ids"


class Guard:
    def __init__(self, url):
        self.db = redis.Redis.from_url(url)
        self.copy = Follower(url, KEY, default=True)  # without a copy, any id may exist
        self.asked = 0

    def may_exist_here(self, id):
        return id in self.copy

    def may_exist(self, id):
        """The server is asked about ids that the copy lacks."""
        if id in self.copy:
            return True
        self.asked += 1
        return bool(self.db.bf().exists(KEY, id))

    def create(self, id):
        """Creates an id, and returns once the copy has it."""
        self.db.bf().insert(KEY, [id], noCreate=True)
        while id not in self.copy:
            time.sleep(0.0002)


def main(url):
    guard = Guard(url)
    guard.db.unlink(KEY)
    guard.db.bf().create(KEY, 0.001, 20_000)
    guard.db.bf().madd(KEY, *range(10_000))
    while not all(guard.copy.contains(range(10_000))) or not guard.copy.is_ready:
        time.sleep(0.01)
    print("found:", sum(guard.may_exist(id) for id in range(10_000)))
    print("the server was asked:", guard.asked)
    denied = 0
    for id in range(10_000, 10_100):
        guard.db.bf().add(KEY, id)  # the copy may not have it yet
        denied += not guard.may_exist(id)
        guard.create(id + 1_000)
        denied += not guard.may_exist_here(id + 1_000)
    print("new ids that were denied:", denied)


main(sys.argv[1])
