"""Runs the program in docs/cluster.md, then asks more of its class. Arguments: PORT of a local node,
and the document."""

import sys

from redis.exceptions import ResponseError

port, document = sys.argv[1:]
with open(document) as file:
    program = file.read().split("```python\n")[1].split("```")[0]
exec(program.replace("port=7000", f"port={port}"))

# A class of the program and its connection.
wide = PartitionedFilter(db, "wide", 64)  # noqa: F821
for number in range(wide.partitions):
    db.execute_command("BF.RESERVE", "wide:{%d}" % number, 0.000001, 1000)
items = [b"user:%d" % number for number in range(10_000)]
wide.check()
assert wide.each("BF.INSERT", items[::2], "NOCREATE", "ITEMS") == [1] * 5_000
assert wide.each("BF.MEXISTS", items) == [1, 0] * 5_000
assert users.each("BF.MEXISTS", [b"alice", b"bob", b"carol"]) == [1, 1, 0]

# Every node computes the same keys.
question = ("BF.KEYS", "wide", "PARTITIONS", 64, "ITEMS", *items)
keys = db.execute_command(*question, target_nodes=db.get_random_node())
assert [key.decode() for key in keys] == [wide.key(item) for item in items]


# Another number of partitions, and a lost one, are errors.
def fails(act, *words):
    try:
        act(*words)
    except (KeyError, ResponseError) as error:
        return str(error)
    raise AssertionError("no error")


assert "more partitions: wide:{32}" in fails(PartitionedFilter(db, "wide", 32).check)  # noqa: F821
assert "missing: wide:{64}, " in fails(PartitionedFilter(db, "wide", 128).check)  # noqa: F821
db.delete("wide:{7}")
assert "missing: wide:{7}" in fails(wide.check)
assert "missing: wide:{7}" in fails(wide.each, "BF.MEXISTS", items)
assert "not found" in fails(wide.each, "BF.INSERT", items, "NOCREATE", "ITEMS")
