"""`attndsl opt`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest


def test_the_ir_as_it_is_built_goes_round(attndsl: Any, gqa: Path) -> None:
    built = attndsl("opt", gqa)
    assert (built.code, built.err) == (0, "")
    assert "attn.softmax" in built.out
    text = gqa.with_name("gqa.mlir")
    text.write_text(built.out)
    assert attndsl("opt", text).out == built.out
    assert attndsl("opt", text, "--passes", "cse").out == attndsl("opt", gqa, "--passes", "cse").out != built.out


def test_the_ir_after_every_pass(attndsl: Any, gqa: Path) -> None:
    out = attndsl("opt", gqa, "--passes", "canonicalize,cse", "--print-ir-after-all").out
    assert re.findall(r"^// (.*)$", out, re.MULTILINE) == ["before all passes", "after canonicalize", "after cse"]


def test_times(attndsl: Any, gqa: Path) -> None:
    out = attndsl("opt", gqa, "--passes", "canonicalize,cse", "--time-passes").out
    assert re.findall(r"^// +[\d.]+ ms  (.*)$", out, re.MULTILINE) == ["canonicalize", "cse", "total"]


def test_the_pipelines_are_texts_that_it_takes(attndsl: Any, gqa: Path) -> None:
    pipelines = dict(line.split(": ") for line in attndsl("opt", "--print-pipeline").out.splitlines())
    assert "numpy" in pipelines
    for pipeline in pipelines.values():
        result = attndsl("opt", gqa, "--passes", pipeline)
        assert result.code == 0
        assert "tile.kernel" in result.out


def test_the_pipelines_are_those_of_all_targets(attndsl: Any) -> None:
    result = attndsl("opt", "--print-pipeline", "--target", "numpy")
    assert result.code == 2 and "takes no --target" in result.err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("opt", 2, "Missing argument 'FILE'."),
        (
            "opt gqa.attn --passes canonicalise",
            2,
            "There is no pass canonicalise, did you mean canonicalize?\nThe passes are canonicalize,",
        ),
        ("opt gqa.attn --passes tile{row=3}", 2, 'Provided arguments ["row"] not found'),
        ("opt gqa.attn --passes tile{", 2, "Expected argument name here"),
        ("opt gqa.attn --passes tile", 2, "tile finds attn.each: run pack-rows before it"),
        ("opt gqa.attn --passes cse,pack-rows,tile", 2, "tile finds attn.softmax: run stream-softmax before it"),
        ("opt note.txt", 1, "note.txt holds no IR: note.txt:1:1"),
        ("opt bytes.mlir", 1, "bytes.mlir holds no IR: "),
        ("opt nowhere.mlir", 2, "File 'nowhere.mlir' does not exist."),
        ("opt wrong.attn", 1, "error[E"),
    ],
)
def test_mistakes(attndsl: Any, wrong: Path, arguments: str, code: int, message: str) -> None:
    wrong.with_name("note.txt").write_text("# a note\n")
    wrong.with_name("bytes.mlir").write_bytes(b"\xff")
    result = attndsl(*arguments.split(" "))
    assert (result.code, result.out) == (code, "")
    assert message in result.err
