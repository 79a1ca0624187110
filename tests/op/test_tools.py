"""What else of torch meets an op: graphs of torch.fx, and what counts operations."""

from __future__ import annotations

import copy
import subprocess
import sys
from typing import Any

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

import attndsl
import attndsl.nn


def qkv(heads: int = 4) -> list[torch.Tensor]:
    random = torch.Generator().manual_seed(0)
    return [torch.randn(2, heads, 5, 8, generator=random) for _ in "qkv"]


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = attndsl.nn.Attention("alibi", slope=torch.rand(4))
        self.window = attndsl.load("sliding_window")
        self.quantise = attndsl.load("quantise_int8")

    def forward(self, q: Any, k: Any, v: Any, window: int = 3) -> Any:
        ints = self.quantise(k)
        return self.attention(q, k=k, v=v) + self.window(q, k, v, window=window), ints.k_int * ints.k_scale[..., None]


def test_symbolic_trace_keeps_the_op() -> None:
    block = Block()
    graph = torch.fx.symbolic_trace(block)
    calls = [node for node in graph.graph.nodes if node.op == "call_function"]
    assert {block.window, block.quantise, block.attention.op} <= {node.target for node in calls}
    assert "sliding_window(" in graph.code
    for made in (graph, copy.deepcopy(graph), torch.fx.symbolic_trace(graph)):
        for found, wanted in zip(made(*qkv(), window=2), block(*qkv(), window=2), strict=True):
            assert torch.equal(found, wanted)


@pytest.mark.parametrize("backward", [False, True])
def test_operations_are_counted_as_those_of_torchs_attention(backward: bool) -> None:
    counts = []
    for attend in (torch.nn.functional.scaled_dot_product_attention, attndsl.load("mha")):
        q, k, v = (each.requires_grad_(backward) for each in qkv())
        with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
            o = attend(q, k, v)
            forward = counter.get_total_flops()
            if backward:
                o.sum().backward()
        counts.append((forward, counter.get_total_flops() - forward))
    own, ours = counts
    assert ours[0] == own[0] == 4 * 2 * 4 * 5 * 5 * 8
    if backward:
        assert own[1] == 2 * own[0]  # of weights that it has kept
        assert ours[1] == 3.5 * own[0] + 2 * 2 * 4 * 5 * 8  # and what a row's gradient and its output have in common


def test_operations_of_a_batch_and_of_what_is_written() -> None:
    op, (q, k, v) = attndsl.load("mha"), qkv()
    with FlopCounterMode(display=False) as counter:
        op(q, k, v, out=torch.empty_like(q))
        assert counter.get_total_flops() == 4 * 2 * 4 * 5 * 5 * 8
        torch.vmap(op)(*(each[None].expand(3, *each.shape) for each in (q, k, v)))
    assert counter.get_total_flops() == 4 * 4 * 2 * 4 * 5 * 5 * 8
    shown = counter.get_flop_counts()["Global"]
    assert f"attndsl.{op.key}_out" in {str(packet) for packet in shown}


@pytest.mark.matrix
def test_operations_are_counted_where_the_counter_is_imported_last() -> None:
    program = """
import sys, torch, attndsl
op = attndsl.load("mha")
x = torch.ones(1, 2, 3, 4)
op(x, x, x)
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode
with FlopCounterMode(display=False) as counter:
    op(x, x, x)
assert counter.get_total_flops() == 4 * 2 * 3 * 3 * 4, counter.get_total_flops()
"""
    subprocess.run([sys.executable, "-c", program], check=True)
