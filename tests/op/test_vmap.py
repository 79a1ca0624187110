"""`torch.vmap`: what it gives is what the calls one by one give."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import attndsl
from attndsl.driver.library import checked
from attndsl.inputs import default_dims, default_params, make_inputs
from attndsl.op import errors
from attndsl.op.torch_tensors import ELEMENTS
from attndsl.syntax.gallery import gallery

LET = """attention defined {
    dims M, N, D
    input  q     : f32[M, D]
    input  k     : f32[N, D]
    input  base  : f32[] = 0.5
    output o     : f32[M, D]
    let lane = base[]
    let s[i, j]     = q[i,:] . k[j,:] + lane
    let key[j, :]   = k[j,:] * lane
    let Lanes       = 2.0
    each i in M
    over j in N
    o[i,:] = softmax(s[i,j]) . key[j,:] * Lanes
}
"""

CACHE = """attention appended {
    dims N, D
    input  x     : f32[D]
    input  at    : i64[]
    inout  cache : f32[N, D]
    output o     : f32[D]
    each d in D
    cache[at[], d] = x[d]
    each d in D
    over j in N
    o[d] = sum(cache[j, d])
}
"""


def qkv(*batch: int) -> list[torch.Tensor]:
    random = torch.Generator().manual_seed(0)
    return [torch.randn(*batch, 2, 4 if n == "q" else 2, 5, 8, generator=random) for n in "qkv"]


@pytest.mark.parametrize("places", [(0, 0, 0), (-1, 0, None)])
def test_a_batch_is_what_its_calls_are(places: tuple[int | None, ...]) -> None:
    op = attndsl.load("sliding_window")
    batch = [(one if place is None else one.movedim(0, place)) for one, place in zip(qkv(3), places, strict=True)]
    batch = [one[0] if place is None else one for one, place in zip(batch, places, strict=True)]
    found = torch.vmap(lambda q, k, v: op(q, k, v, window=3), in_dims=places)(*batch)
    for number in range(3):
        one = [t if place is None else t.select(place, number) for t, place in zip(batch, places, strict=True)]
        torch.testing.assert_close(found[number], op(*one, window=3))


def test_batches_of_batches_and_of_nothing() -> None:
    op, given = attndsl.load("gqa"), qkv(2, 3)
    found = torch.vmap(torch.vmap(op))(*given)
    torch.testing.assert_close(found, torch.stack([torch.stack([*map(op, *row)]) for row in zip(*given, strict=True)]))
    q, k, v = given
    found = torch.vmap(torch.vmap(op, in_dims=(None, 0, 0)), in_dims=(0, None, 1))(
        q[:, 0], k[0, :2], v[:, :2].transpose(0, 1)[:, :2]
    )
    torch.testing.assert_close(found[1, 0], op(q[1, 0], k[0, 0], v[1, 0]))
    assert torch.vmap(op)(*(each[:0, 0] for each in given)).shape == (0, 2, 4, 5, 8)


def test_definitions_before_the_first_block() -> None:
    op = attndsl.compile(LET)
    q, k, base = torch.randn(3, 4, 5), torch.randn(3, 6, 5), torch.randn(3)
    for places in ((0, 0, 0), (None, None, 0)):
        given = [t if place == 0 else t[0] for t, place in zip((q, k, base), places, strict=True)]
        found = torch.vmap(op, in_dims=places)(*given)
        for n in range(3):
            one = [t[n] if place == 0 else t for t, place in zip(given, places, strict=True)]
            torch.testing.assert_close(found[n], op(*one))
    torch.testing.assert_close(torch.vmap(op)(q, k)[1], op(q[1], k[1]))


LIKE = """attention a {
    dims B, M, N, D
    types T
    input  ends : i32[B + 1]
    input  q : T[B, M, D]
    input  k : T[B, N, D]
    output o : T[B, M, D]
    schedule { LAYOUT }
    each b in B, i in M
    over j in minimum(N, ends[b + 1] - ends[b])
    o[b,i,:] = softmax(q[b,i,:] . k[b,j,:]) . k[b,j,:]
}"""
"""Where `ends` has a batch's axis, outputs with one have no axes of it at their places any more."""


@pytest.mark.parametrize(
    "layout", ["layout = ends", "layout = ends, deterministic = true", "deterministic = true layout = ends # as it is"]
)
def test_outputs_of_a_batch_may_lie_otherwise(layout: str) -> None:
    op = attndsl.compile(LIKE.replace("{ LAYOUT }", f"{{ {layout}\n }}"))
    ends = torch.tensor([[0, 2, 3], [0, 1, 4], [0, 6, 8]], dtype=torch.int32)
    q, k = torch.randn(3, 2, 5, 4), torch.randn(3, 2, 6, 4)
    found = torch.vmap(op)(ends, q, k)
    for n in range(3):
        torch.testing.assert_close(found[n], op(ends[n], q[n], k[n]))


