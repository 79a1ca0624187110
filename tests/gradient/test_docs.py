"""What docs/training.md shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from attndsl.checking.check import check
from attndsl.gradient import gradient
from attndsl.syntax.source import Source

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


def test_the_backward_is_what_it_is() -> None:
    text = (ROOT / "examples" / "gqa.attn").read_text(encoding="utf-8")
    assert gradient(check(Source(text))).backward == block("attn")


def test_the_example_runs(capsys: Any) -> None:
    exec(block("python"), {})
    assert capsys.readouterr().out.startswith("tensor([")
