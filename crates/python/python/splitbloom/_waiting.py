"""Waits for a follower in asyncio."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from splitbloom import Follower

# How often to look. A fetch takes milliseconds at least.
LOOK_SECONDS = 0.01


async def ready(follower: Follower, timeout: float) -> bool:
    """Whether there is a copy, after at most `timeout` seconds."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + timeout
    while not follower.is_ready:
        left = deadline - clock()
        if left <= 0:
            return False
        await asyncio.sleep(min(left, LOOK_SECONDS))
    return True
