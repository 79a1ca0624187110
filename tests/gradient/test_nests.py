"""The loops in which gradients are summed: what compiled programs make of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from attndsl.checking.check import check
from attndsl.checking.typed import usual_element
from attndsl.gradient import gradient
from attndsl.ir import tile
from attndsl.syntax.source import Source
from attndsl.testing import Case, Form
from attndsl.testing.stages import lower

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