def test_what_is_written_in_place_has_the_batch() -> None:
    op, cache = attndsl.compile(CACHE), torch.zeros(2, 3, 4)
    x, at = torch.arange(8.0).reshape(2, 4), torch.tensor([0, 2])
    o = torch.vmap(op)(x, at, cache)
    assert torch.equal(cache[[0, 1], at], x)
    assert torch.equal(o, x)
    with pytest.raises(errors.NotBatched, match=r"^cache has no axis of torch\.vmap's batch, but appended would write"):
        torch.vmap(op, in_dims=(0, 0, None))(x, at, cache[0])
    out = torch.empty(2, 4)
    torch.vmap(lambda x, at, cache, out: op(x, at, cache, out=out))(x, at, cache, out)
    assert torch.equal(out, x)
    with pytest.raises(errors.NotBatched, match=r"^o has no axis"):
        torch.vmap(lambda x, at, cache: op(x, at, cache, out=out[0]))(x, at, cache)


GRADIENTS: dict[str, Callable[[Any], Callable[..., Any]]] = {
    "vmap of grad": lambda op: torch.vmap(torch.func.grad(lambda *t: op(*t).square().sum(), argnums=(0, 1, 2))),
    "grad of vmap": lambda op: torch.func.grad(lambda *t: torch.vmap(op)(*t).square().sum(), argnums=(0, 1, 2)),
    "vmap of vjp": lambda op: torch.vmap(lambda *t: torch.func.vjp(op, *t)[1](2 * op(*t))),
    "backward of vmap": lambda op: (
        lambda *t: torch.autograd.grad(
            torch.vmap(op)(*(r := [x.detach().requires_grad_() for x in t])).square().sum(), r
        )
    ),
}


@pytest.mark.parametrize(
    "way",
    ["grad of vmap", *(pytest.param(way, marks=pytest.mark.matrix) for way in GRADIENTS if way != "grad of vmap")],
)
def test_gradients_of_a_batch(way: str) -> None:
    op, given = attndsl.load("gqa"), qkv(3)
    found = GRADIENTS[way](op)(*given)
    for number in range(3):
        one = [each[number].requires_grad_() for each in given]
        wanted = torch.autograd.grad(op(*one).square().sum(), one)
        for batch, alone in zip(found, wanted, strict=True):
            torch.testing.assert_close(batch[number], alone, rtol=1e-4, atol=1e-5)


def test_a_gradient_of_what_is_shared_is_the_sum() -> None:
    op, (q, k, v) = attndsl.load("gqa"), qkv(3)
    shared = torch.func.grad(lambda k: torch.vmap(lambda q, v: op(q, k, v))(q, v).square().sum())(k[0])
    each = [torch.func.grad(lambda k, n=n: op(q[n], k, v[n]).square().sum())(k[0]) for n in range(3)]
    torch.testing.assert_close(shared, sum(each), rtol=1e-4, atol=1e-5)
    alone = torch.vmap(torch.func.grad(lambda v: op(q[0], k[0], v).square().sum()))(v)  # lse has no batch
    torch.testing.assert_close(alone[1], torch.func.grad(lambda v: op(q[0], k[0], v).square().sum())(v[1]))


def test_a_compiled_batch() -> None:
    op, given = attndsl.load("gqa"), qkv(3)
    compiled = torch.compile(torch.vmap(op), fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(*given), torch.vmap(op)(*given))


@pytest.mark.matrix
@pytest.mark.parametrize("path", [spec.path for spec in gallery()], ids=lambda path: path.stem)
def test_every_spec_of_the_gallery_has_batches(path: Path) -> None:
    op = attndsl.load(path)
    spec = checked(op.spec)
    params = default_params(spec)
    dims = default_dims(spec, params=params)
    calls = [make_inputs(spec, dims, seed=seed, params=params) for seed in range(2)]
    inputs = [torch.stack([torch.from_numpy(call[tensor.name]) for call in calls]) for tensor in spec.inputs]
    stored = [ELEMENTS.get(tensor.element, each.dtype) for tensor, each in zip(spec.inputs, inputs, strict=True)]
    inputs = [each.view(dtype) for each, dtype in zip(inputs, stored, strict=True)]
    lone = next((n for n, tensor in enumerate(spec.inputs) if tensor.role == "input"), 0)
    for shared in (None, lone):
        if shared is not None and len(inputs) == 1:
            continue
        given = [each[0] if n == shared else each.clone() for n, each in enumerate(inputs)]
        alone = [[each if n == shared else each[row].clone() for n, each in enumerate(given)] for row in range(2)]
        places = tuple(None if n == shared else 0 for n in range(len(given)))
        found = torch.vmap(lambda *t: op(*t, **params), in_dims=places)(*given)
        wanted = [op(*one, **params) for one in alone]
        for row, one in enumerate(wanted):
            several = isinstance(one, tuple)
            for batch, each in zip(found if several else [found], one if several else [one], strict=True):
                if each is not None:
                    torch.testing.assert_close(batch[row].float(), each.float(), equal_nan=True)
            for n, tensor in enumerate(spec.inputs):
                if tensor.role == "inout":
                    torch.testing.assert_close(given[n][row], alone[row][n])
