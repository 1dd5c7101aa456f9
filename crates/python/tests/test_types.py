"""The types that the package declares are those that it has."""

import subprocess
import sys
from pathlib import Path

import pytest

SAMPLE = Path(__file__).parent / "sample.py"


@pytest.mark.parametrize(
    "check",
    [
        ["mypy", "--strict", "--package", "splitbloom"],
        ["mypy", "--strict", str(SAMPLE)],
        ["mypy.stubtest", "splitbloom"],
    ],
)
def test_declared_types_hold(check: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *check], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
