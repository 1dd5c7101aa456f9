"""What a crawler's memory of its pages takes: crawls of a site on this machine, with each filter.

Argument: PAGES, also the capacity of filters. A set in the process is measured object by object, a filter there by its own
account, a value on a server by MEMORY USAGE.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import redis
import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.dupefilters import RFPDupeFilter

import splitbloom.scrapy

HERE = Path(__file__).parent
ADDS = ("cmdstat_sadd", "cmdstat_bf.insert")


class OwnSet(RFPDupeFilter):
    def close(self, reason: str) -> None:
        prints = self._fingerprints
        print("bytes:", sys.getsizeof(prints) + sum(map(sys.getsizeof, prints)))


class Ours(splitbloom.scrapy.DupeFilter):
    def close(self, reason: str) -> None:
        in_process = self.filter is not None and self.filter.nbytes
        print("bytes:", in_process or self.server.db.memory_usage("crawled"))
        super().close(reason)


def of_scrapy_redis() -> type:
    from scrapy_redis.dupefilter import RFPDupeFilter

    class SharedSet(RFPDupeFilter):
        def close(self, reason: str = "") -> None:
            print("bytes:", self.server.memory_usage(self.key, samples=0))
            super().close(reason)

    return SharedSet


# The name of a row, and its settings, given the URL of a server.
ROWS: dict[str, Any] = {
    "Scrapy's own, a set": lambda url: {"DUPEFILTER_CLASS": OwnSet},
    "splitbloom": lambda url: {"DUPEFILTER_CLASS": Ours},
    "scrapy-redis, a set on a server": lambda url: {
        "DUPEFILTER_CLASS": of_scrapy_redis(),
        "REDIS_URL": url,
    },
    "splitbloom on a server": lambda url: {"DUPEFILTER_CLASS": Ours, "SPLITBLOOM_URL": url},
    "the same, asking once a page": lambda url: {
        "DUPEFILTER_CLASS": Ours,
        "SPIDER_MIDDLEWARES": {Ours: 0},
        "SPLITBLOOM_URL": url,
    },
}


class Pages(scrapy.Spider):
    name = "pages"

    def parse(self, response: Any) -> Any:
        yield from response.follow_all(css="a")


def crawl(row: str, site: str, url: str, pages: str) -> None:
    settings = {"LOG_LEVEL": "ERROR", "CONCURRENT_REQUESTS_PER_DOMAIN": 16, "DOWNLOAD_DELAY": 0}
    settings["SPLITBLOOM_CAPACITY"] = int(pages)
    process = CrawlerProcess(settings | ROWS[row](url))
    crawler = process.create_crawler(Pages)
    process.crawl(crawler, start_urls=[site])
    process.start()
    print("pages:", crawler.stats.get_value("response_received_count"))


def measure(row: str, site: str, url: str, pages: str, db: redis.Redis) -> str:
    """A row of the table. The crawl has a process of its own: a reactor runs only once."""
    db.flushall()
    db.config_resetstat()
    words = [sys.executable, __file__, row, site, url, pages]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    values = dict(line.split(": ") for line in done.stdout.splitlines())
    stats = db.info("commandstats")
    trips = sum(stats[name]["calls"] for name in stats if name in ADDS)
    fetched, taken = int(values["pages"]), int(values["bytes"])
    return f"| {row} | {fetched} | {taken} | {taken / fetched:.1f} | {trips or '-'} |"


def main(pages: str) -> None:
    words = [sys.executable, str(HERE / "site.py"), pages]
    site = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert site.stdout is not None
    address = f"http://127.0.0.1:{site.stdout.readline().strip()}/"
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "socket"))
        words = [os.environ["SPLITBLOOM_SERVER"], "--port", "0", "--unixsocket", path]
        words += ["--save", "", "--loadmodule", os.environ["SPLITBLOOM_MODULE"]]
        server = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        try:
            while not Path(path).exists():
                time.sleep(0.01)
            print("| duplicate filter | pages | bytes | bytes a page | round trips |")
            print("| --- | --- | --- | --- | --- |", flush=True)
            for row in ROWS:
                db = redis.Redis(unix_socket_path=path)
                print(measure(row, address, f"unix://{path}", pages, db), flush=True)
        finally:
            server.kill()
            site.kill()


if len(sys.argv) == 2:
    main(sys.argv[1])
else:
    crawl(*sys.argv[1:])
