"""The duplicate filter of docs/scrapy.md in crawls of a site, also while its server fails."""

import asyncio
import contextlib
import http.server
import re
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import redis
from conftest import Server
from redis.backoff import NoBackoff
from redis.retry import Retry
from scrapy import Request
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from splitbloom.scrapy import DupeFilter, batches

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/scrapy.md"
PROGRAM = ROOT / "examples/crawl.py"
KEY = "crawled"
# Pages of the site besides the first one, and links on each.
PAGES, LINKS = 80, 12


class Site(http.server.ThreadingHTTPServer):
    """Pages that link to each other in circles. Each is reached from the first one."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Page)
        self.fetched: Counter[str] = Counter()
        self.url = f"http://127.0.0.1:{self.server_port}/"

    def each_page_came_once(self) -> bool:
        return self.fetched == Counter(["/", *(f"/{n}" for n in range(PAGES))])


class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Site

    def do_GET(self) -> None:
        self.server.fetched[self.path] += 1
        first = int(self.path[1:] or 0) * 10
        links = [f"<a href='/{n % PAGES}'>" for n in range(first, first + LINKS)]
        body = "".join(links).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *words: object) -> None:
        pass


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        yield site
        site.shutdown()


def start(site: Site, *settings: str) -> "subprocess.Popen[str]":
    words = [sys.executable, str(PROGRAM), site.url, "CONCURRENT_REQUESTS_PER_DOMAIN=16"]
    return subprocess.Popen([*words, *settings], stdout=subprocess.PIPE, text=True)


def printed(crawl: "subprocess.Popen[str]") -> dict[str, str]:
    """The names and values that a crawl prints at its end."""
    output, _ = crawl.communicate(timeout=300)
    return dict(line.split(": ") for line in output.splitlines())


def crawl(site: Site, *settings: str) -> dict[str, str]:
    return printed(start(site, *settings))


WHOLE = {
    "pages": f"{PAGES + 1}",
    "duplicates": f"{(PAGES + 1) * LINKS - PAGES}",
    "finished": "finished",
}
OPTIONS = ["", "?protocol=2", "?protocol=3", "?protocol=2&decode_responses=True"]
OPTIONS += ["?protocol=3&decode_responses=True"]


def test_a_crawl_without_a_server_fetches_each_page_once(site: Site) -> None:
    assert crawl(site) == WHOLE and site.each_page_came_once()


@pytest.mark.parametrize("options", OPTIONS)
def test_a_crawl_with_a_server_asks_once_a_page(
    options: str, site: Site, server: Server, db: redis.Redis
) -> None:
    db.config_resetstat()
    assert crawl(site, f"SPLITBLOOM_URL=unix://{server.socket}{options}") == WHOLE
    assert site.each_page_came_once()
    assert db.execute_command("BF.CARD", KEY) == PAGES
    assert db.info("commandstats")["cmdstat_bf.insert"]["calls"] == PAGES + 1


def test_without_the_middleware_it_asks_once_a_link(
    site: Site, server: Server, db: redis.Redis
) -> None:
    db.config_resetstat()
    settings = [f"SPLITBLOOM_URL=unix://{server.socket}", "SPIDER_MIDDLEWARES={}"]
    assert crawl(site, *settings) == WHOLE and site.each_page_came_once()
    calls = db.info("commandstats")["cmdstat_bf.insert"]["calls"]
    assert calls == (PAGES + 1) * LINKS


def test_two_crawlers_with_one_server_fetch_each_page_once(
    site: Site, server: Server
) -> None:
    crawls = [start(site, f"SPLITBLOOM_URL=unix://{server.socket}") for _ in range(2)]
    ends = [printed(crawl) for crawl in crawls]
    assert sum(int(end["pages"]) for end in ends) == PAGES + 2
    assert site.fetched.pop("/") == 2, "a spider's first requests are not filtered"
    assert set(site.fetched.values()) == {1} and len(site.fetched) == PAGES


@pytest.mark.parametrize("with_server", [False, True])
def test_a_crawl_that_was_stopped_goes_on_without_fetching_twice(
    with_server: bool, site: Site, server: Server, tmp_path: Path
) -> None:
    settings = [f"JOBDIR={tmp_path}/job"]
    if with_server:
        settings += [f"SPLITBLOOM_URL=unix://{server.socket}", "SPLITBLOOM_WITHOUT_SERVER=crawl"]
    first = crawl(site, *settings, "CLOSESPIDER_PAGECOUNT=20")
    assert first["finished"] == "closespider_pagecount" and 20 <= int(first["pages"]) < PAGES
    second = crawl(site, *settings)
    assert second["finished"] == "finished"
    # The second run begins with the first page again.
    assert site.fetched.pop("/") == 2
    assert set(site.fetched.values()) == {1} and len(site.fetched) == PAGES


def test_a_saved_filter_that_is_damaged_stops_the_crawl(site: Site, tmp_path: Path) -> None:
    (tmp_path / "requests.sbf").write_bytes(b"no filter")
    assert crawl(site, f"JOBDIR={tmp_path}").get("pages", "0") == "0"
    assert (tmp_path / "requests.sbf").read_bytes() == b"no filter"


def test_a_setting_that_is_unknown_says_what_is_allowed(site: Site) -> None:
    words = [sys.executable, str(PROGRAM), site.url, "SPLITBLOOM_WITHOUT_SERVER=go"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert "SPLITBLOOM_WITHOUT_SERVER is stop or crawl, not 'go'" in done.stderr
    assert site.fetched == {}


def test_a_request_that_is_yielded_twice_is_fetched() -> None:
    dupe_filter = DupeFilter.from_crawler(get_crawler())
    request = Request("http://127.0.0.1/")

    async def outputs() -> AsyncIterator[Request]:
        yield request
        yield request

    async def seen() -> list[bool]:
        links = dupe_filter.process_spider_output(Response(request.url), outputs())
        return [dupe_filter.request_seen(link) async for link in links]

    assert asyncio.run(seen()) == [False, True]


def test_links_before_an_error_of_a_callback_come_before_it() -> None:
    async def callback() -> AsyncIterator[int]:
        for number in range(600):
            yield number
        raise ValueError("a page without a title")

    sizes = []

    async def read() -> None:
        async for batch in batches(callback()):
            sizes.append(len(batch))

    with pytest.raises(ValueError, match="title"):
        asyncio.run(read())
    assert sizes == [256, 256, 88]


DEMOTE = "REPLICAOF 127.0.0.1 1"
PROMOTE = "REPLICAOF NO ONE"
# What happens to the server, and what ends it.
FAULTS = {
    "OOM": (["CONFIG SET maxmemory 1"], ["CONFIG SET maxmemory 0"]),
    "READONLY": ([DEMOTE], [PROMOTE]),
    "MASTERDOWN": (
        ["CONFIG SET replica-serve-stale-data no", DEMOTE],
        [PROMOTE, "CONFIG SET replica-serve-stale-data yes"],
    ),
    "NOPERM": (["ACL SETUSER default -bf.insert"], ["ACL SETUSER default +@all"]),
    "WRONGTYPE": (["LPUSH crawled value"], ["DEL crawled"]),
}


def crawl_both_ways(site: Site, url: str) -> None:
    """One crawl stops. Another goes on without the server, and fetches nothing twice."""
    settings = [f"SPLITBLOOM_URL={url}"]
    stopped, end = start(site, *settings), start(site, *settings, "SPLITBLOOM_WITHOUT_SERVER=crawl")
    assert printed(stopped)["finished"] == "no_duplicate_filter"
    assert printed(end) == WHOLE


@pytest.mark.parametrize("fault", FAULTS)
def test_while_the_server_refuses_a_crawl_stops_or_goes_on(
    fault: str, site: Site, server: Server, db: redis.Redis
) -> None:
    begin, end = FAULTS[fault]
    try:
        for command in begin:
            db.execute_command(*command.split())
        crawl_both_ways(site, f"unix://{server.socket}")
    finally:
        for command in end:
            db.execute_command(*command.split())
    assert db.exists(KEY) == 0


def test_without_a_server_a_crawl_stops_or_goes_on(site: Site, tmp_path: Path) -> None:
    crawl_both_ways(site, f"unix://{tmp_path}/none")


def test_while_the_server_hangs_a_crawl_stops_or_goes_on(site: Site, tmp_path: Path) -> None:
    server = Server(tmp_path)
    server.process.send_signal(signal.SIGSTOP)
    try:
        crawl_both_ways(site, f"unix://{server.socket}")
    finally:
        server.stop()


def test_while_the_server_loads_a_crawl_stops_or_goes_on(site: Site, tmp_path: Path) -> None:
    server = Server(tmp_path)
    once = {"retry": Retry(NoBackoff(), 0), "socket_timeout": None}
    db, other = server.client(**once), server.client(**once)
    db.execute_command("DEBUG", "POPULATE", 30_000, "filler", 1024)
    # It waits at each key, and then serves its clients.
    db.config_set("loading-process-events-interval-bytes", 1024)
    db.config_set("key-load-delay", 5_000)

    def load() -> None:
        with contextlib.suppress(redis.ConnectionError):
            db.execute_command("DEBUG", "RELOAD")

    loading = threading.Thread(target=load)
    loading.start()
    try:
        with pytest.raises(redis.BusyLoadingError):
            while True:
                other.dbsize()
        crawl_both_ways(site, f"unix://{server.socket}")
        with pytest.raises(redis.BusyLoadingError):
            other.dbsize()
    finally:
        server.stop()
        loading.join()


class Relay:
    """Passes bytes on to a server. At an add it does so, and breaks off in place of the reply."""

    def __init__(self, server: Server, breaks: int) -> None:
        self.server, self.breaks = server, breaks
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=[client], daemon=True).start()

    def serve(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as upstream:
            upstream.connect(str(self.server.socket))
            while words := client.recv(1 << 20):
                upstream.sendall(words)
                reply = upstream.recv(1 << 20)
                if b"BF.INSERT" in words and self.breaks > 0:
                    self.breaks -= 1
                    return
                client.sendall(reply)


def test_a_page_whose_add_lost_its_reply_is_fetched(site: Site, server: Server) -> None:
    relay = Relay(server, breaks=1)
    settings = [f"SPLITBLOOM_URL={relay.url}", "SPLITBLOOM_WITHOUT_SERVER=crawl"]
    assert crawl(site, *settings) == WHOLE and relay.breaks == 0
    assert site.each_page_came_once()


def test_the_document_prints_what_it_shows(site: Site, server: Server) -> None:
    shown = re.search(r"\$ python3 examples/crawl.py [^\n]*\n(.*?)```", PAGE.read_text(), re.S)
    assert shown is not None
    end = crawl(site, f"SPLITBLOOM_URL=unix://{server.socket}")
    assert shown[1] == "".join(f"{name}: {value}\n" for name, value in end.items())
