"""`attndsl grad`."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def test_the_backward(attndsl: Any, tmp_path: Path) -> None:
    result = attndsl("grad", "gqa")
    assert (result.code, result.err) == (0, "")
    (tmp_path / "back.attn").write_text(result.out)
    assert attndsl("check", str(tmp_path / "back.attn")).code == 0
    assert attndsl("fmt", "--check", str(tmp_path / "back.attn")).code == 0


def test_of_some_inputs(attndsl: Any) -> None:
    result = attndsl("grad", "gqa", "--of", "v")
    assert "output d_v" in result.out
    assert "d_q" not in result.out


def test_the_forward(attndsl: Any) -> None:
    result = attndsl("grad", "gqa", "--forward")
    assert "output lse : A[B, Hq, M]" in result.out


def test_mistakes(attndsl: Any) -> None:
    result = attndsl("grad", "gqa", "--of", "z")
    assert (result.code, result.err) == (1, "Error: gqa has no input z: its inputs are q, k, v.\n")
    assert attndsl("grad", "append_paged").code == 1
