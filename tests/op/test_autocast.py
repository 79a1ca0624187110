"""`torch.autocast`: an op takes floats as torch's own attention does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import attndsl
from attndsl.op.op import Op

MIXED = """attention mixed {
    dims M, N
    types T, A = f32 | f64
    input  x    : T[M, N]
    input  bias : T[N] = 0.0
    input  own  : f32[N]
    input  sums : A[M]
    output o    : T[M]
    output kept : A[M]
    each i in M
    over j in N
    o[i]    = sum(x[i,j] + bias[j] + own[j])
    kept[i] = sums[i]
}
"""

KEPT = """attention kept {
    dims N
    types T
    input x     : T[N]
    inout cache : T[N]
    each i in N
    cache[i] = x[i]
}
"""


def qkv(**types: torch.dtype) -> dict[str, torch.Tensor]:
    random = torch.Generator().manual_seed(0)
    return {n: torch.randn(2, 4, 5, 8, generator=random).to(types.get(n, torch.float32)) for n in "qkv"}


@pytest.fixture(params=["operator of attndsl", "operator of torch", "compiled"])
def call(request: pytest.FixtureRequest) -> Callable[[Op], Callable[..., Any]]:
    match request.param:
        case "operator of torch":
            return lambda op: lambda **given: getattr(torch.ops.attndsl, op.key)(*given.values())
        case "compiled":
            torch._dynamo.reset()
            return lambda op: torch.compile(op, fullgraph=True, backend="aot_eager")
    return lambda op: op


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_floats_take_the_type(call: Callable[[Op], Callable[..., Any]], dtype: torch.dtype) -> None:
    op, given = attndsl.load("gqa"), qkv()
    op(**given)  # a plan must not answer
    with torch.autocast("cpu", dtype=dtype):
        o = call(op)(**given)
        own = torch.nn.functional.scaled_dot_product_attention(given["q"], given["k"], given["v"])
    assert o.dtype == own.dtype == dtype
    assert torch.equal(o, op(**{name: tensor.to(dtype) for name, tensor in given.items()}))
    assert op(**given).dtype == torch.float32


def test_types_of_mixed_layers_meet() -> None:
    op = attndsl.load("gqa")
    with torch.autocast("cpu"):
        assert op(**qkv(q=torch.bfloat16, k=torch.float16)).dtype == torch.bfloat16
        assert op(**qkv(**dict.fromkeys("qkv", torch.float64))).dtype == torch.float64
        with torch.autocast("cpu", enabled=False):
            assert op(**qkv()).dtype == torch.float32


def test_what_the_spec_stores_in_a_type_of_its_own_stays() -> None:
    op = attndsl.compile(MIXED)
    x, own, sums = torch.rand(2, 3), torch.rand(3), torch.rand(2)
    with torch.autocast("cpu"):
        outputs = op(x, None, own, sums)
        assert (outputs.o.dtype, outputs.kept.dtype) == (torch.bfloat16, torch.float32)
        assert op(x.bfloat16(), torch.rand(3), own, sums.double()).kept.dtype == torch.float64


def test_what_is_written_in_place_says_the_type() -> None:
    op, x = attndsl.compile(KEPT), torch.rand(4)
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        cache = torch.zeros(4, dtype=dtype)
        with torch.autocast("cpu"):
            op(x.bfloat16(), cache)
        assert torch.equal(cache, x.bfloat16().to(dtype))


def test_gradients_have_the_type_of_what_they_are_of() -> None:
    op = attndsl.load("gqa")
    given = {name: tensor.requires_grad_() for name, tensor in qkv().items()}
    with torch.autocast("cpu"):
        o = op(**given)
    o.float().sum().backward()
    half = {name: tensor.detach().bfloat16().requires_grad_() for name, tensor in given.items()}
    op(**half).float().sum().backward()
    gradients = [each.grad for each in given.values() if each.grad is not None]
    for found, wanted in zip(gradients, half.values(), strict=True):
        assert found.dtype == torch.float32
        assert wanted.grad is not None and torch.equal(found, wanted.grad.float())
    with torch.autocast("cpu"):
        found = torch.func.grad(lambda q: op(q, *[*given.values()][1:]).float().sum())(given["q"].detach())
    assert torch.equal(found, gradients[0])
