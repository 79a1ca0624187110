"""docs/importing.md: its mods give its spec."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "importing.md").read_text(encoding="utf-8")


def test_the_example(tmp_path: Path) -> None:
    kinds = ("python", "console", "attn")
    mods, asked, text = (re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)[0] for kind in kinds)
    (tmp_path / "mods.py").write_text(mods)
    command = [sys.executable, "-m", *asked.removeprefix("$ ").split()]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout == text
