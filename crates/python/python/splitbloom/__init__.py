"""Bloom filters and counting filters: the same in a Python process as on a server with splitbloom.

>>> from splitbloom import Filter
>>> seen = Filter(1_000_000, 0.001)
>>> seen.add("alice")
True
>>> "alice" in seen, "bob" in seen
(True, False)
>>> seen.contains(["alice", "bob"])
[True, False]

`docs/python.md` describes them.
"""

from splitbloom._native import (
    CountingFilter,
    Filter,
    Follower,
    FormatError,
    FullError,
    KeyExistsError,
    NotReadyError,
    __version__,
)

__all__ = [
    "CountingFilter",
    "Filter",
    "Follower",
    "FormatError",
    "FullError",
    "KeyExistsError",
    "NotReadyError",
    "__version__",
]
