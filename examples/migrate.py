#!/usr/bin/env python3
"""Copies all filters from a server with RedisBloom to one with splitbloom, or compares the two.

    migrate.py redis://old:6379 redis://new:6379
    migrate.py --check redis://old:6379 redis://new:6379 items.txt

It needs redis-py. Stop adding to the filters first: docs/migrate.md has ways that need no stop.
"""

import sys

import redis

FAMILIES = {"MBbloom--": "BF", "MBbloomCF": "CF"}
BATCH = 1000


def filters(server):
    """The name and family of each filter."""
    for kind, family in FAMILIES.items():
        for key in server.scan_iter(count=1000, _type=kind):
            yield key, family


def copy(old, new):
    """Copies each filter piece by piece, and its time to live."""
    copied = 0
    for key, family in filters(old):
        iterator = 0
        while True:
            iterator, piece = old.execute_command(f"{family}.SCANDUMP", key, iterator)
            if iterator == 0:
                break
            new.execute_command(f"{family}.LOADCHUNK", key, iterator, piece)
        if not new.exists(key):  # RedisBloom answers nothing for an empty cuckoo filter
            print(f"left out: {key!r} is empty")
            continue
        milliseconds = old.pttl(key)
        if milliseconds > 0:
            new.pexpire(key, milliseconds)
        copied += 1
    print(f"{copied} filters")


def check(old, new, path):
    """Asks both servers for every line of a file, in every filter."""
    with open(path, "rb") as file:
        items = [line.rstrip(b"\r\n") for line in file]
    missing = 0
    for key, family in filters(old):
        found = [0, 0]
        for first in range(0, len(items), BATCH):
            question = (f"{family}.MEXISTS", key, *items[first : first + BATCH])
            here, there = (server.execute_command(*question) for server in (old, new))
            found = [found[0] + sum(here), found[1] + sum(there)]
            missing += sum(a and not b for a, b in zip(here, there))
        print(f"{key!r}: {found[0]} of {len(items)} there, {found[1]} here")
    print(f"{missing} items are missing")
    return missing


def main():
    words = sys.argv[1:]
    if words[:1] == ["--check"] and len(words) == 4:
        sys.exit(check(*map(redis.from_url, words[1:3]), words[3]) > 0)
    if len(words) != 2:
        sys.exit(__doc__)
    copy(*map(redis.from_url, words))


if __name__ == "__main__":
    main()
