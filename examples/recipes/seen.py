"""What has been seen before: URLs of a crawler, messages, and days without a window.

    python3 examples/recipes/seen.py redis://127.0.0.1:6379
"""
import sys
import redis

WEEK, DAY = 604800, 86400
db = redis.Redis.from_url(sys.argv[1])
db.delete("example:crawled", "example:handled", "example:seen:1", "example:seen:2")

# A crawler: an add says which pages are new in a week.
db.execute_command("BF.RESERVE", "example:crawled", 0.001, 100_000, "WINDOW", WEEK)


def to_fetch(*urls):
    are_new = db.execute_command("BF.MADD", "example:crawled", *urls)
    return [url for url, is_new in zip(urls, are_new) if is_new]


print("to fetch:", *to_fetch("/a", "/b", "/a"))
print("to fetch:", *to_fetch("/b", "/c"))

# Messages that may come twice: check, work, add. `handled` stands for a table in the database with
# a unique index; it is asked only about messages that the filter knows.
db.execute_command("BF.RESERVE", "example:handled", 0.001, 100_000, "WINDOW", DAY)
handled, asked, worked = set(), [], []


def handle(message, crashes=False):
    if db.execute_command("BF.EXISTS", "example:handled", message):
        asked.append(message)  # seen, or a false positive: the database decides
        if message in handled:
            return "skipped"
    worked.append(message)
    if crashes:
        return "crashed after the work"
    handled.add(message)  # in the transaction of the work, if it can be
    db.execute_command("BF.ADD", "example:handled", message)
    return "done"


print("m1:", handle("m1"), "/ again:", handle("m1"))
print("m2:", handle("m2", crashes=True), "/ again:", handle("m2"))
print("worked:", *worked, "/ asked about:", *asked)


# Without a window: a key for each day, and two of them are asked.
def is_first(day, item):
    step = db.pipeline(transaction=False)
    step.execute_command("BF.EXISTS", f"example:seen:{day - 1}", item)
    options = ("CAPACITY", 100_000, "ERROR", 0.001, "EX", 2 * DAY)
    step.execute_command("BF.INSERT", f"example:seen:{day}", *options, "ITEMS", item)
    yesterday, (is_new,) = step.execute()
    return bool(is_new and not yesterday)


print("day 1:", is_first(1, "x"), is_first(1, "x"), "/ day 2:", is_first(2, "x"), is_first(2, "y"))
