"""Products in a database behind a cache, with a filter of valid ids in front.

    python3 examples/recipes/guard.py redis://127.0.0.1:6379
"""
import sqlite3
import sys
import redis


class Products:
    def __init__(self, cache, table):
        self.cache, self.table, self.asked = cache, table, 0

    def fill(self):
        (rows,) = self.table.execute("SELECT count(*) FROM product").fetchone()
        self.cache.delete("ids:next")
        self.cache.execute_command("BF.RESERVE", "ids:next", 0.01, rows * 5 // 4)
        ids = self.table.execute("SELECT id FROM product")
        while batch := [id for (id,) in ids.fetchmany(1000)]:
            self.cache.execute_command("BF.INSERT", "ids:next", "NOCREATE", "ITEMS", *batch)
        self.cache.rename("ids:next", "ids")

    def find(self, id):
        try:
            known = self.cache.pipeline(transaction=False)
            known.get(f"row:{id}").exists(f"absent:{id}")
            known.execute_command("BF.PACKEXISTS", "ids", "LINES", id, "MUSTEXIST")
            name, is_absent, found = known.execute(raise_on_error=False)
        except redis.RedisError:
            return self.ask(id)  # no cache: fail open
        if name is not None or is_absent or found == b"\0":
            return name and name.decode()
        # Perhaps there is such a product; or `found` is the error NOFILTER, and fill() is due.
        name = self.ask(id)
        key, seconds = (f"row:{id}", 60) if name else (f"absent:{id}", 10)
        self.cache.set(key, name or "", ex=seconds)
        return name

    def ask(self, id):
        self.asked += 1
        row = self.table.execute("SELECT name FROM product WHERE id = ?", [id]).fetchone()
        return row and row[0]


cache = redis.Redis.from_url(sys.argv[1])
table = sqlite3.connect(":memory:")
table.execute("CREATE TABLE product (id INTEGER PRIMARY KEY, name TEXT)")
table.executemany("INSERT INTO product VALUES (?, ?)", ((n, f"product {n}") for n in range(10_000)))
products = Products(cache, table)
products.fill()
print("42:", products.find(42))
print("found:", sum(products.find(id) is not None for id in range(10_000, 20_000)))
print("few reached the database:", products.asked < 500)
cache.unlink("ids")
print("43, without the filter:", products.find(43))
