"""Many tenants: a filter for each, or one for all of them.

    python3 examples/recipes/tenants.py redis://127.0.0.1:6379 [TENANTS]
"""
import sys
import redis

ITEMS = 10
db = redis.Redis.from_url(sys.argv[1])
tenants = int(sys.argv[2]) if len(sys.argv) > 2 else 1000


def used():
    return db.info("memory")["used_memory"]


def in_batches(numbers, size=1000):
    for start in range(0, len(numbers), size):
        yield numbers[start:start + size]


def fill(name, commands):
    """Sends the commands for each tenant, and prints the bytes that a tenant takes."""
    before = used()
    for batch in in_batches(range(tenants)):
        trip = db.pipeline(transaction=False)
        for tenant in batch:
            for command in commands(tenant):
                trip.execute_command(*command)
        trip.execute()
    if len(sys.argv) > 2:
        print(f"{name}: {(used() - before) / tenants:.0f} bytes a tenant")


def items(tenant):
    return [f"{tenant}:{item}" for item in range(ITEMS)]


fill("a filter each", lambda t: [("BF.INSERT", f"example:{t}", "ITEMS", *items(t))])
fill("a set each", lambda t: [("SADD", f"example:set:{t}", *items(t))])
db.execute_command("BF.RESERVE", "example:all", 0.01, tenants * ITEMS)
fill("one filter", lambda t: [("BF.MADD", "example:all", *items(t))])

print("7 knows 7:3:", bool(db.execute_command("BF.EXISTS", "example:7", "7:3")))
print("all know 7:3:", bool(db.execute_command("BF.EXISTS", "example:all", "7:3")))
db.unlink("example:7")
print("7 has left:", not db.execute_command("BF.EXISTS", "example:7", "7:3"))
for batch in in_batches(range(tenants)):
    db.unlink("example:all", *(f"example:{t}" for t in batch), *(f"example:set:{t}" for t in batch))
