"""`attndsl import`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

MODS = """
import torch

cap = 30.0

def softcap(score, b, h, q, kv):
    return cap * torch.tanh(score / cap)

def causal(b, h, q, kv):
    return kv <= q

def branches(b, h, q, kv):
    return kv if q > 3 else q

def three(b, h, q):
    return b
"""


@pytest.fixture(autouse=True)
def _modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some_mods.py").write_text(MODS)
    (tmp_path / "broken_mods.py").write_text("def causal(")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "some_mods", raising=False)


def test_a_file_and_the_standard_output(attndsl: Any, tmp_path: Path) -> None:
    result = attndsl("import", "--flex", "some_mods:causal,softcap", "--enable-gqa", "--name", "capped")
    assert (result.code, result.err) == (0, "")
    assert "attention capped(cap: f32 = 30.0) {" in result.out
    written = attndsl(
        "import", "--flex", "some_mods:softcap, causal", "--enable-gqa", "--name", "capped", "-o", "c.attn"
    )
    assert (written.code, written.out) == (0, "wrote c.attn\n")
    assert (tmp_path / "c.attn").read_text() == result.out
    assert attndsl("check", "c.attn").code == 0
    assert attndsl("fmt", "--check", "c.attn").code == 0
    assert attndsl("run", "c.attn", "--shape", "M=5,N=7").code == 0


def test_what_cannot_be_said(attndsl: Any) -> None:
    result = attndsl("import", "--flex", "some_mods:branches")
    assert (result.code, result.out) == (1, "")
    assert result.err == (
        "Error: some_mods.py:13: return kv if q > 3 else q\n"
        "Python branches on what differs from key to key (if, and, or, not, or a < b < c), which a spec cannot say; "
        "instead: torch.where(condition, x, y), and & | ~ of conditions\n"
    )


@pytest.mark.parametrize(
    ("mods", "message", "code"),
    [
        ("some_mods", "--flex: 'some_mods' is not of the form module:function.", 2),
        (
            "some_mods:causal,causal",
            "--flex: there are two of mask_mod; and_masks and or_masks of torch join masks.",
            2,
        ),
        ("some_mods:nothing", "--flex: module 'some_mods' has no attribute 'nothing'.", 2),
        ("no_mods:causal", "--flex: no_mods cannot be imported: No module named 'no_mods'.", 2),
        ("broken_mods:causal", "broken_mods raises SyntaxError: '(' was never closed (broken_mods.py, line 1)", 1),
        (
            "some_mods:three",
            "--flex: three is neither a score_mod(score, b, h, q_idx, kv_idx) nor a mask_mod(b, h, q_idx, kv_idx).",
            2,
        ),
    ],
)
def test_mistakes(attndsl: Any, mods: str, message: str, code: int) -> None:
    result = attndsl("import", "--flex", mods)
    assert result.err.endswith(f"Error: {message}\n")
    assert (result.code, result.out) == (code, "")
