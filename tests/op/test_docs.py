"""The examples of docs/operators.md, run as they stand."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from attndsl import cache
from attndsl.op import calibrate

ROOT = Path(__file__).parents[2]


def test_examples(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv(cache.ENVIRONMENT, str(tmp_path))
    monkeypatch.setenv(calibrate.VARIABLE, "1")
    monkeypatch.setattr(calibrate, "measured", lambda: {"cpu": 86e9, "cpu:slices": 109e9})
    monkeypatch.setattr(calibrate, "here", lambda: "AMD EPYC, NumPy 2.4.2, openblas 0.3.31 SkylakeX")
    monkeypatch.setattr(calibrate, "find_spec", lambda name: None)
    results = doctest.testfile(str(ROOT / "docs" / "operators.md"), module_relative=False, encoding="utf-8")
    assert results.failed == 0
    assert results.attempted > 8
