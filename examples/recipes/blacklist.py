"""A blacklist of leaked passwords, built beside the old one and swapped in while it is asked.

    python3 examples/recipes/blacklist.py redis://127.0.0.1:6379
"""
import hashlib
import sys
import threading
import time
import redis
from rebuild import rebuild

KEY = "example:leaked"
ADDRESS = sys.argv[1]
db = redis.Redis.from_url(ADDRESS, socket_timeout=5)


def digest(password):
    return hashlib.sha1(password.encode()).digest()  # as lists of leaked passwords have it


def build(digests):
    """Replaces the list, when no other process does."""
    while not rebuild(db, KEY, 0.000001, len(digests), lambda: digests):
        time.sleep(0.1)


def leaked(server, password):
    """Without a list, raises the error NOFILTER: only the caller knows what is safe then."""
    ask = ("BF.PACKEXISTS", KEY, "FIXED", 20, digest(password), "MUSTEXIST")
    return server.execute_command(*ask, NEVER_DECODE=True) != b"\0"


first = [digest(f"password{n}") for n in range(100_000)]
build(first)
print("password7:", leaked(db, "password7"), "/ qwerty7:", leaked(db, "qwerty7"))

# Somebody asks all the time while the next list is built and swapped in.
missed, asked, stop = [], [], threading.Event()


def ask():
    server = redis.Redis.from_url(ADDRESS, socket_timeout=5)
    while not asked or not stop.is_set():
        asked.append(1)
        if not leaked(server, "password7"):
            missed.append(1)


asking = threading.Thread(target=ask, daemon=True)
asking.start()
build(first + [digest(f"qwerty{n}") for n in range(100_000)])
stop.set()
asking.join()
print("asked meanwhile:", len(asked) > 0, "/ missed:", len(missed))
print("password7:", leaked(db, "password7"), "/ qwerty7:", leaked(db, "qwerty7"))
