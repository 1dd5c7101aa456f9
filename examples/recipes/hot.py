"""Hot keys: who may ask how often in a minute. Most ask once, and cost bits instead of a counter.

    python3 examples/recipes/hot.py redis://127.0.0.1:6379
"""
import sys
import redis

SECONDS, LIMIT = 60, 3

# One step on the server. The first question of a window goes into the filter; a counter begins
# with the second one.
MAY_ASK = """
if redis.call('BF.ADD', KEYS[1], ARGV[1]) == 1 then return 1 end
local asked = 1 + redis.call('INCR', KEYS[2])
if asked == 2 then redis.call('EXPIRE', KEYS[2], ARGV[3]) end
return asked <= tonumber(ARGV[2]) and 1 or 0
"""

db = redis.Redis.from_url(sys.argv[1])
script = db.register_script(MAY_ASK)


def may_ask(who):
    keys = ["example:visitors", f"example:asked:{who}"]
    return bool(script(keys=keys, args=[who, LIMIT, SECONDS]))


db.delete("example:visitors", "example:asked:ann")
db.execute_command("BF.RESERVE", "example:visitors", 0.001, 100_000, "WINDOW", SECONDS)
print("ann:", *(may_ask("ann") for _ in range(5)))
print("1000 others, once each:", all(may_ask(f"visitor {n}") for n in range(1000)))
counters = sum(1 for _ in db.scan_iter("example:asked:*"))
print("few counters:", counters < 20)
