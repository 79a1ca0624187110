"""Specs and calls that hypothesis draws, the same ones at each run, and what they exercise."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, seed, settings

from attndsl.checking.check import check
from attndsl.driver.passes import passes_of
from attndsl.driver.targets import target_of
from attndsl.ir.build import build
from attndsl.ir.context import context
from attndsl.passes import PASSES
from attndsl.syntax.source import Source
from attndsl.testing.fuzz import Example, FuzzPlan, Summary, Unmet, examples, fuzz
from attndsl.testing.stages import Form

ROOT = Path(__file__).parents[2]
GALLERY = sorted(path.stem for path in (ROOT / "examples").glob("*.attn"))


def test_drawn_specs_agree() -> None:
    summary = fuzz(FuzzPlan(None, examples=40, seed=2))
    assert summary.failure is None, summary.failure.error
    assert (summary.cases, summary.ran["numpy"], summary.thorough) == (40, 40, 4)
    assert 0 < summary.used["numpy"] <= 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interruption_that_is_dropped_is_met_all_the_same() -> None:
    """Python drops what is raised in a finaliser, and while garbage is collected."""

    class Interrupts:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    def progress(summary: Summary) -> None:
        Interrupts()

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        summary = fuzz(FuzzPlan(None, examples=20, seed=2), progress)
    finally:
        signal.signal(signal.SIGINT, before)
    assert summary.interrupted and summary.cases == 1


@pytest.mark.matrix
def test_drawn_specs_agree_in_triton() -> None:
    """In a process of its own: Triton's interpreter is switched on before it is imported."""
    command = [sys.executable, "-m", "attndsl", "fuzz", "--any", "--backend", "triton"]
    options = ["--examples", "25", "--seed", "5", "--json", "--out", "/dev/null"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    said = json.loads(done.stdout)
    assert said["cases"] == 25 and said["ran"]["triton"] >= 10 and 0 < said["used"]["triton"] <= 1


@pytest.mark.matrix
@pytest.mark.parametrize("names", [GALLERY[n::4] for n in range(4)], ids=lambda names: names[0])
def test_drawn_calls_of_the_gallery_agree(names: list[str]) -> None:
    for number, name in enumerate(names):
        spec = check(Source((ROOT / f"examples/{name}.attn").read_text(), f"{name}.attn"))
        summary = fuzz(FuzzPlan(spec, examples=1, seed=number))
        assert summary.failure is None, summary.failure.error


SIMPLE = ("canonicalize", "cse", "simplify-indices")
"""The passes that simplify, which change every module."""


@pytest.mark.matrix
def test_every_pass_rewrites_something() -> None:
    """Of the specs that are drawn: no pass is left untried, but for three that others try.

    What warps with roles can do is dense, and in 16 bits: none is drawn so (tests/gluon_backend). No two blocks that
    are drawn walk the same pairs; gradients do, of drawn specs too (tests/gradient/test_fused.py). And no product that
    is drawn has two factors of one contraction and one of another, as gradients of capped scores have.
    """
    changed: Counter[str] = Counter(dict.fromkeys(PASSES, 0))
    changed.update(["assign-roles", "fuse-loops", "gather-factors"])
    for number in range(24):
        if min(changed.values()) == 0:
            note_rewrites(number, changed)
    assert min(changed.values()) > 0, changed


def note_rewrites(number: int, changed: Counter[str]) -> None:
    """Counts the drawn specs that each pass changes, up to the first."""

    @seed(number)
    @settings(max_examples=10, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(examples(FuzzPlan(None, ("triton",))))
    def draw(example: Example) -> None:
        sliced = target_of("numpy").lowering((4, 3), machine="cpu:slices+numba")
        for passes in (Form("gluon", 0, 0, known=True).passes(example.case), passes_of(sliced.steps)):
            waiting = [at for at, each in enumerate(passes, 1) if not changed[each.name]]
            module = build(example.case.spec, example.case.types)
            for each in passes[: max(waiting, default=0)]:
                before = module.clone() if each.name not in SIMPLE and not changed[each.name] else None
                each.apply(context(), module)
                changed[each.name] += before is None or not before.is_structurally_equivalent(module)

    draw()


def test_a_budget_of_time_is_kept() -> None:
    summary = fuzz(FuzzPlan(None, seconds=2.0))
    assert summary.failure is None and summary.cases and summary.seconds < 20


def test_conditions_that_nothing_meets_are_told() -> None:
    text = "attention never { dims N input x : f32[N] output o : f32[N] require N == 1 each i in N o[i] = x[i] }"
    with pytest.raises(Unmet):
        fuzz(FuzzPlan(check(Source(text)), examples=1, dims={"N": 2}))
