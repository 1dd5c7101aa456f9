"""What test_processes.py loads before a fork: a follower."""

import os

from splitbloom import Follower

seen = Follower(os.environ["FOLLOW"], "seen")
assert seen.wait_until_ready()


def follows(number: int) -> bool:
    """Whether this process has an item."""
    return number in seen


def pid_if_it_follows(number: int) -> int:
    """This process, if it has an item and nothing is wrong."""
    return os.getpid() if number in seen and seen.error is None else 0


def application(environ, start_response):  # type: ignore[no-untyped-def]
    """Responds with the number of the process if it has the item of the path."""
    start_response("200 OK", [])
    return [str(pid_if_it_follows(int(environ["PATH_INFO"][1:]))).encode()]
