"""One filter over a cluster: each partition is filled and swapped in, and checked by its mark.

    python3 examples/recipes/cluster.py redis://127.0.0.1:6379
"""
import binascii
import sys
import redis
from rebuild import rebuild

PARTITIONS, ITEMS = 16, 20_000
MARK = "filled"


def connect(address):
    """Any node of a cluster, or a server without one."""
    server = redis.Redis.from_url(address)
    if not server.info("cluster")["cluster_enabled"]:
        return server
    return redis.RedisCluster.from_url(address)


def key(partition):
    return "example:ids:{%d}" % partition


def by_partition(items):
    parts = [[] for _ in range(PARTITIONS)]
    for item in items:
        parts[binascii.crc_hqx(item.encode(), 0) % PARTITIONS].append(item)
    return parts


def each(commands):
    """Sends commands, each of one key, in a pipeline to every node."""
    trip = db.pipeline(transaction=False)
    for command in commands:
        trip.execute_command(*command)
    return trip.execute(raise_on_error=False)


def marked():
    # A partition that is gone replies 0 or, with `bf.missing-key error`, an error.
    answers = each(("BF.EXISTS", key(p), MARK) for p in range(PARTITIONS))
    return f"{answers.count(1)} of {PARTITIONS}"


db = connect(sys.argv[1])
parts = by_partition(f"user:{n}" for n in range(ITEMS))
for p, part in enumerate(parts):
    rebuild(db, key(p), 0.01, ITEMS // PARTITIONS * 5 // 4, lambda: part + [MARK])
flags = each(("BF.MEXISTS", key(p), *part) for p, part in enumerate(parts))
found = sum(map(sum, flags))
print("found:", found, "of", ITEMS)
print("partitions with their mark:", marked())
db.unlink(key(7))
print("after the loss of one:", marked())
