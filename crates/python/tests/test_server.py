"""Filters that come from a server and go there."""

import sys
import threading
import time
from typing import Any

import pytest
import redis
import valkey
from conftest import Server

from splitbloom import CountingFilter, Filter, Follower, FormatError, KeyExistsError
from splitbloom._native import temporary_key

ITEMS = [f"user:{n}" for n in range(3_000)]


def digest(db: redis.Redis, key: str) -> Any:
    return db.execute_command("DEBUG", "DIGEST-VALUE", key)


@pytest.mark.parametrize("capacity", [1, 100, 1_000, 10_000])
@pytest.mark.parametrize("expansion", [0, 2, 4])
def test_the_same_adds_make_the_same_filter(
    db: redis.Redis, capacity: int, expansion: int
) -> None:
    items = ITEMS if expansion else ITEMS[: capacity // 2]
    filter = Filter(capacity, 0.001, seed=0x0123456789ABCDEF, expansion=expansion)
    options = ["EXPANSION", expansion, "SEED", "0123456789abcdef"]
    db.execute_command("BF.RESERVE", "there", "0.001", capacity, *options)
    for start in range(0, len(items), 500):
        new = db.bf().madd("there", *items[start : start + 500])
        assert filter.update(items[start : start + 500]) == sum(new)
    filter.push(db, "here")
    assert digest(db, "here") == digest(db, "there")
    pulled = Filter.pull(db, "there")
    assert pulled.dumps() == filter.dumps() and pulled.seed == filter.seed
    assert len(filter) == db.bf().card("there")


def test_the_same_adds_make_the_same_counting_filter(db: redis.Redis) -> None:
    db.execute_command("CF.RESERVE", "there", 1_000, "SEED", "00000000000000ff", "ERROR", "0.001")
    filter = CountingFilter(1_000, 0.001, seed=255)
    filter.update(ITEMS)
    db.cf().insert("there", ITEMS)
    for item in ITEMS[::3]:
        assert filter.remove(item) and db.cf().delete("there", item)
        assert filter.add_if_absent(item) == db.cf().addnx("there", item)
    filter.push(db, "here")
    assert digest(db, "here") == digest(db, "there")
    assert CountingFilter.pull(db, "there").dumps() == filter.dumps()


@pytest.mark.parametrize("library", [redis.Redis, valkey.Valkey])
@pytest.mark.parametrize("protocol", [2, 3])
@pytest.mark.parametrize("decodes", [False, True])
def test_any_connection_will_do(
    server: Server, library: Any, protocol: int, decodes: bool
) -> None:
    path = str(server.socket)
    db = library(unix_socket_path=path, protocol=protocol, decode_responses=decodes)
    for kind in (Filter, CountingFilter):
        filter = kind(500_000, 0.001)
        filter.update(ITEMS)
        key = "Schlüssel" if decodes else b"\xff\x00"
        filter.push(db, key, replace=True)
        assert kind.pull(db, key).dumps() == filter.dumps()
        assert db.ttl(key) == -1 and len(db.keys()) == 1


def test_a_large_filter_goes_in_chunks_of_a_mebibyte(db: redis.Redis) -> None:
    filter = Filter(5_000_000)
    filter.update(range(1_000_000))
    chunks, iterator = [], 0
    while (chunk := filter._chunk(iterator)) is not None:
        iterator, data = chunk
        chunks.append(data)
    assert len(chunks) > 5 and max(map(len, chunks)) <= 1 << 20
    filter.push(db, "large")
    assert Filter.pull(db, "large").dumps() == filter.dumps()


def test_a_key_that_exists_is_replaced_only_on_request(db: redis.Redis) -> None:
    filter = Filter(100)
    db.set("key", "value")
    with pytest.raises(KeyExistsError, match="'key' exists already: replace=True"):
        filter.push(db, "key")
    assert db.get("key") == b"value" and db.keys() == [b"key"]
    filter.push(db, "key", replace=True)
    assert db.type("key") == b"MBbloom--" and db.ttl("key") == -1


@pytest.mark.parametrize("key", [5, 5.0, None, True, ["key"], bytearray(b"key"), memoryview(b"k")])
def test_a_key_is_text_or_bytes(db: redis.Redis, key: Any) -> None:
    for call in (Filter(10).push, CountingFilter(10).push, Filter.pull, CountingFilter.pull):
        with pytest.raises(TypeError, match="a key is a str or bytes, not "):
            call(db, key)
    with pytest.raises(TypeError, match="a key is a str or bytes, not "):
        Follower("redis://127.0.0.1:1", key)
    assert db.keys() == []


class Hindrance:
    """A connection on which something happens before a certain command."""

    def __init__(self, db: redis.Redis, command: str, happen: Any) -> None:
        self.db, self.command, self.happen = db, command, happen

    def execute_command(self, *words: Any, **options: Any) -> Any:
        if words[0] == self.command:
            self.happen()
        return self.db.execute_command(*words, **options)

    def pipeline(self, transaction: bool) -> Any:
        pipeline = self.db.pipeline(transaction=transaction)
        execute = pipeline.execute_command

        def observed(*words: Any, **options: Any) -> Any:
            if words[0] == self.command:
                self.happen()
            return execute(*words, **options)

        pipeline.execute_command = observed  # type: ignore[method-assign]
        return pipeline


def test_a_key_that_appears_meanwhile_is_kept(db: redis.Redis) -> None:
    connection = Hindrance(db, "RENAMENX", lambda: db.set("key", "theirs"))
    with pytest.raises(KeyExistsError):
        Filter(100).push(connection, "key")
    assert db.get("key") == b"theirs" and db.keys() == [b"key"]


def test_a_push_that_fails_leaves_nothing(db: redis.Redis) -> None:
    filter = Filter(5_000_000)
    filter.update(range(1_000_000))
    left = 3

    def fail() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            (temporary,) = db.keys()
            assert 0 < db.ttl(temporary) <= 3_600
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        filter.push(Hindrance(db, "BF.LOADCHUNK", fail), "key")
    assert db.keys() == []


def test_a_filter_changes_while_it_is_pushed(db: redis.Redis) -> None:
    filter = Filter(5_000_000)
    filter.update(range(1_000_000))
    before = filter.dumps()
    connection = Hindrance(db, "BF.LOADCHUNK", lambda: filter.update(ITEMS))
    filter.push(connection, "key")
    assert Filter.pull(db, "key").dumps() == before != filter.dumps()


def test_a_key_without_a_filter_of_the_class_is_refused(db: redis.Redis) -> None:
    db.set("text", "value")
    db.cf().create("counting", 100)
    db.execute_command("BF.RESERVE", "window", "0.01", 100, "WINDOW", 3600)
    for key in ("text", "missing", "counting"):
        with pytest.raises(redis.ResponseError):
            Filter.pull(db, key)
    with pytest.raises(FormatError, match="forgets"):
        Filter.pull(db, "window")


def test_a_filter_of_which_a_part_is_loaded_is_refused(db: redis.Redis) -> None:
    filter = Filter(5_000_000)
    filter.update(range(1_000_000))
    chunk = filter._chunk(0)
    assert chunk is not None
    db.execute_command("BF.LOADCHUNK", "part", *chunk)
    with pytest.raises(FormatError, match="load has not ended"):
        Filter.pull(db, "part")


@pytest.mark.parametrize("of", ["chunk", "key"])
def test_a_push_computes_without_the_interpreters_lock(of: str) -> None:
    filter, turns, is_over = Filter(1_000_000), 0, False
    filter.update(range(1_000_000))
    computes = {"chunk": lambda: filter._chunk(0), "key": lambda: temporary_key(b"key")}

    def take_turns() -> None:
        nonlocal turns
        while not is_over:
            turns += 1
            time.sleep(0)

    interval, thread = sys.getswitchinterval(), threading.Thread(target=take_turns)
    sys.setswitchinterval(3_600)  # the other thread has a turn only if this one gives it
    try:
        thread.start()
        begun, calls = turns, 0
        while turns == begun and calls < 1_000:
            computes[of]()
            calls += 1
        assert turns > begun
    finally:
        is_over = True
        sys.setswitchinterval(interval)
        thread.join()


def test_a_connection_of_asyncio_is_refused(server: Server) -> None:
    import redis.asyncio

    db = redis.asyncio.Redis(unix_socket_path=str(server.socket))
    with pytest.raises(TypeError, match="asyncio"):
        Filter(100).push(db, "key")
    with pytest.raises(TypeError, match="asyncio"):
        Filter.pull(db, "key")


def test_a_user_with_a_password_needs_nothing_else(db: redis.Redis, server: Server) -> None:
    db.execute_command("ACL", "SETUSER", "app", "on", ">secret", "~key*", "+@all")
    app = server.client(username="app", password="secret")
    filter = Filter(100)
    filter.push(app, "key")
    assert Filter.pull(app, "key").dumps() == filter.dumps()
