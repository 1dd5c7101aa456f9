"""Crawls a site with a duplicate filter of splitbloom.

    python3 examples/crawl.py http://127.0.0.1:8000/ NAME=VALUE...

with settings such as SPLITBLOOM_URL=redis://127.0.0.1:6379.
"""

import sys

import scrapy
from scrapy.crawler import CrawlerProcess

FILTER = "splitbloom.scrapy.DupeFilter"
SETTINGS = {
    "DUPEFILTER_CLASS": FILTER,
    "SPIDER_MIDDLEWARES": {FILTER: 0},  # the last one before the scheduler
    "LOG_LEVEL": "ERROR",
}


class Pages(scrapy.Spider):
    name = "pages"

    def parse(self, response):
        yield from response.follow_all(css="a")


process = CrawlerProcess(SETTINGS | dict(word.split("=", 1) for word in sys.argv[2:]))
crawler = process.create_crawler(Pages)
process.crawl(crawler, start_urls=[sys.argv[1]])
process.start()
stats = crawler.stats
print("pages:", stats.get_value("response_received_count", 0))
print("duplicates:", stats.get_value("dupefilter/filtered", 0))
print("finished:", stats.get_value("finish_reason"))
