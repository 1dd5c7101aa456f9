"""What a user's feed takes: a filter that forgets, next to a sorted set and to a hash.

Argument: ITEMS, of all users of a row together. The filters are those of examples/recipes/feed.py.
They have the ids of 35 days, the most that they ever remember, the others those of 30. For these
a hundredth of the users is enough, since each takes the same.
"""

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import redis

DAY = 86_400
OPTIONS = f"CAPACITY 100 ERROR 0.001 WINDOW {30 * DAY} SLICES 6 EX {36 * DAY}"
# The steps in which ids come, and the days that filters remember at most.
STEPS, LATEST = 7, 35
SIZES = (100, 1_000, 10_000)
NOW = int(time.time())


def command(*words: bytes | str | int) -> bytes:
    parts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%b\r\n" % (len(it), it) for it in parts)


def filters(user: int, ids: int) -> Iterator[bytes]:
    """Creates a user's filter with the first id, and adds the others in chronological order."""
    key = f"feed:{user}"
    all_ids = ids * LATEST // 30
    for step in range(STEPS):
        each = all_ids * (step + 1) // STEPS - all_ids * step // STEPS
        at = (NOW - LATEST * DAY + (step + 1) * LATEST * DAY // STEPS) * 1000 - 60_000
        items = os.urandom(8 * each)
        if step == 0:
            words = OPTIONS.split()
            yield command("BF.INSERT", key, *words, "AT", at, "ITEMS", items[:8])
        yield command("BF.PACKADD", key, "AT", at, "FIXED", 8, items)


def sorted_sets(user: int, ids: int) -> Iterator[bytes]:
    """The time of each id as its score."""
    for first in range(0, ids, 100):
        words = [word for _ in range(100) for word in (NOW - first, ident())]
        yield command("ZADD", f"feed:{user}", *words)


def hashes(user: int, ids: int) -> Iterator[bytes]:
    """An expiry for each field."""
    for first in range(0, ids, 100):
        words = [word for _ in range(100) for word in (ident(), "")]
        life = 30 * DAY - first
        yield command("HSETEX", f"feed:{user}", "EX", life, "FIELDS", 100, *words)


def ident() -> int:
    """An id as programs send it: digits, which both can store as a number."""
    return int.from_bytes(os.urandom(8), "little") >> 1


KINDS: dict[str, tuple[Callable[[int, int], Iterator[bytes]], int]] = {
    "filter": (filters, 1),
    "sorted set": (sorted_sets, 100),
    "hash with expiring fields": (hashes, 100),
}


def send(path: str, commands: Iterator[bytes]) -> None:
    """Sends commands without a wait between them, and reads the replies, none an error."""
    with socket.socket(socket.AF_UNIX) as db:
        db.connect(path)
        replies = db.makefile("rb")
        while batch := [it for _, it in zip(range(64), commands, strict=False)]:
            db.sendall(b"".join(batch))
            for _ in batch:
                line = replies.readline()
                for _ in range(int(line[1:]) if line[:1] == b"*" else 0):
                    line = replies.readline()
                if line[:1] == b"-":
                    raise RuntimeError(line.decode())


def bytes_a_user(db: redis.Redis, path: str, kind: str, users: int, ids: int) -> float:
    commands, _ = KINDS[kind]
    db.flushall()
    before = db.info("memory")["used_memory"]
    send(path, (it for user in range(users) for it in commands(user, ids)))
    return float(db.info("memory")["used_memory"] - before) / users


def main(items: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "socket"))
        words = [os.environ["SPLITBLOOM_SERVER"], "--port", "0", "--unixsocket", path]
        words += ["--save", "", "--loadmodule", os.environ["SPLITBLOOM_MODULE"]]
        server = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        db = redis.Redis(unix_socket_path=path, socket_timeout=None)
        try:
            while not Path(path).exists():
                time.sleep(0.01)
            print("| a user's | ids | users | bytes a user | bytes an id |", flush=True)
            print("| --- | --- | --- | --- | --- |", flush=True)
            for kind, (_, fewer) in KINDS.items():
                for ids in SIZES:
                    users = max(items // ids // fewer, 100)
                    taken = bytes_a_user(db, path, kind, users, ids)
                    row = f"| {kind} | {ids} | {users} | {taken:.0f} | {taken / ids:.1f} |"
                    print(row, flush=True)
        finally:
            server.kill()
            server.wait()


main(int(sys.argv[1]))
