"""`attndsl import`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import onnx
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


@pytest.fixture
def onnx_models(tmp_path: Path) -> None:
    """A model of two kinds of attention, one of another operator, and a file that is none."""
    inputs = "(float[B, H, M, 4] q, float[B, H, N, 4] k, float[B, H, N, 4] v) => (float[B, H, M, 4] o)"
    nodes = "[near] x = Attention <left_window_size = 4> (q, k, v) [far] o = Attention (x, k, v)"
    texts = {"two": f"{{ {nodes} }}", "other": "{ [lin] o = LinearAttention <q_num_heads = 1> (q, k, v) }"}
    for name, text in texts.items():
        model = onnx.parser.parse_model(f'<ir_version: 11, opset_import: ["": 27]> {name} {inputs} {text}')
        (tmp_path / f"{name}.onnx").write_bytes(model.SerializeToString())
    (tmp_path / "broken.onnx").write_bytes(b"broken")


@pytest.mark.usefixtures("onnx_models")
def test_onnx(attndsl: Any, tmp_path: Path) -> None:
    printed = attndsl("import", "--onnx", "two.onnx")
    assert (printed.code, printed.err) == (0, "")
    assert printed.out.startswith("# From ONNX: near.\nattention two(left: int = 4) {")
    assert "\n}\n\n# From ONNX: far.\nattention two_2 {" in printed.out
    written = attndsl("import", "--onnx", "two.onnx", "-o", "specs")
    assert (written.code, written.out) == (0, "wrote specs/two.attn\nwrote specs/two_2.attn\n")
    files = [tmp_path / "specs" / name for name in ("two.attn", "two_2.attn")]
    assert "\n".join(file.read_text() for file in files) == printed.out
    one = attndsl("import", "--onnx", "two.onnx", "--node", "near", "--name", "near", "-o", "near.attn")
    assert (one.code, one.out) == (0, "wrote near.attn\n")
    for path in ("specs/two.attn", "specs/two_2.attn", "near.attn"):
        assert attndsl("fmt", "--check", path).code == 0
    assert attndsl("run", "near.attn", "--shape", "M=5,N=7").code == 0


@pytest.mark.usefixtures("onnx_models")
@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (["--onnx", "broken.onnx"], "broken.onnx is no ONNX model", 1),
        (["--onnx", "other.onnx"], "lin: LinearAttention of ai.onnx is another operator than ONNX's Attention", 1),
        (["--onnx", "none.onnx"], "Invalid value for '--onnx': File 'none.onnx' does not exist.", 2),
        (["--onnx", "two.onnx", "--node", "wide"], "there is no Attention node wide: there are near and far", 1),
        (
            ["--onnx", "two.onnx", "-o", "two.attn"],
            "there are 2 specs: -o names a folder, or --node one of them.",
            2,
        ),
        (["--onnx", "two.onnx", "--enable-gqa"], "--enable-gqa is for --flex, and --node for --onnx.", 2),
        (["--onnx", "two.onnx", "--flex", "some_mods:causal"], "import what? --flex MODULE:MOD or --onnx FILE.", 2),
        ([], "import what? --flex MODULE:MOD or --onnx FILE.", 2),
    ],
)
def test_mistakes_with_onnx(attndsl: Any, arguments: list[str], message: str, code: int) -> None:
    result = attndsl("import", *arguments)
    assert result.err.endswith(f"Error: {message}\n")
    assert (result.code, result.out) == (code, "")


@pytest.mark.usefixtures("onnx_models")
def test_without_onnx(attndsl: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    for name in [name for name in sys.modules if name.startswith("attndsl.importing.onnx")]:
        monkeypatch.delitem(sys.modules, name)
    result = attndsl("import", "--onnx", "two.onnx")
    assert "Error: attndsl import --onnx needs onnx: pip install " in result.err
    assert (result.code, result.out) == (2, "")
