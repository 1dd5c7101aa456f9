"""Hot keys: a top-k of the last minute keeps the hottest off the database, and callers who ask
too often are told to wait.

    python3 examples/recipes/hot.py redis://127.0.0.1:6379
"""
import sys
import redis

SECONDS, RATE, LIMIT = 60, 300, 3

db = redis.Redis.from_url(sys.argv[1])
db.delete("example:hot", "example:visitors", "example:asked:ann")


def is_hot(page):
    """Counts a request; whether the page has had more than RATE of them in the last minute."""
    trip = db.pipeline(transaction=False)
    trip.execute_command("TOPK.ADD", "example:hot", page)
    trip.execute_command("TOPK.COUNT", "example:hot", page)
    _, [count] = trip.execute()
    return count > RATE


db.execute_command("TOPK.RESERVE", "example:hot", 100, 10_000, 3, 0.9, "WINDOW", SECONDS)
queries = {"front": 0, "others": 0}
for n in range(1000):
    queries["front"] += not is_hot("front")
    queries["others"] += not is_hot(f"page {n}")
print("1000 requests for the front page:", queries["front"], "queries")
print("1000 requests for other pages:", queries["others"], "queries")
print("hottest:", db.execute_command("TOPK.LIST", "example:hot")[0].decode())

# One step on the server. The first question of a window goes into the filter; a counter begins
# with the second one.
MAY_ASK = """
if redis.call('BF.ADD', KEYS[1], ARGV[1]) == 1 then return 1 end
local asked = 1 + redis.call('INCR', KEYS[2])
if asked == 2 then redis.call('EXPIRE', KEYS[2], ARGV[3]) end
return asked <= tonumber(ARGV[2]) and 1 or 0
"""
script = db.register_script(MAY_ASK)


def may_ask(who):
    keys = ["example:visitors", f"example:asked:{who}"]
    return bool(script(keys=keys, args=[who, LIMIT, SECONDS]))


db.execute_command("BF.RESERVE", "example:visitors", 0.001, 100_000, "WINDOW", SECONDS)
print("ann:", *(may_ask("ann") for _ in range(5)))
print("1000 others, once each:", all(may_ask(f"visitor {n}") for n in range(1000)))
counters = sum(1 for _ in db.scan_iter("example:asked:*"))
print("few counters:", counters < 20)
