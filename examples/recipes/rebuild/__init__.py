"""Replaces a filter. One process at a time fills a new one, which takes the place of the old one
when it is complete. Whatever fails, the old one stays, and the new one expires."""
import itertools
import math
import struct
import uuid

SECONDS = 60  # how long the new filter and the lock live, counted from the last batch
BATCH = 1_000  # few enough that no other client waits long

# Ends a rebuild. KEYS: the filter, the new one, the lock, which holds the name of the new one.
# ARGV: how many items the new one must have: a server that restarts or fails over may lose some.
END = """
if redis.call('GET', KEYS[3]) ~= KEYS[2] then return 0 end
redis.call('DEL', KEYS[3])
if redis.call('BF.CARD', KEYS[2]) < tonumber(ARGV[1]) then return 0 end
redis.call('RENAME', KEYS[2], KEYS[1])
return redis.call('PERSIST', KEYS[1])
"""


def rebuild(db, key, error_rate, capacity, read_items):
    """Returns whether the filter `key` was replaced. If not, another process does, or took over.

    `read_items` is called when the new filter exists: its name is the value of the lock."""
    tag = key if "{" in key else "{%s}" % key  # so all keys are in one slot of a cluster
    new, lock = f"{tag}:{uuid.uuid4()}", f"{tag}:lock"
    if not db.set(lock, new, nx=True, ex=SECONDS):
        return False
    needed = math.inf
    try:
        db.execute_command("BF.RESERVE", new, error_rate, capacity, "EX", SECONDS)
        needed = fill(db, new, lock, iter(read_items()))
    finally:
        was_replaced = db.eval(END, 3, key, new, lock, needed)
    return was_replaced == 1


def fill(db, new, lock, items):
    """Adds the items, and returns how many were not yet there."""
    count = 0
    while batch := list(itertools.islice(items, BATCH)):
        trip = db.pipeline(transaction=False)
        trip.execute_command("BF.PACKADD", new, "PREFIXED", packed(batch), "NOCREATE")
        added, *_ = trip.expire(new, SECONDS).expire(lock, SECONDS).execute()
        if isinstance(added, list):
            raise added[-1]  # why an item was refused
        count += added
    return count


def packed(items):
    """Any bytes, each after its length."""
    items = [item if isinstance(item, bytes) else str(item).encode() for item in items]
    return b"".join(struct.pack("<I", len(item)) + item for item in items)
