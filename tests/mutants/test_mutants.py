"""Planted bugs: stages that are wrong on purpose are caught, and named.

A differential test that never fails proves nothing.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from attndsl.checking.check import check
from attndsl.gradient import gradient
from attndsl.syntax.read import read_source
from attndsl.syntax.source import Source
from attndsl.testing import Case, Disagreement, check_stages
from attndsl.testing.stages import Form

from . import catalogue_attn, catalogue_looks, catalogue_numpy, catalogue_rare, catalogue_tile
from .hunt import HUNTS, MUTANTS
from .mutant import Mutant, mutants_of

ROOT = Path(__file__).parents[2]

SHOWN = (
    (catalogue_attn.absent_keys_counted, "topk_sparse"),
    (catalogue_attn.read_before_it_is_written, "indexer"),
    (catalogue_attn.strict_for_at_most, "causal_end"),
    (catalogue_attn.condition_lost, "document_mask"),
    (catalogue_attn.last_key_not_made, "mla_projections"),
    (catalogue_attn.sink_forgotten, "softmax_plus_one"),
    (catalogue_tile.no_rescaling, "mha"),
    (catalogue_numpy.mask_multiplied, "packed_ragged"),
)
"""Mutants of several stages, and specs that show them."""


@pytest.mark.parametrize(("mutant", "name"), SHOWN, ids=lambda given: getattr(given, "name", given))
def test_the_stage_that_is_wrong_is_named(mutant: Mutant, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case.make(check(read_source(ROOT / f"examples/{name}.attn")), seed=6, hostile=True).poisoned()
    check_stages([case])
    mutant.patch(monkeypatch)
    with pytest.raises(Disagreement) as caught:
        check_stages([case])
    assert {caught.value.stage} == mutant.blame


FOLDED = """attention folded {
    dims M, N, D
    input  q    : f32[M, D]
    input  k    : f32[N, D]
    input  fold : i32[32]
    input  bias : f32[32]
    output o    : f32[M]
    each i in M
    over j in N
    score = q[i,:] . k[j,:] + bias[fold[(i + j) % 32] % 32]
    o[i] = max(score)
}
"""
"""A table that a row and a key read by their sum."""

ON_GPU, ON_CPU = Form("triton", 4, 3), Form(machine="cpu:numba")

RARE = (
    (
        catalogue_rare.factors_multiplied_twice,
        gradient(check(read_source(ROOT / "examples/softcap.attn"))).backward,
        ON_GPU,
    ),
    (
        catalogue_rare.numbers_of_the_distance_before,
        (ROOT / "examples/t5_bias.attn").read_text(encoding="utf-8"),
        ON_GPU,
    ),
    (catalogue_rare.told_by_more_than_the_distance, FOLDED, ON_GPU),
    (catalogue_rare.few_beside_four, (ROOT / "examples/gqa.attn").read_text(encoding="utf-8"), ON_CPU),
)


@pytest.mark.parametrize(("mutant", "text", "form"), RARE, ids=lambda given: getattr(given, "name", ""))
def test_a_pass_with_little_work_that_is_wrong_is_named(
    mutant: Mutant, text: str, form: Form, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case.make(check(Source(text, "shown.attn")), seed=3)
    check_stages([case], form=form)
    mutant.patch(monkeypatch)
    with pytest.raises(Disagreement) as caught:
        check_stages([case], form=form)
    assert {caught.value.stage} == mutant.blame


@pytest.mark.parametrize("mutant", mutants_of(catalogue_looks), ids=lambda mutant: mutant.name)
def test_a_look_that_is_wrong_is_named(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    dims = {"B": 2, "Hq": 2, "Hkv": 2, "N": 11, "D": 2, "E": 2}
    case = Case.make(check(read_source(ROOT / "examples/document_mask.attn")), seed=0, hostile=True, dims=dims)
    mutant.patch(monkeypatch)
    with pytest.raises(Disagreement) as caught:
        check_stages([case], form=Form("triton", 4, 3))
    assert {caught.value.stage} == mutant.blame


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_what_a_mutant_changes_is_there(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that is called otherwise since is told here, and not by the hunt alone."""
    mutant.patch(monkeypatch)


def test_each_mutant_is_hunted_once() -> None:
    assert [sum(of(mutant) for of in HUNTS.values()) for mutant in MUTANTS] == [1] * len(MUTANTS)


@pytest.mark.matrix
@pytest.mark.parametrize("name", HUNTS)
def test_drawn_specs_catch_every_mutant(name: str) -> None:
    """In a process of its own: Triton's interpreter is switched on before it is imported."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.mutants.hunt", name]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    hunted = [json.loads(line) for line in done.stdout.splitlines()]
    assert {each["name"] for each in hunted} == {each.name for each in MUTANTS if HUNTS[name](each)}
    assert [each["name"] for each in hunted if not each["stage"]] == []
