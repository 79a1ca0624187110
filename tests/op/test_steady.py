"""Calls like earlier ones, into memory that is there: they keep nothing, and take no more than scratch for a tile."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
import torch

import attndsl
from attndsl.op import torch_tensors
from attndsl.op.op import Op

HEADS, KV_HEADS, D, S = 4, 2, 16, 8

SCRATCH = 2**21
"""Bytes that a call may take while it lasts: more than a tile of 128 rows and 2048 keys, less than half a cache."""


def gqa(keys: int) -> tuple[Op, dict[str, Any]]:
    """A decode over so many keys."""
    q, o = torch.randn(2, HEADS, 1, D), torch.empty(2, HEADS, 1, D)
    k, v = torch.randn(2, 2, KV_HEADS, keys, D)
    return attndsl.load("gqa"), {"q": q, "k": k, "v": v, "out": o}


def append_ragged(keys: int) -> tuple[Op, dict[str, Any]]:
    """Two decodes and a chunk of 6 rows, each of a request with so many keys."""
    pages, rows = keys // S, 8
    q, o = torch.randn(rows, HEADS, D), torch.empty(rows, HEADS, D)
    k, v = torch.randn(2, rows, KV_HEADS, D)
    k_pages, v_pages = torch.randn(2, 3 * pages, S, KV_HEADS, D)
    numbers: dict[str, torch.Tensor] = {
        "slot": torch.arange(rows),
        "table": torch.randperm(3 * pages).view(3, pages),
        "cu_q": torch.tensor([0, 1, 2, 8]),
        "length": torch.tensor([keys] * 3),
    }
    given = {"q": q, "k": k, "v": v, "k_pages": k_pages, "v_pages": v_pages, "out": o}
    return attndsl.load("append_ragged"), given | numbers


MAKE = pytest.mark.parametrize("make", [pytest.param(gqa, marks=pytest.mark.matrix), append_ragged])
Make = Callable[[int], tuple[Op, dict[str, Any]]]


@MAKE
def test_torch_allocates_nothing(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_tensors, "SMALL", 0)  # what it counts is torch's own memory
    op, given = make(64)

    def allocations() -> int:
        with torch.profiler.profile(profile_memory=True) as profile:
            op(**given)
        assert profile.profiler is not None
        return sum(event.name() == "[memory]" for event in profile.profiler.kineto_results.events())

    allocations()
    assert allocations() == 0
    del given["out"]
    assert allocations() > 0


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No thread but this one computes."""
    monkeypatch.setenv("ATTNDSL_NUM_THREADS", "1")


@MAKE
@pytest.mark.usefixtures("alone")
def test_calls_keep_nothing(make: Make) -> None:
    """Not an object each, once NumPy has put aside what it likes to hand out again."""
    op, given = make(64)

    def kept(calls: int) -> int:
        gc.collect()
        before = sys.getallocatedblocks()
        for _ in range(calls):
            op(**given)
        gc.collect()
        return sys.getallocatedblocks() - before

    kept(20)
    assert any(kept(20) < 20 for _ in range(10))


@MAKE
@pytest.mark.usefixtures("alone")
def test_calls_take_the_scratch_of_a_tile(make: Make) -> None:
    """However much they read."""
    op, given = make(16384)
    assert sum(tensor.nbytes for tensor in given.values()) > 2 * SCRATCH
    op(**given)
    tracemalloc.start()
    try:
        op(**given)
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        op(**given)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most - before < SCRATCH


@pytest.mark.matrix
def test_prepared_for_a_size_numba_has_nothing_left_to_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    dims = {"B": 1, "Hq": 2, "Hkv": 1, "M": 70, "N": 130, "D": 8, "E": 8}
    op = attndsl.load("gqa")
    op.prepare(**dims)
    program: Any = op.binding.function({"T": "f32"})
    loops = {name: loop for name, loop in program.__wrapped__.__globals__.items() if name.startswith("_fused")}
    known = {name: [*loop.signatures] for name, loop in loops.items()}
    assert any(known.values())
    q, (k, v) = torch.randn(1, 2, 70, 8), torch.randn(2, 1, 1, 130, 8)
    op(q, k, v)
    assert {name: [*loop.signatures] for name, loop in loops.items()} == known


@pytest.mark.parametrize(
    ("op", "of"),
    [
        (attndsl.load("append_ragged"), {"M": 9, "I": "i64"}),
        (attndsl.load("sinks"), {"N": 9}),
        (attndsl.load("alibi"), {"T": "bf16", "N": 3}),
    ],
    ids=lambda value: value.__name__ if isinstance(value, Op) else "",
)
def test_prepared_for_a_size_a_call_is_made(op: Op, of: dict[str, Any]) -> None:
    op.prepare(**of)
    calls = op._array_calls
    assert calls is not None
    assert len(calls._plans) == 1
