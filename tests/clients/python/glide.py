"""valkey-glide's client without asyncio. Argument: PORT.

The other clients without helpers for these commands are used in the same way: a command is a list
of strings. This program sends one such list for each line of the script.
"""

import sys
from importlib.metadata import version

import glide_sync
from glide_sync import GlideClient, GlideClientConfiguration, NodeAddress

address = NodeAddress("127.0.0.1", int(sys.argv[1]))
db = GlideClient.create(GlideClientConfiguration([address]))


def call(*words):
    return db.custom_command([word if isinstance(word, bytes) else str(word) for word in words])


def say(name, *values):
    print(f"{name}:", *(text(value) for value in values))


def text(value):
    return value.decode() if isinstance(value, bytes) else int(value) if isinstance(value, bool) else value


say("version", version("valkey-glide-sync"))
say("reserve", call("BF.RESERVE", "k", 0.01, 1000))
say("add", call("BF.ADD", "k", "a"), call("BF.ADD", "k", "a"))
say("madd", *call("BF.MADD", "k", "a", "b", "c"))
say("exists", call("BF.EXISTS", "k", "a"), call("BF.EXISTS", "k", "z"))
say("mexists", *call("BF.MEXISTS", "k", "a", "z"))
say("insert", *call("BF.INSERT", "i", "CAPACITY", 1000, "ERROR", 0.01, "ITEMS", "x", "y"))
say("card", call("BF.CARD", "k"))
say("capacity", call("BF.INFO", "k")[b"Capacity"])
say("items", call("BF.INFO", "k", "ITEMS")[b"Number of items inserted"])
say("estimated", call("BF.INFO", "k", "FULL")[b"Estimated items"])

call("BF.RESERVE", "big", 0.000001, 1000)
call("BF.MADD", "big", *range(1000))
iterator, loaded = 0, None
while True:
    iterator, chunk = call("BF.SCANDUMP", "big", iterator)
    if iterator == 0:
        break
    loaded = call("BF.LOADCHUNK", "copy", iterator, chunk)
say("copy", loaded, *call("BF.MEXISTS", "copy", 0, 999, "z"))

binary = b"\x00\xff\n"
say("binary", call("BF.ADD", "k", binary), call("BF.EXISTS", "k", binary), call("BF.EXISTS", "k", binary[:2]))
say("bits", call("BF.PACKADD", "p", "FIXED", 1, "abcdefgh", "BITS").hex())
window = call("BF.RESERVE", "w", 0.01, 100, "WINDOW", 60)
say("window", window, call("BF.ADD", "w", "a"), call("BF.ADD", "w", "a"))

call("BF.RESERVE", "n", 0.01, 2, "NONSCALING")
try:
    print(call("BF.MADD", "n", "a", "b", "c"), file=sys.stderr)
except glide_sync.RequestError:
    say("mind", "an-error-among-the-replies")
say("full", *call("BF.MEXISTS", "n", "a", "b", "c"))

counts = [call("CF.RESERVE", "c", 100), call("CF.ADD", "c", "a"), call("CF.ADD", "c", "a"), call("CF.COUNT", "c", "a")]
say("counting", *counts, call("CF.DEL", "c", "a"), call("CF.COUNT", "c", "a"))
say("deleted", call("CF.INFO", "c")[b"Number of items deleted"])
try:
    call("BF.RESERVE", "k", 0.01, 1000)
except glide_sync.RequestError as error:
    say("error", str(error).split(": ")[-1])
