"""A feed that shows nothing twice in 30 days: a small filter for each user, which forgets.

    python3 examples/recipes/feed.py redis://127.0.0.1:6379
"""
import itertools
import struct
import sys
from concurrent.futures import ThreadPoolExecutor
from fail_open import FailOpen

DAY = 86400
# Of a filter that a user's first page creates. It grows, and expires after the user's last visit.
OPTIONS = ("CAPACITY", 100, "ERROR", 0.001, "WINDOW", 30 * DAY, "SLICES", 6, "EX", 36 * DAY)


class Feed:
    def __init__(self, url):
        self.server = FailOpen(url)

    def page(self, user, candidates, size=20):
        """The first candidates that the user has not seen, which count as seen from now on."""
        key = f"example:feed:{user}"
        items = [struct.pack("<q", candidate) for candidate in candidates]
        (bits,) = self.server.ask(("BF.PACKEXISTS", key, "FIXED", 8, b"".join(items)))
        # Without an answer nothing is known to be seen: twice is better than an empty page.
        unseen = [n for n in range(len(items)) if not (bits and bits[n // 8] >> n % 8 & 1)]
        chosen = unseen[:size]
        if not chosen:
            return []
        added, _ = self.server.ask(
            ("BF.INSERT", key, *OPTIONS, "ITEMS", *(items[n] for n in chosen)),
            ("EXPIRE", key, 36 * DAY),
        )
        # What another device of the user took in between is not new to the filter.
        pairs = itertools.zip_longest(chosen, added or [])
        return [candidates[n] for n, is_new in pairs if is_new != 0]

    def forget(self, user):
        self.server.ask(("UNLINK", f"example:feed:{user}"))


url, user, candidates = sys.argv[1], 7, range(2000)
phone, tablet = Feed(url), Feed(url)
first = phone.page(user, candidates)
print("the first page is full:", len(first) > 15)
with ThreadPoolExecutor() as both:
    read = lambda device: [device.page(user, candidates) for _ in range(40)]
    pages = list(itertools.chain(*both.map(read, [phone, tablet])))
shown = [*first, *itertools.chain(*pages)]
phone.forget(user)
print("after deletion it begins anew:", len(phone.page(user, candidates)) > 15)
print("shown twice:", len(shown) - len(set(shown)))
