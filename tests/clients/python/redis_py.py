"""redis-py, and valkey-py, its fork. Arguments: PORT LIBRARY PROTOCOL; - is the library's own choice."""

import importlib
import sys

library = importlib.import_module(sys.argv[2])
Client = getattr(library, sys.argv[2].capitalize())
choice = {} if sys.argv[3] == "-" else {"protocol": int(sys.argv[3])}
db = Client(port=int(sys.argv[1]), **choice)
bf, cf = db.bf(), db.cf()


def say(name, *values):
    print(f"{name}:", *(int(value) if isinstance(value, bool) else value for value in values))


def ok(reply):
    return "OK" if reply in (True, "OK", b"OK") else reply


say("version", library.__version__)
say("reserve", ok(bf.create("k", 0.01, 1000)))
say("add", bf.add("k", "a"), bf.add("k", "a"))
say("madd", *bf.madd("k", "a", "b", "c"))
say("exists", bf.exists("k", "a"), bf.exists("k", "z"))
say("mexists", *bf.mexists("k", "a", "z"))
say("insert", *bf.insert("i", ["x", "y"], capacity=1000, error=0.01))
# redis-py 4.3 has no helper for it
say("card", db.execute_command("BF.CARD", "k"))

info = bf.info("k")
in_resp3 = isinstance(info, dict)
say("capacity", info[b"Capacity"] if in_resp3 else info.capacity)

if not in_resp3:
    # With the helpers loaded, the library reads every reply to BF.INFO as five fields.
    assert not hasattr(db.execute_command("BF.INFO", "k", "FULL"), "fill")
    try:
        db.execute_command("BF.INFO", "k", "ITEMS")
        raise AssertionError("it is mended")
    except KeyError:
        say("mind", "info-has-five-fields")

plain = Client(connection_pool=db.connection_pool)
items = plain.execute_command("BF.INFO", "k", "ITEMS")
full = plain.execute_command("BF.INFO", "k", "FULL")
# redis-py 8 speaks RESP3 by default, and returns the helpers' replies as before.
if isinstance(full, list):
    full = dict(zip(full[::2], full[1::2]))
say("items", items[0] if isinstance(items, list) else items[b"Number of items inserted"])
say("estimated", full[b"Estimated items"])

bf.create("big", 0.000001, 1000)
bf.madd("big", *range(1000))
try:
    bf.scandump("big", 0)
except Exception as error:
    assert "hiredis" in str(error), error
    say("mind", "scandump-with-hiredis")
iterator, loaded = 0, True
while True:
    iterator, chunk = db.execute_command("BF.SCANDUMP", "big", iterator)
    if iterator == 0:
        break
    loaded = db.execute_command("BF.LOADCHUNK", "copy", iterator, chunk)
say("copy", ok(loaded), *bf.mexists("copy", 0, 999, "z"))

say("binary", bf.add("k", b"\x00\xff\n"), bf.exists("k", b"\x00\xff\n"), bf.exists("k", b"\x00\xff"))
say("bits", db.execute_command("BF.PACKADD", "p", "FIXED", 1, "abcdefgh", "BITS").hex())
window = db.execute_command("BF.RESERVE", "w", 0.01, 100, "WINDOW", 60)
say("window", ok(window), bf.add("w", "a"), bf.add("w", "a"))

bf.create("n", 0.01, 2, noScale=True)
*added, refused = bf.madd("n", "a", "b", "c")
assert isinstance(refused, library.ResponseError), refused
say("full", *bf.mexists("n", "a", "b", "c"))

say("counting", ok(cf.create("c", 100)), cf.add("c", "a"), cf.add("c", "a"), cf.count("c", "a"), cf.delete("c", "a"), cf.count("c", "a"))
deleted = cf.info("c")
say("deleted", deleted[b"Number of items deleted"] if in_resp3 else deleted.deletedNum)
try:
    bf.create("k", 0.01, 1000)
except library.ResponseError as error:
    say("error", error)
