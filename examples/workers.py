"""Which ids exist, in the workers of gunicorn and of Celery, from one copy of a filter.

    export SERVER=redis://127.0.0.1:6379
    gunicorn --preload --workers 8 --chdir examples workers:application
    celery --workdir examples --app workers:jobs worker --concurrency 8

GET /7/8 responds with whether ids 7 and 8 may exist, and with the state of the worker's copy.
"""

import json
import os
import sys

from celery import Celery
from splitbloom import Follower

SERVER = os.environ["SERVER"]
BROKER = os.environ.get("BROKER", SERVER)

# Workers are forked after this, and begin with its copy. Without a copy any id may exist, so that
# the database decides.
ids = Follower(SERVER, "ids", default=True)
if not ids.wait_until_ready(float(os.environ.get("WAIT", "10"))):
    print("workers: there is no copy yet:", ids.error, file=sys.stderr)

# A child follows from its first use on. That would be its first request, which may come an hour
# after the fork and be answered from a copy as old.
os.register_at_fork(after_in_child=lambda: ids.is_ready)


def look_up(items):
    """Whether each id may exist, and the state of the copy: an old one denies newer ids."""
    state = {
        "pid": os.getpid(),
        "ready": ids.is_ready,
        "staleness": ids.staleness,
        "fetches": ids.fetches,
        "error": ids.error,
    }
    return ids.contains(items), state


def application(environ, start_response):
    path = environ["PATH_INFO"].encode("latin-1")  # WSGI decodes bytes so
    body = json.dumps(look_up(path.split(b"/")[1:])).encode()
    start_response("200 OK", [("Content-Type", "application/json")])
    return [body]


jobs = Celery("workers", broker=BROKER, backend=BROKER)
jobs.task(look_up, name="look_up")
