"""Each benchmark runs in its smallest configuration; what it measures is no matter here."""

from __future__ import annotations

import csv
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks import memory, startup, truth
from benchmarks.__main__ import main


@pytest.mark.parametrize("name", ["memory", "startup", "encoder"])
def test_smallest(name: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(main, [name, "--smallest", "--out", str(tmp_path)])
    if result.exception and not isinstance(result.exception, SystemExit):  # a limit may be missed, on a busy machine
        raise result.exception
    lines = (tmp_path / f"{name}.csv").read_text().splitlines()
    head = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# ") and ": " in line)
    assert head["command"].startswith("python -m benchmarks")
    assert {"date", "commit", "processor", "numpy"} <= head.keys()
    columns, *rows = csv.reader(line for line in lines if not line.startswith("#"))
    assert rows and all(len(row) == len(columns) for row in rows)
    if name != "startup":
        assert ElementTree.parse(tmp_path / f"{name}.svg").getroot().tag.endswith("svg")


def test_the_naive_form_is_counted_in_full() -> None:
    q, k, v = np.random.default_rng(0).standard_normal((3, 1, memory.HEADS, 256, 64), np.float32)
    o, counted = memory.scratch(lambda: memory.naive(q, k, v))
    truth.verify(o, q, k, v, causal=True)
    assert memory.naive_bytes(256) <= counted + o.nbytes < 1.5 * memory.naive_bytes(256)


def test_wrong_results_are_not_measured() -> None:
    q, k, v = np.random.default_rng(0).standard_normal((3, 1, 2, 8, 4))
    o = truth.attend(q, k, v)
    truth.verify(o, q, k, v)
    for changed in (o + 1e-3, np.full_like(o, np.nan)):
        with pytest.raises(ArithmeticError, match="the output is off by"):
            truth.verify(changed, q, k, v)


def test_a_missed_limit_is_a_failure() -> None:
    quick, slow, lark = [(0.9, 0.02), (0.8, 0.03)], [(0.1, 0.06)], [(0.1, 0.0)]
    rows = [startup.row("quick", quick, 50), startup.row("slow", slow, 50), startup.row("l", lark, 50, "lark")]
    assert startup.failures(rows) == ["slow: 60 ms, limit 50 ms", "l: imports lark"]
