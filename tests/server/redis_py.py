"""The Bloom and cuckoo commands of redis-py on a local server. Arguments: PORT [PROTOCOL]."""

import sys

import redis


def main(port, **protocol):
    db = redis.Redis(host="127.0.0.1", port=port, **protocol)
    bloom = db.bf()
    adds_and_looks_up(bloom)
    inserts_with_options(bloom)
    reads_info(bloom)
    dumps_and_loads(bloom)
    works_in_a_pipeline(db)
    counts_and_deletes(db.cf())
    refuses_when_full(db.cf())
    reads_info_of_a_counting_filter(db.cf())


def adds_and_looks_up(bloom):
    assert bloom.create("k", 0.01, 1000) in (True, b"OK", "OK")
    assert bloom.add("k", "a") == 1
    assert bloom.add("k", "a") == 0
    assert bloom.madd("k", "a", "b", "c") == [0, 1, 1]
    assert bloom.exists("k", "b") == 1
    assert bloom.exists("k", "z") == 0
    assert bloom.exists("missing", "b") == 0
    assert bloom.mexists("k", "c", "d") == [1, 0]
    assert bloom.card("k") == 3
    assert bloom.card("missing") == 0
    refuses(lambda: bloom.reserve("k", 0.01, 1000), "exists")


def inserts_with_options(bloom):
    assert bloom.insert("inserted", ["a", "b"]) == [1, 1]
    assert bloom.insert("inserted", ["b", "c"], noCreate=True) == [0, 1]
    assert bloom.insert("strict", ["a", "b"], capacity=2, error=1e-6, noScale=True) == [1, 1]
    refuses(lambda: bloom.add("strict", "c"), "full")
    *kept, refused = bloom.madd("strict", "a", "c", "d")
    assert kept == [0] and "full" in str(refused), (kept, refused)
    refuses(lambda: bloom.insert("missing", ["a"], noCreate=True), "not found")


def reads_info(bloom):
    bloom.reserve("told", 0.01, 500, expansion=4)
    bloom.add("told", "a")
    info = bloom.info("told")
    assert field(info, "capacity", b"Capacity") == 500
    assert field(info, "filterNum", b"Number of filters") == 1
    assert field(info, "insertedNum", b"Number of items inserted") == 1
    assert field(info, "expansionRate", b"Expansion rate") == 4
    assert field(info, "size", b"Size") > 0
    bloom.reserve("fixed", 0.01, 500, noScale=True)
    assert field(bloom.info("fixed"), "expansionRate", b"Expansion rate") is None
    refuses(lambda: bloom.info("missing"), "not found")
    if not isinstance(info, dict):
        reads_every_reply_as_five_fields(bloom)


def reads_every_reply_as_five_fields(bloom):
    """What docs/clients.md says of redis-py's default client."""
    try:
        bloom.execute_command("BF.INFO", "told", "ITEMS")
    except KeyError:
        return
    raise AssertionError("redis-py has been mended")


def field(info, attribute, name):
    """redis-py returns an object in RESP2 and the map itself in RESP3."""
    return info[name] if isinstance(info, dict) else info.get(attribute)


def dumps_and_loads(bloom):
    bloom.reserve("dumped", 0.01, 1000)
    bloom.madd("dumped", *range(5000))
    iterator = 0
    while True:
        iterator, chunk = bloom.scandump("dumped", iterator)
        if iterator == 0:
            break
        assert bloom.loadchunk("loaded", iterator, chunk) in (True, b"OK", "OK")
    assert all(bloom.mexists("loaded", *range(5000)))
    assert bloom.card("loaded") == bloom.card("dumped")
    # redis-py's own test of these commands compares the two like this.
    told = [bloom.execute_command("BF.DEBUG", key) for key in ("dumped", "loaded")]
    assert told[0] == told[1] and len(told[0]) > 2, told


def works_in_a_pipeline(db):
    with db.pipeline() as pipeline:
        pipeline.bf().add("piped", "a")
        pipeline.bf().exists("piped", "a")
        assert pipeline.execute() == [1, 1]


def counts_and_deletes(cuckoo):
    assert cuckoo.create("counted", 1000) in (True, b"OK", "OK")
    refuses(lambda: cuckoo.reserve("counted", 1000), "exists")
    assert cuckoo.add("counted", "a") == 1
    assert cuckoo.add("counted", "a") == 1
    assert cuckoo.addnx("counted", "a") == 0
    assert cuckoo.addnx("counted", "b") == 1
    assert cuckoo.count("counted", "a") == 2
    assert cuckoo.count("missing", "a") == 0
    assert cuckoo.exists("counted", "a") == 1
    assert cuckoo.mexists("counted", "a", "z") == [1, 0]
    assert cuckoo.delete("counted", "a") == 1
    assert cuckoo.delete("counted", "z") == 0
    assert cuckoo.count("counted", "a") == 1
    refuses(lambda: cuckoo.delete("missing", "a"), "Not found")
    # redis-py's own test of these commands.
    assert cuckoo.insert("captest", ["foo"]) == [1]
    assert cuckoo.insert("captest", ["foo"], capacity=1000) == [1]
    assert cuckoo.insertnx("captest", ["bar"]) == [1]
    assert cuckoo.insertnx("captest", ["food"], nocreate="1") == [1]
    assert cuckoo.insertnx("captest", ["foo", "bar", "baz"]) == [0, 0, 1]
    assert cuckoo.insertnx("captest", ["bar"], capacity=1000) == [0]
    refuses(lambda: cuckoo.insert("missing", ["a"], nocreate=True), "not found")


def refuses_when_full(cuckoo):
    cuckoo.create("narrow", 2, expansion=0)
    assert cuckoo.insertnx("narrow", ["a", "b", "c", "a"]) == [1, 1, -1, 0]
    refuses(lambda: cuckoo.add("narrow", "c"), "full")


def reads_info_of_a_counting_filter(cuckoo):
    cuckoo.create("described", 1000, expansion=3, bucket_size=4, max_iterations=500)
    cuckoo.insert("described", ["a", "a", "b"])
    cuckoo.delete("described", "b")
    info = cuckoo.info("described")
    assert field(info, "insertedNum", b"Number of items inserted") == 2
    assert field(info, "deletedNum", b"Number of items deleted") == 1
    assert field(info, "filterNum", b"Number of filters") == 1
    assert field(info, "bucketNum", b"Number of buckets") == 256
    assert field(info, "bucketSize", b"Bucket size") == 4
    assert field(info, "expansionRate", b"Expansion rate") == 3
    assert field(info, "maxIteration", b"Max iterations") == 500
    assert field(info, "size", b"Size") > 0
    refuses(lambda: cuckoo.info("missing"), "not found")


def refuses(call, words):
    try:
        answer = call()
    except redis.ResponseError as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"{answer!r}, though {words!r} was expected")


main(int(sys.argv[1]), **{"protocol": int(protocol) for protocol in sys.argv[2:]})
