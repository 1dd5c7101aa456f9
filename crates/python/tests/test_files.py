"""Files of filters, and files of lines."""

import gzip
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
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
    with pytest.raises(FormatError, match="not a splitbloom file"):
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


# Packed by zstd: "alice" and "bob".
ZSTD = b"(\xb5/\xfd\x04XQ\x00\x00alice\nbob\n\x97\x1f+\x8f"


@pytest.mark.parametrize("pack", [gzip.compress, lambda data: ZSTD])
def test_packed_lines_are_read_as_the_tool_reads_them(
    tool: Path, tmp_path: Path, pack: Any
) -> None:
    path, theirs = tmp_path / "lines", tmp_path / "theirs.sbf"
    path.write_bytes(pack(b"alice\nbob\n"))
    run(tool, "build", path, "-o", theirs, "--capacity", 10, "--seed", f"{SEED:016x}")
    filter = Filter(10, seed=SEED)
    assert filter.update_lines(path) == 2
    assert filter == Filter.open(theirs) and filter.contains(["alice", "bob"]) == [True, True]
    assert filter.contains_lines(path) == [True, True]
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match="lines: its .* data is damaged or cut off"):
        filter.update_lines(path)


@pytest.mark.parametrize(
    "data, advice",
    [
        (b"\xfd7zXZ\0\0\x04", "xz data, not items: `xz -dc` unpacks it"),
        (b"BZh91AY&SY", "bzip2 data, not items: `bzip2 -dc` unpacks it"),
        (gzip.compress(b"PK\x03\x04"), "a zip archive, not items: `unzip -p` unpacks it"),
        (b"\xff\xfea\0", "UTF-16 text, not items: `iconv -f UTF-16 -t UTF-8` unpacks it"),
        (Filter(10).dumps(), r"a filter, not items: open\(\) reads it"),
    ],
)
def test_what_contains_no_lines_is_refused_by_name(
    tmp_path: Path, data: bytes, advice: str
) -> None:
    path, filter = tmp_path / "lines", Filter(10)
    path.write_bytes(data)
    for call in (filter.update_lines, filter.contains_lines):
        for text in (False, True):
            with pytest.raises(ValueError, match=f"lines: it contains {advice}"):
                call(path, text=text)
    assert len(filter) == 0


def test_line_ends_of_other_systems_are_warned_about_and_can_be_stripped(tmp_path: Path) -> None:
    path, filter = tmp_path / "lines", Filter(100)
    path.write_bytes(b"\xef\xbb\xbfalice\r\nbob\r\n")
    with pytest.warns(UserWarning) as warned:
        assert filter.update_lines(path) == 2
    texts = [str(warning.message) for warning in warned]
    assert len(texts) == 2 and all(text.startswith(str(path)) for text in texts)
    assert all(text.endswith("text=True strips it") for text in texts)
    assert filter.contains(["\ufeffalice\r", "bob\r"]) == [True, True]
    assert filter.update_lines(path, text=True) == 2 and "alice" in filter and "bob" in filter
    assert filter.contains_lines(path, text=True) == [True, True]


WAITING = """
import resource, signal, sys
from splitbloom import Filter

# The tests may run in the background of a script, which ignores the signal.
signal.signal(signal.SIGINT, signal.default_int_handler)

def for_ever(call, path):
    pages = int(open("/proc/self/statm").read().split()[0])
    most = pages * resource.getpagesize() + (256 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
    while True:
        try:
            call(path)
        except MemoryError:
            pass

try:
    path = sys.argv[1]
    print("begun", flush=True)
    CALL
except KeyboardInterrupt:
    print("interrupted")
"""


def is_in_call(process: int) -> bool:
    """Whether a program of one thread sleeps, or has taken 64 MiB."""
    status = Path(f"/proc/{process}/status").read_text()
    peak = re.search(r"VmHWM:\s*(\d+) kB", status)
    return "State:\tS" in status or (peak is not None and int(peak[1]) > 64 << 10)


@pytest.mark.parametrize(
    "call, path",
    [
        ("Filter(10).update_lines(path)", "fifo"),
        ("Filter(10).contains_lines(path)", "fifo"),
        ("Filter.open(path)", "fifo"),
        ("Filter(10).update_lines(path)", "/dev/stdin"),
        ("Filter.open(path)", "/dev/stdin"),
        ("for_ever(Filter(10).update_lines, path)", "/dev/zero"),
    ],
)
def test_ctrl_c_is_heard_while_a_file_is_waited_for(tmp_path: Path, call: str, path: str) -> None:
    os.mkfifo(tmp_path / "fifo")
    words = [sys.executable, "-c", WAITING.replace("CALL", call), tmp_path / path]
    program = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert program.stdout is not None
    assert program.stdout.readline() == "begun\n"
    while not is_in_call(program.pid):
        time.sleep(0.005)
    program.send_signal(signal.SIGINT)
    try:
        # Standard input stays open.
        assert program.wait(timeout=60) == 0
    finally:
        program.kill()
    assert program.stdout.read() == "interrupted\n"
