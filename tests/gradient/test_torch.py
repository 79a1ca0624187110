"""Gradients of tensors: torch's own check, in float64, of the gallery."""

from __future__ import annotations

import pytest
import torch

import attndsl
from attndsl.gradient import gradient
from attndsl.testing import Case
from attndsl.testing.against import AS_BITS

from .differences import tame, widened
from .test_gallery import EACH, text_of


@EACH
def test_gradcheck(name: str) -> None:
    spec = widened(text_of(name))
    found = gradient(spec)
    case = Case.make(spec, "f64", seed=4)
    tensors = {n: torch.tensor(tame(array)) for n, array in case.arrays.items()}
    for tensor in spec.inputs:
        if tensor.element in AS_BITS:
            tensors[tensor.name] = tensors[tensor.name].view(getattr(torch, AS_BITS[tensor.element]))
    op = attndsl.compile(spec.source.text)
    said = {t: "f64" if "f64" in spec.types[t] else spec.types[t][0] for t in spec.said}

    def call(*given: torch.Tensor) -> tuple[torch.Tensor, ...]:
        moved = dict(zip(found.gradients, given, strict=True))
        written = op(**{**tensors, **moved}, **case.params, **said)
        outputs = written if isinstance(written, tuple) else (written,)
        return tuple(output for output in outputs if output.requires_grad)

    wanted = [tensors[n].clone().requires_grad_() for n in found.gradients]
    assert torch.autograd.gradcheck(call, wanted, fast_mode=True)


def test_two_outputs_of_which_one_is_used() -> None:
    """The other's cotangent is nothing."""
    op = attndsl.load("lse")
    q, k, v = (torch.randn(1, 2, n, 4, dtype=torch.float64, requires_grad=True) for n in (3, 5, 5))
    o, lse = op(q, k, v)
    assert torch.autograd.grad(o.sum(), v, retain_graph=True)[0].isfinite().all()
    (found,) = torch.autograd.grad(lse.sum(), v)
    assert torch.equal(found, torch.zeros_like(v))


def test_an_input_that_is_left_out() -> None:
    """It is its default, whose gradient nobody asks for."""
    op = attndsl.load("sinks")
    q, k, v = (torch.randn(1, 2, n, 4, requires_grad=True) for n in (3, 5, 5))
    op(q, k, v).sum().backward()
    other = attndsl.load("causal_end")
    wanted = torch.autograd.grad(other(q, k, v).sum(), (q, k, v))
    torch.testing.assert_close((q.grad, k.grad, v.grad), wanted)


def test_an_extent_of_one_gets_the_sum() -> None:
    """What stands for all rows gets what all of them give back."""
    op = attndsl.load("dense_bias")
    q, k, v = (torch.randn(2, 2, n, 4, dtype=torch.float64) for n in (3, 5, 5))
    bias = torch.randn(1, 2, 1, 5, dtype=torch.float64, requires_grad=True)
    (found,) = torch.autograd.grad(op(q, k, v, bias=bias).square().sum(), bias)
    full = bias.detach().expand(2, 2, 3, 5).clone().requires_grad_()
    (all_,) = torch.autograd.grad(op(q, k, v, bias=full).square().sum(), full)
    torch.testing.assert_close(found, all_.sum((0, 2), keepdim=True))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_gradients_have_the_types_of_inputs(dtype: torch.dtype) -> None:
    op = attndsl.load("gqa")
    q, k, v = (torch.randn(1, h, n, 4, dtype=dtype, requires_grad=True) for h, n in ((4, 3), (2, 5), (2, 5)))
    found = torch.autograd.grad(op(q, k, v).sum(), (q, k, v))
    assert [grad.dtype for grad in found] == [dtype] * 3
    wide = [tensor.detach().double().requires_grad_() for tensor in (q, k, v)]
    wanted = torch.autograd.grad(op(*wide).sum(), wide)
    for grad, right in zip(found, wanted, strict=True):
        torch.testing.assert_close(grad.double(), right, atol=0.03, rtol=0.03)
