"""One filter over many nodes with redis-py, as in docs/cluster.md. Argument: PORT of a local node."""

import binascii
import sys

from redis.cluster import RedisCluster


class PartitionedFilter:
    def __init__(self, db, name, partitions):
        self.db, self.name, self.partitions = db, name, partitions

    def key(self, item):
        return "%s:{%d}" % (self.name, binascii.crc_hqx(item, 0) & (self.partitions - 1))

    def each(self, command, items):
        """Sends one command per partition in one pipeline; returns the replies in item order."""
        by_key = {}
        for position, item in enumerate(items):
            by_key.setdefault(self.key(item), []).append(position)
        pipeline = self.db.pipeline()
        for key, positions in by_key.items():
            pipeline.execute_command(command, key, *(items[position] for position in positions))
        results = [None] * len(items)
        for positions, replies in zip(by_key.values(), pipeline.execute()):
            for position, reply in zip(positions, replies):
                results[position] = reply
        return results


def main(port):
    db = RedisCluster(host="127.0.0.1", port=port)
    users = PartitionedFilter(db, "users", 64)
    for number in range(users.partitions):
        db.execute_command("BF.RESERVE", "users:{%d}" % number, 0.000001, 1000)
    items = [b"user:%d" % number for number in range(10_000)]
    assert users.each("BF.MADD", items[::2]) == [1] * 5_000
    assert users.each("BF.MEXISTS", items) == [1, 0] * 5_000

    # Every node computes the same keys.
    keys = db.execute_command("BF.KEYS", "users", "PARTITIONS", 64, "ITEMS", *items, target_nodes=db.get_random_node())
    assert [key.decode() for key in keys] == [users.key(item) for item in items]


main(int(sys.argv[1]))
