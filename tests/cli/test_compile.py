"""`attndsl compile` and `attndsl explain`."""

from __future__ import annotations

import errno
import importlib.util
import json
import os
import stat
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from attndsl.backends.gpu import aot


def test_the_program_is_printed(attndsl: Any, gqa: Path) -> None:
    result = attndsl("compile", gqa)
    assert (result.code, result.err) == (0, "")
    compile(result.out, "gqa.py", "exec")
    assert "def gqa(q, k, v, o, *, _run=_alone)" in result.out


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


def test_code_of_fixed_extents(attndsl: Any, gqa: Path) -> None:
    asked = ("compile", gqa, "--target", "gluon", "--types", "T=bf16", "--shape")
    result = attndsl(*asked, "D=64,E=64")
    assert result.code == 0
    assert "gl.warp_specialize(" in result.out
    missing = attndsl(*asked, "D=64")
    assert missing.code == 2
    assert "this code is made for fixed extents of E: --shape E=…" in missing.err


def test_gpu_code(attndsl: Any, gqa: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton")
    launches = aot.launches
    monkeypatch.setattr(aot, "launches", lambda *arguments: islice(launches(*arguments), 1))  # each takes seconds
    extents = ("--types", "T=f16", "--shape", "D=16,E=16")
    result = attndsl("compile", gqa, "--target", "hip:gfx942", *extents, "-o", "made")
    assert (result.code, result.err) == (0, "")
    *codes, described, launcher = map(Path, result.out.splitlines())
    manifest = json.loads(described.read_text())
    assert (manifest["spec"], manifest["target"], manifest["extents"]) == ("gqa", "hip:gfx942", {"D": 16, "E": 16})
    assert manifest["launcher"] == launcher.name == "gqa_hip_gfx942.py"
    named = [entry[kind] for entry in manifest["kernels"] for kind in ("code", "assembly")]
    assert named == [path.name for path in codes]
    assert all(path.read_bytes()[:4] == b"\x7fELF" for path in codes if path.suffix == ".hsaco")
    assert {path.name for path in Path("made").iterdir()} == {*named, described.name, launcher.name}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("--target", "cuda:9"),
            "There is no target cuda:9, did you mean cuda:90? There are numpy, triton, gluon, cuda:80,",
        ),
        (("--target", "cuda:90"), "GPU code is not printed: give a folder for it with -o."),
        (("--target", "cuda:90", "-o", "made"), "fixed extents of D, E: --shape D=…,E=…"),
        (("--target", "cuda:90", "-o", "made", "--shape", "D=16"), "fixed extents of E: --shape E=…"),
    ],
)
def test_gpu_code_that_cannot_be_made(attndsl: Any, gqa: Path, arguments: tuple[str, ...], said: str) -> None:
    pytest.importorskip("triton")
    result = attndsl("compile", gqa, *arguments)
    assert (result.code, result.out) == (2, "")
    assert said in result.err and "Traceback" not in result.err
    assert not Path("made").exists()


def test_gpu_code_without_triton(attndsl: Any, gqa: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find: Any = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "triton" else find(name))
    result = attndsl("compile", gqa, "--target", "cuda:90", "--shape", "D=16,E=16", "-o", "made")
    assert (result.code, result.out) == (1, "")
    assert "needs the package triton, which is not installed: pip install 'triton" in result.err


def test_what_triton_cannot_compile_is_named(attndsl: Any, gqa: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("PassManager::run failed")

    monkeypatch.setattr(pytest.importorskip("triton"), "compile", fail)
    result = attndsl("compile", gqa, "--target", "cuda:90", "--shape", "D=16,E=16", "-o", "made")
    assert (result.code, result.out) == (1, "")
    assert "fails on gqa_kernel: PassManager::run failed; other tiles or element types may pass" in result.err
    assert "Traceback" not in result.err and not Path("made").exists()


def test_a_folder_that_cannot_be_written_is_named(attndsl: Any, gqa: Path) -> None:
    Path("file").write_text("")
    result = attndsl("compile", gqa, "-o", "file/made")
    assert (result.code, result.out) == (1, "")
    assert result.err == "Error: file/made cannot be written: Not a directory. -o takes another folder.\n"


def test_a_full_disk_leaves_nothing_half_written(attndsl: Any, gqa: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attndsl("compile", gqa, "-o", "made")
    before = Path("made/gqa.py").read_bytes()

    def refuse(path: Path, content: bytes) -> None:
        path.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", refuse)
    result = attndsl("compile", gqa, "--types", "T=bf16", "-o", "made")
    assert (result.code, result.err) == (
        1,
        "Error: made cannot be written: No space left on device. -o takes another folder.\n",
    )
    assert [path.name for path in Path("made").iterdir()] == ["gqa.py"]
    assert Path("made/gqa.py").read_bytes() == before


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
