"""Runs the program in docs/cluster.md, then asks more of its class. Arguments: PORT of a local node,
and the document."""

import sys

port, document = sys.argv[1:]
with open(document) as file:
    program = file.read().split("```python\n")[1].split("```")[0]
exec(program.replace("port=7000", f"port={port}"))

# A class of the program and its connection.
wide = PartitionedFilter(db, "wide", 64)  # noqa: F821
for number in range(wide.partitions):
    db.execute_command("BF.RESERVE", "wide:{%d}" % number, 0.000001, 1000)
items = [b"user:%d" % number for number in range(10_000)]
assert wide.each("BF.MADD", items[::2]) == [1] * 5_000
assert wide.each("BF.MEXISTS", items) == [1, 0] * 5_000
assert users.each("BF.MEXISTS", [b"alice", b"bob", b"carol"]) == [1, 1, 0]

# Every node computes the same keys.
question = ("BF.KEYS", "wide", "PARTITIONS", 64, "ITEMS", *items)
keys = db.execute_command(*question, target_nodes=db.get_random_node())
assert [key.decode() for key in keys] == [wide.key(item) for item in items]
