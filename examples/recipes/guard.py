"""Products in a database behind a cache, with a filter of valid ids in front.

    python3 examples/recipes/guard.py redis://127.0.0.1:6379
"""
import sqlite3
import sys
import redis
from fail_open import FailOpen
from rebuild import rebuild


class Products:
    def __init__(self, url, table):
        self.cache, self.table, self.queries = FailOpen(url), table, 0

    def fill(self):
        """Replaces the filter, at first and after a loss; False if another process does."""
        ids = lambda: (id for (id,) in self.table.execute("SELECT id FROM product"))
        return rebuild(self.cache.db, "ids", 0.01, 12_500, ids)  # it grows if there are more

    def find(self, id):
        item = id.encode()
        name, proof, found = self.cache.ask(
            ("GET", f"row:{id}"),
            ("GET", f"absent:{id}"),
            ("BF.PACKEXISTS", "ids", "FIXED", len(item), item, "MUSTEXIST"),
        )
        if name is not None:
            return name.decode()
        if proof is not None or found == b"\0":
            return None
        # Perhaps there is such a product; or there is no filter or no cache.
        self.queries += 1
        row = self.table.execute("SELECT name FROM product WHERE id = ?", [id]).fetchone()
        known = (f"row:{id}", *row, "EX", 60) if row else (f"absent:{id}", "", "EX", 10)
        self.cache.ask(("SET", *known))
        return row and row[0]


table = sqlite3.connect(":memory:")
table.execute("CREATE TABLE product (id TEXT PRIMARY KEY, name TEXT)")
rows = [(f"{n}", f"product {n}") for n in range(10_000)] + [("4\n2", "two lines")]
table.executemany("INSERT INTO product VALUES (?, ?)", rows)
products = Products(sys.argv[1], table)
try:
    products.fill()
except redis.RedisError as error:
    print("the filter is as it was:", error, file=sys.stderr)
print("42:", products.find("42"), "/ an id of two lines:", products.find("4\n2"))
print("found:", sum(products.find(f"{n}\n{n}") is not None for n in range(1_000)))
print("few reached the database:", products.queries < 50)
