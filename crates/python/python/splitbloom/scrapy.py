"""A duplicate filter for Scrapy 2.14 or later, on a server or in the process: `docs/scrapy.md`."""

from __future__ import annotations

import logging
import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scrapy import Request
from scrapy.dupefilters import RFPDupeFilter
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.job import job_dir

from splitbloom import Filter

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)

BATCH = 256  # links of a page that share a round trip
TIMEOUT = 1  # seconds for which the crawler, which does nothing else, waits for the server
PAUSE = 10  # seconds for which it then does not ask

_filters: WeakKeyDictionary[Crawler, DupeFilter] = WeakKeyDictionary()


class DupeFilter(RFPDupeFilter):
    """For DUPEFILTER_CLASS; also for SPIDER_MIDDLEWARES, to ask for the links of a page at once."""

    def __init__(self, crawler: Crawler) -> None:
        settings = crawler.settings
        debug = settings.getbool("DUPEFILTER_DEBUG")
        super().__init__(debug=debug, fingerprinter=crawler.request_fingerprinter)
        self.crawler = crawler
        self.server: Server | None = None
        self.filter: Filter | None = None
        self.path: Path | None = None
        self.answers: WeakKeyDictionary[Request, bool] = WeakKeyDictionary()
        capacity = settings.getint("SPLITBLOOM_CAPACITY", 1_000_000)
        error_rate = settings.getfloat("SPLITBLOOM_ERROR_RATE", 1e-6)
        without_server = settings.get("SPLITBLOOM_WITHOUT_SERVER", "stop")
        if without_server not in ("stop", "crawl"):
            text = f"SPLITBLOOM_WITHOUT_SERVER is stop or crawl, not {without_server!r}"
            raise ValueError(text)
        if url := settings.get("SPLITBLOOM_URL"):
            key = settings.get("SPLITBLOOM_KEY", "crawled")
            add = ("BF.INSERT", key, "CAPACITY", capacity, "ERROR", error_rate, "ITEMS")
            self.server = Server(self.connect(url), add)
        self.stops = without_server == "stop"
        if self.server is None or not self.stops:
            if folder := job_dir(settings):
                self.path = Path(folder, "requests.sbf")
            if self.path is not None and self.path.exists():
                self.filter = Filter.open(self.path)
            else:
                self.filter = Filter(capacity, error_rate)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> DupeFilter:
        """The crawler's filter, the same one for the scheduler and for the middlewares."""
        if crawler not in _filters:
            _filters[crawler] = cls(crawler)
        return _filters[crawler]

    def connect(self, url: str) -> Any:
        """A client that tries once: a second add would find what the first one has added."""
        import redis

        timeouts = {"socket_timeout": TIMEOUT, "socket_connect_timeout": TIMEOUT}
        return redis.Redis.from_url(url, **timeouts)

    def request_seen(self, request: Request) -> bool:
        is_new = self.answers.pop(request, None)
        return not (self.are_new([request])[0] if is_new is None else is_new)

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        async for outputs in batches(result):
            links = [it for it in outputs if isinstance(it, Request) and not it.dont_filter]
            for link, is_new in zip(links, self.are_new(links), strict=True):
                self.answers[link] = is_new or self.answers.get(link, False)  # yielded twice
            for output in outputs:
                yield output

    def are_new(self, requests: list[Request]) -> list[bool]:
        """Adds requests, and returns which are new to this process as well as to the server."""
        prints = [self.fingerprinter.fingerprint(request) for request in requests]
        new = [self.filter is None or self.filter.add(one) for one in prints]
        asked = [one for one, is_new in zip(prints, new, strict=True) if is_new]
        replies = iter(self.server.add(asked, self.stop) if self.server and asked else [])
        return [is_new and next(replies, 1) != 0 for is_new in new]

    def stop(self) -> None:
        if self.stops and self.crawler.engine is not None:
            closing = self.crawler.engine.close_spider_async(reason="no_duplicate_filter")
            deferred_from_coro(closing)

    def close(self, reason: str) -> None:
        _filters.pop(self.crawler, None)
        if self.filter is not None and self.path is not None:
            self.filter.save(self.path)


class Server:
    """A filter on a server, which may fail."""

    def __init__(self, db: Any, command: tuple[object, ...]) -> None:
        self.db, self.command, self.pause_ends = db, command, -math.inf

    def add(self, prints: list[bytes], fail: Callable[[], None]) -> list[Any]:
        """The replies, up to an error, after which it is not asked for a while."""
        replies: list[Any] = []
        if time.monotonic() >= self.pause_ends:
            try:
                replies = self.db.execute_command(*self.command, *prints)
                if isinstance(replies[-1], Exception):
                    raise replies.pop()
            except Exception as error:
                self.pause_ends = time.monotonic() + PAUSE
                logger.error("The server of the duplicate filter: %s", error)
                fail()
        return replies


async def batches(outputs: AsyncIterator[Any]) -> AsyncIterator[list[Any]]:
    """At most BATCH outputs at a time. Those before an error come before it."""
    end: Exception | None = None
    while end is None:
        batch: list[Any] = []
        try:
            while len(batch) < BATCH:
                batch.append(await anext(outputs))
        except Exception as error:  # also if there are no more
            end = error
        yield batch
    if not isinstance(end, StopAsyncIteration):
        raise end
