"""Hot keys: a top-k of the last minute keeps the hottest off the database, and callers who ask
too often are told to wait.

    python3 examples/recipes/hot.py redis://127.0.0.1:6379
"""
import sys
import redis
from fail_open import FailOpen

SECONDS, RATE, LIMIT = 60, 300, 3

server = FailOpen(sys.argv[1])
db = redis.Redis.from_url(sys.argv[1])
db.delete("example:hot", "example:visitors", "example:asked:ann")


def is_hot(page):
    """Counts a request; whether the page has had more than RATE of them in the last minute. No page
    is hot while the server does not count."""
    _, count = server.ask(("TOPK.ADD", "example:hot", page), ("TOPK.COUNT", "example:hot", page))
    return count is not None and count[0] > RATE


db.execute_command("TOPK.RESERVE", "example:hot", 100, 10_000, 3, 0.9, "WINDOW", SECONDS)
queries = {"front": 0, "others": 0}
for n in range(1000):
    queries["front"] += not is_hot("front")
    queries["others"] += not is_hot(f"page {n}")
print("1000 requests for the front page:", queries["front"], "queries")
print("1000 requests for other pages:", queries["others"], "queries")
[hottest] = server.ask(("TOPK.LIST", "example:hot"))
print("hottest:", hottest[0].decode())

# One step on the server. The first question of a window goes into the filter; a counter begins
# with the second one.
MAY_ASK = """
if redis.call('BF.ADD', KEYS[1], ARGV[1]) == 1 then return 1 end
local asked = 1 + redis.call('INCR', KEYS[2])
if asked == 2 then redis.call('EXPIRE', KEYS[2], ARGV[3]) end
return asked <= tonumber(ARGV[2]) and 1 or 0
"""


def may_ask(who):
    """Everybody may while the server does not count."""
    keys = ("example:visitors", f"example:asked:{who}")
    [reply] = server.ask(("EVAL", MAY_ASK, 2, *keys, who, LIMIT, SECONDS))
    return reply != 0


db.execute_command("BF.RESERVE", "example:visitors", 0.001, 100_000, "WINDOW", SECONDS)
print("ann:", *(may_ask("ann") for _ in range(5)))
print("1000 others, once each:", all(may_ask(f"visitor {n}") for n in range(1000)))
counters = sum(1 for _ in db.scan_iter("example:asked:*"))
print("few counters:", counters < 20)
