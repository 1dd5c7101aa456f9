"""The recipes with followers print what their pages show."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Server

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("page", ["docs/recipes/local.md", "docs/recipes/local-guard.md"])
def test_a_recipe_prints_what_its_page_shows(page: str, server: Server) -> None:
    program = f"examples/recipes/{Path(page).stem}.py"
    text = (ROOT / page).read_text()
    shown = re.search(rf"\$ python3 {program} [^\n]*\n(.*?)```", text, re.DOTALL)
    assert shown is not None
    printed = subprocess.run(
        [sys.executable, program, f"unix://{server.socket}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert printed.stdout == shown[1], printed.stderr
