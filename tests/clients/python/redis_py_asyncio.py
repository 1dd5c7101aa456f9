"""redis-py with asyncio. Arguments: PORT PROTOCOL."""

import asyncio
import sys

import redis.asyncio


async def main(port, protocol):
    db = redis.asyncio.Redis(port=port, protocol=protocol)
    bf, cf, call = db.bf(), db.cf(), db.execute_command
    say("version", redis.__version__)
    say("reserve", ok(await bf.create("k", 0.01, 1000)))
    say("add", await bf.add("k", "a"), await bf.add("k", "a"))
    say("madd", *await bf.madd("k", "a", "b", "c"))
    say("exists", await bf.exists("k", "a"), await bf.exists("k", "z"))
    say("mexists", *await bf.mexists("k", "a", "z"))
    say("insert", *await bf.insert("i", ["x", "y"], capacity=1000, error=0.01))
    say("card", await bf.card("k"))
    say("capacity", (await bf.info("k"))[b"Capacity"])
    say("items", (await call("BF.INFO", "k", "ITEMS"))[b"Number of items inserted"])
    say("estimated", (await call("BF.INFO", "k", "FULL"))[b"Estimated items"])
    await bf.create("big", 0.000001, 1000)
    await bf.madd("big", *range(1000))
    iterator, loaded = 0, None
    while True:
        iterator, chunk = await bf.scandump("big", iterator)
        if iterator == 0:
            break
        loaded = await bf.loadchunk("copy", iterator, chunk)
    say("copy", ok(loaded), *await bf.mexists("copy", 0, 999, "z"))
    binary = b"\x00\xff\n"
    say("binary", await bf.add("k", binary), await bf.exists("k", binary), await bf.exists("k", binary[:2]))
    say("bits", (await call("BF.PACKADD", "p", "FIXED", 1, "abcdefgh", "BITS")).hex())
    window = await call("BF.RESERVE", "w", 0.01, 100, "WINDOW", 60)
    say("window", ok(window), await bf.add("w", "a"), await bf.add("w", "a"))
    await bf.create("n", 0.01, 2, noScale=True)
    *_, refused = await bf.madd("n", "a", "b", "c")
    assert isinstance(refused, redis.ResponseError), refused
    say("full", *await bf.mexists("n", "a", "b", "c"))
    created = ok(await cf.create("c", 100))
    counts = [await cf.add("c", "a"), await cf.add("c", "a"), await cf.count("c", "a")]
    say("counting", created, *counts, await cf.delete("c", "a"), await cf.count("c", "a"))
    say("deleted", (await cf.info("c"))[b"Number of items deleted"])
    try:
        await bf.create("k", 0.01, 1000)
    except redis.ResponseError as error:
        say("error", error)


def say(name, *values):
    print(f"{name}:", *(int(value) if isinstance(value, bool) else value for value in values))


def ok(reply):
    return "OK" if reply in (True, "OK", b"OK") else reply


asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
