"""Files of filters, and files of lines."""

import json
import os
import re
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from splitbloom import CountingFilter, Filter, FormatError

SEED = 0x0123456789ABCDEF


def run(tool: Path, *words: Any) -> str:
    return subprocess.run([tool, *map(str, words)], check=True, text=True, capture_output=True).stdout


@pytest.mark.parametrize("capacity", [100, 5_000, 20_000])
def test_the_tool_and_the_package_write_the_same_file(
    tool: Path, tmp_path: Path, capacity: int
) -> None:
    lines, theirs, ours = (tmp_path / name for name in ("lines", "theirs.sbf", "ours.sbf"))
    lines.write_text("".join(f"https://example.org/{n}\n" for n in range(10_000)))
    options = ["--capacity", capacity, "--seed", f"{SEED:016x}", "--error", "0.001"]
    run(tool, "build", lines, "-o", theirs, *options)
    filter = Filter(capacity, 0.001, seed=SEED)
    filter.update_lines(lines)
    filter.save(ours)
    assert ours.read_bytes() == theirs.read_bytes() == filter.dumps()
    opened = Filter.open(theirs)
    assert (len(opened), opened.seed, opened.capacity) == (len(filter), SEED, capacity)
    assert all(opened.contains_lines(lines))
    info = json.loads(run(tool, "info", ours, "--json"))
    assert info["Number of items inserted"] == len(filter)
    run(tool, "merge", "-o", tmp_path / "both.sbf", ours, theirs)
    assert all(Filter.open(tmp_path / "both.sbf").contains_lines(lines))


def test_the_tool_reads_a_counting_filter(tool: Path, tmp_path: Path) -> None:
    path = tmp_path / "counting.sbf"
    filter = CountingFilter(1000, seed=SEED)
    filter.update(["a", "a", "b"])
    filter.save(path)
    assert json.loads(run(tool, "info", path, "--json"))["Number of items inserted"] == 3
    opened = CountingFilter.open(path)
    assert opened.count("a") == 2 and opened.dumps() == filter.dumps()
    with pytest.raises(FormatError, match="CountingFilter"):
        Filter.open(path)


def test_a_saved_file_is_whole_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "filter.sbf"
    filter = Filter(1000)
    filter.save(str(path))
    filter.add("a")
    filter.save(path)  # in the place of a filter
    assert "a" in Filter.open(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["filter.sbf"]


def test_another_file_is_replaced_only_on_request(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("text")
    with pytest.raises(FileExistsError, match="replace=True"):
        Filter(10).save(path)
    assert path.read_text() == "text"
    Filter(10).save(path, replace=True)
    assert len(Filter.open(path)) == 0
    (tmp_path / "link").symlink_to(path)
    for other in (tmp_path, tmp_path / "link", Path("/dev/null")):
        with pytest.raises(OSError, match="not a regular file"):
            Filter(10).save(other, replace=True)
    assert sorted(os.listdir(tmp_path)) == ["file", "link"]


def test_a_file_that_cannot_be_read_or_written_is_an_os_error(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    for call in (Filter.open, Filter(10).update_lines, Filter(10).contains_lines):
        with pytest.raises(FileNotFoundError, match=re.escape(str(missing))) as caught:
            call(missing)
        assert caught.value.filename == str(missing) and caught.value.errno == 2
    with pytest.raises(IsADirectoryError):
        Filter(10).update_lines(tmp_path)
    with pytest.raises(FileNotFoundError):
        Filter(10).save(missing / "file")


def test_a_damaged_file_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "filter.sbf"
    filter = Filter(1000)
    filter.update(range(1000))
    data = bytearray(filter.dumps())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(FormatError, match="filter.sbf: its checksum does not match"):
        Filter.open(path)
    path.write_text("text")
    with pytest.raises(FormatError, match="no file of a filter"):
        Filter.open(path)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\n",
        b"a",
        b"a\n",
        b"a\n\nb\r\n",
        b"x" * 3_000_000 + b"\nshort\n" + b"y" * 1_048_576,
        b"".join(b"%d\n" % n for n in range(300_000)),
    ],
)
def test_lines_are_items_without_their_ends(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "lines"
    path.write_bytes(text)
    lines = text.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    by_lines, by_items = (Filter(400_000, seed=1) for _ in range(2))
    assert by_lines.update_lines(path) == by_items.update(lines)
    assert by_lines.dumps() == by_items.dumps()
    assert by_lines.contains_lines(path) == [True] * len(lines)


def test_a_pipe_of_lines_is_read_as_a_file_is(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = subprocess.Popen(["sh", "-c", f"seq 100000 > {pipe}"])
    filter = Filter(100_000)
    filter.update_lines(pipe)
    assert writer.wait() == 0 and all(filter.contains(range(1, 100_001)))
