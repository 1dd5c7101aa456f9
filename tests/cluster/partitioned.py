"""One filter over many nodes with redis-py, as docs/cluster.md has it, against a cluster on loopback: PORT."""

import binascii
import sys

from redis.cluster import RedisCluster


class PartitionedFilter:
    def __init__(self, db, name, partitions):
        self.db, self.name, self.partitions = db, name, partitions

    def key(self, item):
        return "%s:{%d}" % (self.name, binascii.crc_hqx(item, 0) & (self.partitions - 1))

    def each(self, command, items):
        """One command for each partition, all in one pipeline; the answers in the order of the items."""
        places = {}
        for place, item in enumerate(items):
            places.setdefault(self.key(item), []).append(place)
        pipeline = self.db.pipeline()
        for key, of_key in places.items():
            pipeline.execute_command(command, key, *(items[place] for place in of_key))
        answers = [None] * len(items)
        for of_key, replies in zip(places.values(), pipeline.execute()):
            for place, reply in zip(of_key, replies):
                answers[place] = reply
        return answers


def main(port):
    db = RedisCluster(host="127.0.0.1", port=port)
    users = PartitionedFilter(db, "users", 64)
    for number in range(users.partitions):
        db.execute_command("BF.RESERVE", "users:{%d}" % number, 0.000001, 1000)
    items = [b"user:%d" % number for number in range(10_000)]
    assert users.each("BF.MADD", items[::2]) == [1] * 5_000
    assert users.each("BF.MEXISTS", items) == [1, 0] * 5_000

    # The node's own answer is the same, whichever node it is.
    keys = db.execute_command("BF.KEYS", "users", "PARTITIONS", 64, "ITEMS", *items, target_nodes=db.get_random_node())
    assert [key.decode() for key in keys] == [users.key(item) for item in items]


main(int(sys.argv[1]))
