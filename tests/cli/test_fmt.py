"""`attndsl fmt`."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any


def untidy(path: Path) -> bytes:
    tidy = path.read_bytes()
    path.write_bytes(tidy.replace(b"    ", b"\t").replace(b"\n", b"\r\n"))
    return tidy


def test_in_place(attndsl: Any, gqa: Path) -> None:
    tidy = untidy(gqa)
    gqa.chmod(0o640)
    result = attndsl("fmt", gqa)
    assert (result.code, result.out) == (0, f"formatted {gqa}\n")
    assert gqa.read_bytes() == tidy
    assert stat.S_IMODE(gqa.stat().st_mode) == 0o640
    assert attndsl("fmt", gqa).out == ""
    assert sorted(file.name for file in gqa.parent.iterdir() if file.is_file()) == ["gqa.attn"]


def test_a_link_stays_a_link(attndsl: Any, gqa: Path) -> None:
    tidy = untidy(gqa)
    link = gqa.with_name("link.attn")
    link.symlink_to(gqa.name)
    attndsl("fmt", link)
    assert link.is_symlink()
    assert gqa.read_bytes() == tidy


def test_check_changes_nothing(attndsl: Any, gqa: Path) -> None:
    assert attndsl("fmt", "--check", gqa).code == 0
    untidy(gqa)
    before = gqa.read_bytes()
    result = attndsl("fmt", "--check", gqa)
    assert (result.code, result.out) == (1, f"{gqa}\n")
    assert gqa.read_bytes() == before


def test_one_wrong_spec_does_not_stop_the_others(attndsl: Any, gqa: Path) -> None:
    tidy = untidy(gqa)
    bad = gqa.with_name("bad.attn")
    bad.write_text("attention {")
    result = attndsl("fmt", bad, gqa)
    assert result.code == 1
    assert bad.read_text() == "attention {"
    assert gqa.read_bytes() == tidy


def test_the_standard_input(gqa: Path) -> None:
    tidy = untidy(gqa)
    command = [sys.executable, "-m", "attndsl", "fmt", "-"]
    result = subprocess.run(command, input=gqa.read_bytes(), capture_output=True, check=True)
    assert result.stdout == tidy.replace(b"\n", os.linesep.encode())
