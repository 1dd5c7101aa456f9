"""The Python blocks of docs/python.md, and of the package itself, print what they show."""

import doctest
import re
from pathlib import Path
from typing import Any

import pytest
import redis
from conftest import Server

import splitbloom

DOCUMENT = Path(__file__).parents[3] / "docs/python.md"


def run(name: str, text: str) -> None:
    example = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    assert example.examples
    failed, _ = doctest.DocTestRunner(verbose=False).run(example)
    assert failed == 0


def test_the_document_prints_what_it_shows(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Local(redis.Redis):
        def __init__(self, **options: Any) -> None:
            super().__init__(unix_socket_path=str(server.socket), protocol=2, **options)

    monkeypatch.setattr(redis, "Redis", Local)
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    text = "\n".join(blocks).replace("redis://127.0.0.1:6379", f"unix://{server.socket}")
    run("docs/python.md", text)


def test_the_package_prints_what_it_shows() -> None:
    run("splitbloom", splitbloom.__doc__ or "")
