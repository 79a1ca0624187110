"""The loops in which gradients are summed: what compiled programs make of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from attndsl.checking.check import check
from attndsl.checking.elements import usual_element
from attndsl.gradient import gradient
from attndsl.ir import tile
from attndsl.ir.rewrite import constant
from attndsl.syntax.source import Source
from attndsl.testing import Case, Form, check_stages
from attndsl.testing.stages import lower

from .differences import slopes_differ

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("target", ["numpy", "triton"])
@pytest.mark.parametrize("name", ["relative_bias", "t5_bias", "pair_bias", "alibi", "gqa"])
def test_pairs_of_rows_and_keys_are_products_of_matrices(name: str, target: str) -> None:
    """Also where each pair has a place in a table, and batches alone are left to sum over."""
    backward = check(Source(gradient(check(Source((EXAMPLES / f"{name}.attn").read_text(encoding="utf-8")))).backward))
    types = {name: usual_element(choices) for name, choices in backward.types.items()}
    module = lower(Case(backward, types, {}, {}, {}), Form(target))
    kernels = [op for op in module.body.block.ops if isinstance(op, tile.KernelOp)]
    for kernel in kernels:
        loads = {op.tensor.string_value() for op in kernel.walk() if isinstance(op, tile.LoadOp)}
        if {"q", "k"} <= loads:
            assert sum(isinstance(op, tile.DotOp) for op in kernel.walk()) >= 2


@pytest.mark.parametrize("target", ["numpy", "triton"])
@pytest.mark.parametrize("name", ["relative_bias", "t5_bias"])
def test_programs_of_all_pairs_meet_in_a_distance(name: str, target: str) -> None:
    """Also those that agree in a tile of rows: of these each tells its keys apart, and a program has several."""
    spec = check(Source((EXAMPLES / f"{name}.attn").read_text(encoding="utf-8")))
    backward = check(Source(gradient(spec, of=("bias",)).backward))
    dims = {"B": 1, "H": 2, "M": 9, "N": 8, "D": 2, "E": 2}
    check_stages([Case.make(backward, seed=0, dims=dims)], form=Form(target, 4, 3))


TABLE = """attention table {{
    dims M, N, D
    input  x : f64[M, D]
    input  y : f64[N, D]
    input  w : f64[3]
    input  at : i32[M, N]
    output o : f64[M, D]
    {schedule}
    each i in M
    over j in N

    o[i,:] = softmax(x[i,:] . y[j,:] + w[{place}]) . y[j,:]
}}"""
"""A table that pairs of rows and keys read."""


@pytest.mark.parametrize(
    ("place", "schedule", "by"),
    [
        ("at[i,j]", "", "shares"),
        ("at[i,i] + j % 2", "", "shares"),
        ("at[0,maximum(j - i, i)]", "", "shares"),
        ("at[0,j + i]", "", "shares"),
        ("at[0,2 * j - 2 * i]", "", "shares"),
        ("at[0,abs(j - i)]", "", "by_distance"),
        ("at[0,minimum(i + 1 - (j + 2), N)] + (if 1 + i > j + N then 1 else 0)", "", "by_distance"),
        ("at[0,(if j <= i then -(j - i) else 0) % 2] + i - i", "", "by_distance"),
        ("(j - i) % 3", "", None),
        ("at[i,0]", "", None),
        ("at[0,j]", "", None),
        ("at[i,j]", "schedule { deterministic = true }", None),
        ("at[0,abs(j - i)]", "schedule { deterministic = true }", None),
    ],
)
def test_pairs_that_data_send_to_one_element_have_sums_of_their_own(place: str, schedule: str, by: str | None) -> None:
    """Or of their distance; not where each element asks all pairs, for the same bits each time, and waits for none."""
    spec = check(Source(TABLE.format(place=place, schedule=schedule)))
    backward = gradient(spec, of=("w",)).backward
    assert [name for name in ("shares", "by_distance") if f"w_{name}" in backward] == [name for name in (by,) if name]
    for seed in (3, 4):
        assert slopes_differ(spec, Case.make(spec, "f64", seed=seed, hostile=True)) == []


SHARED = ["mqa", *(pytest.param(n, marks=pytest.mark.matrix) for n in ("gqa", "sliding_window", "packed_ragged"))]
"""Specs whose heads share keys."""


@pytest.mark.parametrize("form", [Form("numpy"), Form("triton"), Form("triton", known=True)], ids=str)
@pytest.mark.parametrize("name", SHARED)
def test_heads_that_share_a_key_are_a_loop_around_queries(name: str, form: Form) -> None:
    """Nothing is added to memory, and the queries of a tile of keys have bounds."""
    text = (EXAMPLES / f"{name}.attn").read_text(encoding="utf-8")
    backward = check(Source(gradient(check(Source(text)), of=("k", "v")).backward))
    types = {name: usual_element(choices) for name, choices in backward.types.items()}
    module = lower(Case(backward, types, {"D": 16, "E": 16}, {}, {}), form)
    assert not any(isinstance(op, tile.StoreOp) and op.adds is not None for op in module.walk())
    loops = [op for op in module.walk() if isinstance(op, tile.LoopOp) and op.outer is not None and op.axis is not None]
    assert loops and all(sum(isinstance(op, tile.DotOp) for op in loop.walk()) >= 4 for loop in loops)
    assert all(constant(loop.lb) is None for loop in loops)


GROUPED = """attention grouped {{
    dims H, G, M, N, D

    input  q : f64[H, M, D]
    input  k : f64[G, N, D]
    input  w : i32[H]
    output o : f64[H, M, D]

    {require}

    each h in H, i in M
    over j in N

    mask = {mask}

    o[h,i,:] = softmax(q[h,i,:] . k[h / {size}, j, :], mask) . k[h / {size}, j, :]
}}
"""


@pytest.mark.parametrize(
    ("require", "size", "mask", "grouped"),
    [
        ("require H % 2 == 0", "2", "j <= i", True),
        ("require H % G == 0", "(H / G)", "j <= i", True),
        ("require H % G == 0", "(H / G)", "j <= i + h / (H / G)", True),
        ("", "2", "j <= i", False),  # the last group may be smaller
        ("", "(H / G)", "j <= i", False),
        ("require H % 2 == 0", "2", "i - w[h] < j", False),  # each row of a group has its own bounds
        ("require H % 2 == 0", "2", "j <= i + h", False),
    ],
)
def test_groups_are_rows_where_they_are_alike(require: str, size: str, mask: str, grouped: bool) -> None:
    """What tells the rows of a group apart keeps them apart; the gradient is right either way."""
    spec = check(Source(GROUPED.format(require=require, size=size, mask=mask)))
    assert ("over t in" in gradient(spec, of=("k",)).backward) == grouped
    assert slopes_differ(spec, Case.make(spec, "f64", seed=2, dims={"H": 4, "G": 2}, hostile=True)) == []
