"""One filter over a cluster: filled under a second name, swapped in, and checked by its marks.

    python3 examples/recipes/cluster.py redis://127.0.0.1:6379
"""
import binascii
import sys
import redis

PARTITIONS, ITEMS = 16, 20_000
MARK = "filled"


def connect(address):
    """Any node of a cluster, or a server without one."""
    server = redis.Redis.from_url(address)
    if not server.info("cluster")["cluster_enabled"]:
        return server
    return redis.RedisCluster.from_url(address)


def key(name, partition):
    return "%s:{%d}" % (name, partition)


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
    return trip.execute()


def marked():
    answers = each(("BF.EXISTS", key("example:ids", p), MARK) for p in range(PARTITIONS))
    return f"{sum(answers)} of {PARTITIONS}"


db = connect(sys.argv[1])
parts = by_partition(f"user:{n}" for n in range(ITEMS))
next_keys = [key("example:ids:next", p) for p in range(PARTITIONS)]
each(("UNLINK", next_key) for next_key in next_keys)
each(("BF.RESERVE", next_key, 0.01, ITEMS // PARTITIONS * 5 // 4) for next_key in next_keys)
each(("BF.MADD", next_key, *part) for next_key, part in zip(next_keys, parts))
each(("BF.ADD", next_key, MARK) for next_key in next_keys)
each(("RENAME", next_key, key("example:ids", p)) for p, next_key in enumerate(next_keys))

asked = ((key("example:ids", p), part) for p, part in enumerate(parts))
found = sum(sum(flags) for flags in each(("BF.MEXISTS", name, *part) for name, part in asked))
print("found:", found, "of", ITEMS)
print("partitions with their mark:", marked())
db.unlink(key("example:ids", 7))
print("after the loss of one:", marked())
