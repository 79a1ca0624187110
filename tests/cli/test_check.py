"""`attndsl check`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SUMMARY = "gqa(q : T[B, Hq, M, D], k : T[B, Hkv, N, D], v : T[B, Hkv, N, E]) -> o : T[B, Hq, M, E]"


def test_a_right_spec_is_one_line(attndsl: Any, gqa: Path) -> None:
    result = attndsl("check", gqa)
    assert (result.code, result.out, result.err) == (0, f"{gqa}: {SUMMARY}\n", "")


def test_several_specs(attndsl: Any, gqa: Path, wrong: Path) -> None:
    result = attndsl("check", wrong, gqa)
    assert result.code == 1
    assert result.out == f"{gqa}: {SUMMARY}\n"
    assert result.err.startswith("error[E")
    assert result.err.endswith("1 of 2 specs have mistakes\n")


def test_json(attndsl: Any, gqa: Path, wrong: Path) -> None:
    result = attndsl("check", wrong, gqa, "--json")
    assert result.code == 1
    first, second = json.loads(result.out)["files"]
    assert (first["file"], first["ok"], first["signature"]) == (str(wrong), False, None)
    assert first["errors"][0].keys() == {"code", "line", "column", "message", "note", "fix"}
    assert (first["errors"][0]["line"], first["errors"][0]["column"]) == (8, 21)
    assert (second["ok"], second["errors"]) == (True, [])
    assert second["signature"]["requires"][-1] == ["ine", ["idiv", ["dim", "Hq"], ["dim", "Hkv"]], 0]


def test_the_standard_input(gqa: Path) -> None:
    command = [sys.executable, "-m", "attndsl", "check", "-"]
    result = subprocess.run(command, input=gqa.read_bytes(), capture_output=True, check=True)
    assert result.stdout.decode() == f"<stdin>: {SUMMARY}\n"


def test_the_whole_gallery(attndsl: Any, gallery: Path) -> None:
    files = sorted(gallery.glob("*.attn"))
    result = attndsl("check", *files)
    assert (result.code, result.err) == (0, "")
    assert len(result.out.splitlines()) == len(files)


def test_only_what_checking_needs_is_imported(gqa: Path) -> None:
    program = f"""
import sys
from attndsl.cli.group import run
run(["check", {str(gqa)!r}])
sys.exit(", ".join({{"numpy", "xdsl", "rich", "torch", "triton"}} & set(sys.modules)) or None)
"""
    subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.DEVNULL)


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["check", "--help"], ["opt", "-h"]])
def test_help_teaches(attndsl: Any, arguments: list[str]) -> None:
    result = attndsl(*arguments)
    assert result.code == 0
    assert "attndsl" in result.out
    assert ".attn" in result.out


def test_version(attndsl: Any) -> None:
    assert attndsl("--version").out.startswith("attndsl ")
