"""A blacklist of leaked passwords, built beside the old one and swapped in while it is asked.

    python3 examples/recipes/blacklist.py redis://127.0.0.1:6379
"""
import hashlib
import sys
import threading
import redis

KEY, NEXT = "example:leaked", "example:leaked:next"
ADDRESS = sys.argv[1]
db = redis.Redis.from_url(ADDRESS)


def digest(password):
    return hashlib.sha1(password.encode()).digest()  # as lists of leaked passwords have it


def build(digests, batch=100_000):
    """Fills a new filter and puts it in the place of the old one."""
    db.unlink(NEXT)
    db.execute_command("BF.RESERVE", NEXT, 0.000001, len(digests))
    for start in range(0, len(digests), batch):
        packed = b"".join(digests[start:start + batch])
        db.execute_command("BF.PACKADD", NEXT, "FIXED", 20, packed)
    db.rename(NEXT, KEY)


def leaked(server, password):
    return bool(server.execute_command("BF.EXISTS", KEY, digest(password)))


first = [digest(f"password{n}") for n in range(100_000)]
build(first)
print("password7:", leaked(db, "password7"), "/ qwerty7:", leaked(db, "qwerty7"))

# Somebody asks all the time while the next list is built and swapped in.
missed, asked, stop = [], [], threading.Event()


def ask():
    server = redis.Redis.from_url(ADDRESS)
    while not asked or not stop.is_set():
        asked.append(1)
        if not leaked(server, "password7"):
            missed.append(1)


asking = threading.Thread(target=ask)
asking.start()
build(first + [digest(f"qwerty{n}") for n in range(100_000)])
stop.set()
asking.join()
print("asked meanwhile:", len(asked) > 0, "/ missed:", len(missed))
print("password7:", leaked(db, "password7"), "/ qwerty7:", leaked(db, "qwerty7"))
