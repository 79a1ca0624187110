"""The examples of docs/operators.md, run as they stand."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from attndsl.driver import cache

ROOT = Path(__file__).parents[2]


def test_examples(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv(cache.ENVIRONMENT, str(tmp_path))
    results = doctest.testfile(str(ROOT / "docs" / "operators.md"), module_relative=False, encoding="utf-8")
    assert results.failed == 0
    assert results.attempted > 8
