"""Deleting: a counting filter, and what two Bloom filters cannot do.

    python3 examples/recipes/deleting.py redis://127.0.0.1:6379
"""
import sys
import redis

db = redis.Redis.from_url(sys.argv[1])
db.delete("example:online", "example:added", "example:deleted")


def call(command, *words):
    return int(db.execute_command(command, *words))


# Users who are online. CF.ADD counts: two devices are two copies.
db.execute_command("CF.RESERVE", "example:online", 100_000)
for user in ["ann", "ann", "bob"]:
    call("CF.ADD", "example:online", user)
call("CF.DEL", "example:online", "ann")
call("CF.DEL", "example:online", "bob")
users = ["ann", "bob"]
print("online:", *(user for user in users if call("CF.EXISTS", "example:online", user)))
print("ann's devices:", call("CF.COUNT", "example:online", "ann"))
print("bob, once more:", call("CF.DEL", "example:online", "bob"))

# Coupons: valid once issued, until they are redeemed, and never again. Two Bloom filters do.
for key in ["example:added", "example:deleted"]:
    db.execute_command("BF.RESERVE", key, 0.0001, 100_000)


def is_valid(coupon):
    step = db.pipeline()
    step.execute_command("BF.EXISTS", "example:added", coupon)
    step.execute_command("BF.EXISTS", "example:deleted", coupon)
    added, deleted = step.execute()
    return bool(added and not deleted)


call("BF.ADD", "example:added", "C-1")
print("C-1 issued:", is_valid("C-1"))
call("BF.ADD", "example:deleted", "C-1")
print("C-1 redeemed:", is_valid("C-1"))
call("BF.ADD", "example:added", "C-1")
print("C-1 issued again:", is_valid("C-1"))
