"""Filters on a cluster of two nodes, through the cluster clients of both libraries."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
import valkey

from splitbloom import CountingFilter, Filter, KeyExistsError


def free_port() -> int:
    """A port that is free, and so is the one of the cluster's bus, 10000 above it."""
    while True:
        with socket.socket() as one, socket.socket() as bus:
            one.bind(("127.0.0.1", 0))
            port: int = one.getsockname()[1]
            try:
                bus.bind(("127.0.0.1", port + 10_000))
            except (OSError, OverflowError):
                continue
            return port


class Node:
    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        while True:
            self.port = free_port()
            self.process = subprocess.Popen(
                [os.environ["SPLITBLOOM_SERVER"], "--port", str(self.port), "--bind", "127.0.0.1"]
                + ["--cluster-enabled", "yes", "--save", "", "--dir", str(folder)]
                + ["--logfile", "log", "--loadmodule", os.environ["SPLITBLOOM_MODULE"]]
            )
            self.db = redis.Redis(port=self.port)
            while self.process.poll() is None:
                try:
                    if self.db.info("server")["process_id"] == self.process.pid:
                        return
                    break
                except redis.ConnectionError:
                    time.sleep(0.01)
            # Somebody else has taken the port.


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Node]]:
    folder = tmp_path_factory.mktemp("cluster")
    nodes = [Node(folder / name) for name in ("one", "two")]
    for node, slots in zip(nodes, [(0, 8_191), (8_192, 16_383)]):
        node.db.execute_command("CLUSTER", "ADDSLOTSRANGE", *slots)
    nodes[0].db.execute_command("CLUSTER", "MEET", "127.0.0.1", nodes[1].port)
    while not all(is_whole(node) for node in nodes):
        time.sleep(0.05)
    yield nodes
    for node in nodes:
        node.process.kill()
        node.process.wait()


def is_whole(node: Node) -> bool:
    info = node.db.execute_command("CLUSTER", "INFO")
    return b"cluster_state:ok" in info and b"cluster_known_nodes:2" in info


def keys(nodes: list[Node]) -> set[bytes]:
    return {key for node in nodes for key in node.db.keys()}


@pytest.mark.parametrize("decodes", [False, True])
def test_a_filter_goes_to_the_node_of_its_key(nodes: list[Node], decodes: bool) -> None:
    db = redis.RedisCluster("127.0.0.1", nodes[0].port, decode_responses=decodes)
    for kind in (Filter, CountingFilter):
        filter: Any = kind(1_000_000)
        filter.update(range(10_000))
        for key in ("a", "b", "c", "{tag}:d", "e{f", "{}g"):
            filter.push(db, key, replace=True)
            with pytest.raises(KeyExistsError):
                filter.push(db, key)
            assert kind.pull(db, key).dumps() == filter.dumps()
    assert keys(nodes) == {b"a", b"b", b"c", b"{tag}:d", b"e{f", b"{}g"}
    assert all(node.db.dbsize() for node in nodes)


def test_without_transactions_a_push_ends_before_it_has_begun(nodes: list[Node]) -> None:
    db = valkey.ValkeyCluster("127.0.0.1", nodes[0].port)
    before = keys(nodes)
    with pytest.raises(valkey.exceptions.ValkeyClusterException, match="transaction"):
        Filter(100).push(db, "other")
    assert keys(nodes) == before
    filter = Filter(1_000)
    filter.push(db.get_valkey_connection(db.get_node_from_key("other")), "other")
    assert Filter.pull(db, "other").dumps() == filter.dumps()


def test_the_recipe_of_a_feed_runs_on_a_cluster(nodes: list[Node]) -> None:
    """With the change that its page names."""
    program = """
import redis, runpy
redis.Redis = redis.RedisCluster
runpy.run_path("examples/recipes/feed.py")
"""
    root = Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONPATH": str(root / "examples/recipes")}
    words = [sys.executable, "-c", program, f"redis://127.0.0.1:{nodes[0].port}"]
    done = subprocess.run(words, cwd=root, env=environment, capture_output=True, text=True)
    assert done.stdout.endswith("shown twice: 0\n"), done.stdout + done.stderr
