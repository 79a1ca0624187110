"""`attndsl compile` and `attndsl explain`."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


def test_the_program_is_printed(attndsl: Any, gqa: Path) -> None:
    result = attndsl("compile", gqa)
    assert (result.code, result.err) == (0, "")
    compile(result.out, "gqa.py", "exec")
    assert "def gqa(q, k, v, o)" in result.out


def test_the_program_is_written(attndsl: Any, gqa: Path, tmp_path: Path) -> None:
    os.umask(0o027)
    result = attndsl("compile", gqa, "-o", "made/here", "--types", "T=f16")
    path = Path("made/here/gqa.py")
    assert (result.code, result.out) == (0, f"{path}\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [file.name for file in path.parent.iterdir()] == ["gqa.py"]
    assert path.read_text() == attndsl("compile", gqa, "--types", "T=f16").out


def test_the_program_runs_alone(attndsl: Any, gqa: Path, tmp_path: Path) -> None:
    attndsl("compile", gqa, "-o", tmp_path)
    program = """
import sys, numpy as np, gqa
q, k, v = (np.ones((1, 2, 3, 4), np.float32) for _ in range(3))
o = np.empty_like(q)
gqa.gqa(q, k, v, o)
assert (o == 1).all()
sys.exit(any(name.startswith("attndsl.") for name in sys.modules))
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)


def test_json(attndsl: Any, gqa: Path) -> None:
    found = json.loads(attndsl("compile", gqa, "--json", "--types", "T=bf16").out)
    assert (found["name"], found["target"], found["types"], found["files"]) == ("gqa", "numpy", {"T": "bf16"}, [])
    assert "def gqa(" in found["source"]


@pytest.mark.parametrize("target", ["numpy", "triton"])
def test_targets(attndsl: Any, gqa: Path, target: str) -> None:
    result = attndsl("compile", gqa, "--target", target)
    assert result.code == 0
    assert ("import triton" in result.out) == (target == "triton")


@pytest.mark.parametrize(("target", "code"), [("cuda:90", "cubin"), ("hip:gfx942", "hsaco")])
def test_gpu_code(attndsl: Any, gqa: Path, target: str, code: str) -> None:
    pytest.importorskip("triton")
    result = attndsl("compile", gqa, "--target", target, "--types", "T=f16", "--shape", "D=16,E=16", "-o", "made")
    assert (result.code, result.err) == (0, "")
    binary, assembly, launch = map(Path, result.out.splitlines())
    assert binary.suffix == f".{code}"
    assert binary.read_bytes()[:4] == b"\x7fELF"
    assert "gqa" in assembly.read_text()
    assert json.loads(launch.read_text())["target"] == target


def test_explain(attndsl: Any, gqa: Path) -> None:
    shape = "B=1,Hq=32,Hkv=8,M=1,N=4096,D=128,E=128"
    result = attndsl("explain", gqa, "--shape", shape, "--types", "T=bf16")
    assert result.code == 0
    lines = [line.strip() for line in result.out.splitlines()]
    assert "gqa for numpy" in lines
    assert "inputs     16 MiB" in lines
    assert "work       67.1 Mflop, were no position masked" in lines
    found = json.loads(attndsl("explain", gqa, "--shape", shape, "--types", "T=bf16", "--json").out)
    assert found["dims"] == {"B": 1, "Hq": 32, "Hkv": 8, "M": 1, "N": 4096, "D": 128, "E": 128}
    assert (found["read"], found["written"], found["work"]) == (16785408, 8192, 67108864)
    assert found["schedule"]
