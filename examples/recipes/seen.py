"""What has been seen before: URLs of a crawler, messages, and days without a window.

    python3 examples/recipes/seen.py redis://127.0.0.1:6379
"""
import itertools
import sys
import redis
from fail_open import FailOpen

SIZE = ("CAPACITY", 100_000, "ERROR", 0.001)  # of a filter that an add creates
WEEK, DAY = 604800, 86400
db = redis.Redis.from_url(sys.argv[1], socket_timeout=5)
db.delete("example:crawled", "example:handled", "example:seen:1", "example:seen:2")


# A crawler: an add says which pages are new in a week.
def to_fetch(*urls):
    add = ("BF.INSERT", "example:crawled", *SIZE, "WINDOW", WEEK, "ITEMS", *urls)
    pairs = itertools.zip_longest(urls, db.execute_command(*add))  # an error ends the replies
    return [url for url, is_new in pairs if is_new != 0]


print("to fetch:", *to_fetch("/a", "/b", "/a"))
print("to fetch:", *to_fetch("/b", "/c"))

# Messages that may come twice: add, ask, work. `handled` stands for a table in the database with a
# unique index; it is asked only about messages that the filter knows, and if the filter fails.
server = FailOpen(sys.argv[1])
handled, asked, worked = set(), [], []


def handle(message, crashes=False):
    add = ("BF.INSERT", "example:handled", *SIZE, "WINDOW", DAY, "ITEMS", message)
    if server.ask(add) != [[1]]:
        asked.append(message)  # seen, a false positive, or an error: the database decides
        if message in handled:
            return "skipped"
    worked.append(message)
    if crashes:
        return "crashed after the work"
    handled.add(message)  # in the transaction of the work, if it can be
    return "done"


print("m1:", handle("m1"), "/ again:", handle("m1"))
print("m2:", handle("m2", crashes=True), "/ again:", handle("m2"))
print("worked:", *worked, "/ asked about:", *asked)


# Without a window: a key for each day, and two of them are asked.
def is_first(day, item):
    step = db.pipeline(transaction=False)
    step.execute_command("BF.EXISTS", f"example:seen:{day - 1}", item)
    step.execute_command("BF.INSERT", f"example:seen:{day}", *SIZE, "EX", 2 * DAY, "ITEMS", item)
    was_there, (is_new,) = step.execute(raise_on_error=False)
    for reply in was_there, is_new:  # with `bf.missing-key error` yesterday may be NOFILTER
        if isinstance(reply, Exception) and not str(reply).startswith("NOFILTER"):
            raise reply
    return bool(is_new and was_there != 1)


print("day 1:", is_first(1, "x"), is_first(1, "x"), "/ day 2:", is_first(2, "x"), is_first(2, "y"))
