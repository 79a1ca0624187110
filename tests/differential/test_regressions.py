"""What the compiler once got wrong, each as the smallest spec that showed it."""

from __future__ import annotations

from pathlib import Path

import pytest

from attndsl.checking.check import check
from attndsl.syntax.source import Source
from attndsl.testing import Case, check_stages

REGRESSIONS = sorted((Path(__file__).parent / "regressions").glob("*.attn"))


@pytest.mark.parametrize("path", REGRESSIONS, ids=lambda path: path.stem)
def test_it_stays_right(path: Path) -> None:
    spec = check(Source(path.read_text(encoding="utf-8"), path.name))
    calls = [Case.make(spec, seed=seed, hostile=hostile) for seed, hostile in ((0, False), (1, True), (2, True))]
    if "D" in spec.dims:
        calls.append(Case.make(spec, dims={"D": 0}))
    check_stages([call.poisoned() for call in calls])
