"""A server that requests can do without: none of them fails with it, and few wait for it."""
import time
import redis

PATIENCE = 1  # seconds that a request may wait, and for which others then do not ask
TIMEOUTS = {"socket_timeout": PATIENCE, "socket_connect_timeout": PATIENCE}


class FailOpen:
    def __init__(self, url):
        self.db = redis.Redis.from_url(url, **TIMEOUTS)  # it does not try again by itself
        self.is_down_until = 0.0

    def ask(self, *commands):
        """The reply to each command, in one round trip; None in place of an error."""
        if (now := time.monotonic()) >= self.is_down_until:
            if self.is_down_until:
                self.is_down_until = now + PATIENCE  # one request tries, the others go on
            try:
                trip = self.db.pipeline(transaction=False)
                for command in commands:
                    trip.execute_command(*command, NEVER_DECODE=True)
                replies = trip.execute(raise_on_error=False)
                self.is_down_until = 0.0
                return [None if isinstance(reply, Exception) else reply for reply in replies]
            except redis.RedisError:  # down, loading, too slow
                self.is_down_until = time.monotonic() + PATIENCE
        return [None] * len(commands)
