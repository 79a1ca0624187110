"""What specs of the gallery mean, as text; `--update-goldens` accepts a change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from attndsl.checking.check import check
from attndsl.checking.text import spec_text
from attndsl.checking.typed import Reduce, walk
from attndsl.syntax.source import Source

from .specs import well_formed

GALLERY = sorted((Path(__file__).parents[2] / "examples").glob("*.attn"))
GOLDENS = Path(__file__).parent / "goldens"
SHOWN = ("gqa", "paged_prefill", "packed_ragged", "differential", "mla_projections", "rotary", "int4_cache", "qk_norm")


def source(path: Path) -> Source:
    return Source(path.read_text(encoding="utf-8"), path.name)


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_gallery_is_well_formed(path: Path) -> None:
    well_formed(check(source(path)))


@pytest.mark.parametrize("path", [p for p in GALLERY if p.stem in SHOWN], ids=lambda path: path.stem)
def test_typed_form(path: Path, golden: Callable[[Path, str], None]) -> None:
    golden(GOLDENS / f"{path.stem}.txt", spec_text(check(source(path))))


def test_all_shown_are_there() -> None:
    assert {path.stem for path in GOLDENS.iterdir()} == set(SHOWN)


def test_the_score_of_two_outputs_is_one_expression() -> None:
    spec = check(source(next(path for path in GALLERY if path.stem == "lse")))
    writes = [write.value for block in spec.blocks for write in block.writes]
    reductions = [expr for expr in walk(*writes) if isinstance(expr, Reduce)]
    assert {r.function for r in reductions} == {"softmax", "logsumexp"}
    assert len({r.score for r in reductions}) == 1
