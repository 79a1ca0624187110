"""`attndsl lsp`; tests/editor speaks to it."""

from __future__ import annotations

import sys
from typing import Any

import pytest


def test_a_missing_package_is_named(attndsl: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygls", None)
    result = attndsl("lsp")
    assert "attndsl lsp needs pygls: pip install " in result.err
    assert (result.code, result.out) == (2, "")
