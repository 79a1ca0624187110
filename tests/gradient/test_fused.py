"""Gradients of queries that are added up by the kernel of keys and values: where, that bugs show, and the same bits."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attndsl
from attndsl.checking.check import check
from attndsl.checking.elements import usual_element
from attndsl.checking.typed import Spec
from attndsl.gradient import NoGradient, gradient
from attndsl.ir import attn, tile
from attndsl.ir.pairs import Moved
from attndsl.ir.statements import of_kind
from attndsl.op import threads
from attndsl.passes import fuse_loops
from attndsl.syntax.source import Source
from attndsl.testing import Case, Disagreement, check_stages
from attndsl.testing.fuzz import Example, FuzzPlan
from attndsl.testing.stages import Form, lower

from .test_drawn import each_drawn

EXAMPLES = Path(__file__).parents[2] / "examples"

Patch = Callable[[pytest.MonkeyPatch], None]


@cache
def backward(name: str) -> Spec:
    return check(Source(gradient(check(Source((EXAMPLES / f"{name}.attn").read_text(encoding="utf-8")))).backward))


def kernels(spec: Spec) -> list[tile.KernelOp]:
    types = {name: usual_element(choices) for name, choices in spec.types.items()}
    module = lower(Case(spec, types, {}, {}, {}), Form("numpy"))
    return [op for op in module.body.block.ops if isinstance(op, tile.KernelOp)]


def is_fused(kernel: tile.KernelOp) -> bool:
    return any(isinstance(op.parent_op(), tile.LoopOp) for op in of_kind(kernel, tile.StoreOp))


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("causal_end", "j"),
        ("cross_attention", None),  # how many keys there are rests on the batch
        ("alibi", None),  # batches add to one slope
        ("document_mask", "j"),
        ("gqa", "j"),
        ("int8_cache", "j"),
        ("relative_bias", "j"),
        ("rotary", "j"),
        ("sliding_window", "j"),
        ("softcap", "j"),
    ],
)
def test_two_kernels_of_the_same_pairs_are_one(name: str, steps: str | None) -> None:
    fused = [kernel for kernel in kernels(backward(name)) if is_fused(kernel)]
    assert len(fused) == 1
    assert sum(isinstance(op, tile.DotOp) for op in fused[0].walk()) >= 5
    said = [op.steps.data if op.steps is not None else None for op in of_kind(fused[0], tile.ThreadsOp)]
    assert said == [steps]


@pytest.mark.parametrize("name", ["paged_decode", "qk_norm"])
def test_others_stay_apart(name: str) -> None:
    assert not any(map(is_fused, kernels(backward(name))))


ENDED = """attention ended {
    dims B, M, N, D
    types T = f32
    input  q : T[B, M, D]
    input  k : T[B, N, D]
    input  e : i32[N]
    output o : T[B, M, D]
    output w : T[B, N, D]

    each b in B, i in M
    over j in N
    mask = i < e[j]
    o[b,i,:] = sum(exp(q[b,i,:] . k[b,j,:] / 99.0) * k[b,j,:], mask)

    each b in B, j in N
    over i in M
    mask = i < e[j]
    w[b,j,:] = sum(exp(q[b,i,:] . k[b,j,:] / 99.0) * q[b,i,:], mask)
}"""
"""Keys that data end at any row."""

SCORES = """attention scores {
    dims B, M, N, D
    types T = f32
    input  q : T[B, M, D]
    input  k : T[B, N, D]
    output o : T[B, M, D]
    output w : T[B, N, D]

    each b in B, i in M
    over j in N
    score = q[b,i,:] . k[b,j,:] / sqrt(D)
    mask = j <= i
    o[b,i,:] = softmax(score, mask) . k[b,j,:]

    each b in B, j in N
    over i in M
    score = q[b,i,:] . k[b,j,:] / sqrt(D)
    mask = j <= i
    w[b,j,:] = sum(score * q[b,i,:], mask) / sqrt(D)
}"""
"""Rows whose softmax subtracts no maximum where none is needed, and keys that are given scores."""


def test_what_is_added_is_added_once() -> None:
    """However often a softmax is folded."""
    spec = check(Source(SCORES))
    assert any(map(is_fused, kernels(spec)))
    check_stages([Case.make(spec, seed=seed, hostile=True).poisoned() for seed in range(2)])


def pairs_left_out_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    original = fuse_loops._scatter

    def scatter(moved: Any, each: Any, *rest: Any) -> None:
        original(moved, each, *rest)
        (op,) = (op for op in moved.block.ops if isinstance(op, attn.ScatterOp))
        bare = attn.ScatterOp(op.tensor.string_value(), op.indices, op.value, op.over, list(op.along), None)
        moved.block.insert_op_before(bare, op)
        moved.block.erase_op(op)

    monkeypatch.setattr(fuse_loops, "_scatter", scatter)


def sums_are_not_scaled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuse_loops, "_scaled", lambda moved, each: moved.value(each.total.body))


def nothing_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuse_loops._Sum, "is_scaled_by_sizes", True)
    sums_are_not_scaled(monkeypatch)


@pytest.mark.parametrize(
    ("patch", "name"),
    [
        (pairs_left_out_are_added, "causal_end"),
        (sums_are_not_scaled, "gqa"),
        (nothing_is_ended, "f16"),
    ],
)
def test_a_planted_bug_is_named(patch: Patch, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = check(Source(SCORES.replace("f32", "f16"))) if name == "f16" else backward(name)
    cases = [Case.make(spec, seed=seed, hostile=True).poisoned() for seed in range(2)]
    check_stages(cases)
    patch(monkeypatch)
    with pytest.raises(Disagreement) as caught:
        check_stages(cases)
    assert caught.value.stage == "fuse-loops"


OTHERS = """attention others {{
    dims B, M, N, D
    types T = f32
    input  q : T[B, M + 1, D]
    input  k : T[B, N, D]
    input  x : T[B, M + 1]
    output o : T[B, {m}, D]
    output w : T[B, N, D]

    each b in B, i in {m}
    over j in N
    o[b,i,:] = sum(exp(q[b,i,:] . k[b,j,:] / 9.0 + x[b,i]) * k[b,j,:])

    each b in B, j in N
    over i in M
    w[b,j,:] = sum(exp(q[b,{i},:] . k[b,{j},:] / 9.0 + x[b,{x}]) * q[b,i,:])
}}"""
"""Keys that read rows, or keys, that are not those of the pair."""

PAIRS = [
    ("i", "j", "i", "M", True),
    ("M - 1 - i", "j", "M - 1 - i", "M", True),
    ("i", "N - 1 - j", "i", "M", True),
    ("i", "j", "M - 1 - i", "M", False),
    ("i", "j", "i", "M + 1", False),
    ("i / 2", "j", "i / 2", "M", False),
    ("0", "j", "0", "M", False),
]
"""What keys read, and whether that makes pairs in another order, which are the same."""


def others(i: str, j: str, x: str, m: str) -> tuple[Spec, list[Case]]:
    spec = check(Source(OTHERS.format(i=i, j=j, x=x, m=m)))
    return spec, [Case.make(spec, seed=seed, dims={"B": 2, "M": 5, "N": 5, "D": 3}) for seed in range(2)]


@pytest.mark.parametrize(("i", "j", "x", "m", "same"), PAIRS)
def test_pairs_that_others_read(i: str, j: str, x: str, m: str, same: bool) -> None:
    spec, cases = others(i, j, x, m)
    assert any(map(is_fused, kernels(spec))) == same
    check_stages(cases)


def all_pairs_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Moved, "is_one_to_one", lambda self, other: True)


def no_integers_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Moved.is_one_to_one

    def is_one_to_one(self: Moved, other: attn.KernelOp) -> bool:
        self.matched.equal.clear()
        return original(self, other)

    monkeypatch.setattr(Moved, "is_one_to_one", is_one_to_one)


@pytest.mark.parametrize(
    ("patch", "pair"), [(all_pairs_are_the_same, PAIRS[4][:4]), (no_integers_are_compared, PAIRS[3][:4])]
)
def test_pairs_that_are_not_the_same_show(
    patch: Patch, pair: tuple[str, str, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    patch(monkeypatch)
    with pytest.raises(Disagreement) as caught:
        check_stages(others(*pair)[1])
    assert caught.value.stage == "fuse-loops"


def several(op: attndsl.Op, arrays: Any, monkeypatch: pytest.MonkeyPatch, **params: Any) -> None:
    """Calls an operator with several numbers of threads, and compares to the bit."""
    found = []
    for number in (1, 2, 5):
        monkeypatch.setattr(threads, "threads", lambda number=number: number)
        found.append(op(**arrays, **params))
    for others in found[1:]:
        assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(found[0], others, strict=True))


@pytest.mark.parametrize("name", ["causal_end", "gqa", "alibi", "sliding_window"])
def test_no_bit_rests_on_the_number_of_threads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = backward(name)
    dims = {"B": 2, "H": 3, "Hq": 4, "Hkv": 2, "M": 600, "N": 700, "D": 32, "E": 32}
    case = Case.make(spec, "f32", seed=3, dims={dim: dims[dim] for dim in spec.dims}, params={"window": 300})
    several(attndsl.compile(spec.source.text), case.arrays, monkeypatch, **case.params)


def test_steps_that_end_early_are_waited_for_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those before them may add yet to what those behind them wait for."""
    random = np.random.default_rng(1)
    q, k = (random.normal(size=(2, size, 32)).astype(np.float32) for size in (512, 1152))
    ends = np.where(np.arange(1152) // 128 % 2, 0, 512).astype(np.int32)
    assert any(map(is_fused, kernels(check(Source(ENDED)))))
    for _ in range(3):
        several(attndsl.compile(ENDED), {"q": q, "k": k, "e": ends}, monkeypatch)


@pytest.mark.matrix
def test_gradients_of_drawn_specs_agree_at_every_stage() -> None:
    """Those in which kernels are fused, of which some are."""
    fused = 0

    def agrees(example: Example) -> None:
        nonlocal fused
        try:
            spec = check(Source(gradient(example.case.spec).backward))
        except NoGradient:
            return
        if any(map(is_fused, kernels(spec))):
            fused += 1
            check_stages([Case.make(spec, seed=seed, hostile=seed > 0).poisoned() for seed in range(2)])

    each_drawn(40, FuzzPlan(None, ()), agrees)
    assert fused > 0
