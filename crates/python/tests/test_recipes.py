"""The recipes with followers print what their pages show, and deny nothing when the server fails."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import redis
from conftest import Server

ROOT = Path(__file__).parents[3]


PAGES = ["docs/recipes/local.md", "docs/recipes/local-guard.md"]


def shown(page: str) -> str:
    program = f"examples/recipes/{Path(page).stem}.py"
    text = (ROOT / page).read_text()
    found = re.search(rf"\$ python3 {program} [^\n]*\n(.*?)```", text, re.DOTALL)
    assert found is not None
    return found[1]


def run(page: str, url: str) -> "subprocess.CompletedProcess[str]":
    program = f"examples/recipes/{Path(page).stem}.py"
    command = [sys.executable, program, url]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("options", ["", "?protocol=2", "?protocol=3&decode_responses=True"])
@pytest.mark.parametrize("page", PAGES)
def test_a_recipe_prints_what_its_page_shows(page: str, options: str, server: Server) -> None:
    printed = run(page, f"unix://{server.socket}{options}")
    assert printed.stdout == shown(page), printed.stderr


DEMOTE = "REPLICAOF 127.0.0.1 1"
PROMOTE = "REPLICAOF NO ONE"
FAULTS = {
    "OOM": (["CONFIG SET maxmemory 1"], ["CONFIG SET maxmemory 0"]),
    "READONLY": ([DEMOTE], [PROMOTE]),
    "MASTERDOWN": (
        ["CONFIG SET replica-serve-stale-data no", DEMOTE],
        [PROMOTE, "CONFIG SET replica-serve-stale-data yes"],
    ),
    "NOPERM": (["ACL SETUSER default -@all +@connection +acl"], ["ACL SETUSER default +@all"]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_guard_denies_nothing_and_a_list_stays_while_the_server_fails(
    fault: str, server: Server, db: redis.Redis
) -> None:
    for page in PAGES:
        assert run(page, f"unix://{server.socket}").stdout == shown(page)
    before = db.execute_command("DEBUG", "DIGEST")
    begin, end = FAULTS[fault]
    try:
        for command in begin:
            db.execute_command(*command.split())
        programs = [run(page, f"unix://{server.socket}") for page in PAGES]
    finally:
        for command in end:
            db.execute_command(*command.split())
    for page, program in zip(PAGES, programs, strict=True):
        assert program.returncode != 0 and shown(page).startswith(program.stdout), program.stderr
    assert "found: 10000" in programs[1].stdout
    assert db.execute_command("DEBUG", "DIGEST") == before


def test_a_guard_without_a_server_denies_nothing() -> None:
    printed = run(PAGES[1], "redis://127.0.0.1:1").stdout
    assert "found: 10000" in printed and shown(PAGES[1]).startswith(printed)
