"""Tensors that are more or less than elements at strides: computed as what they mean, or refused with the way out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest
import torch

import attndsl
from attndsl.op import errors
from attndsl.op.op import Op

SPEC = """
attention weighted {
    dims M, N
    types T
    input  x : T[M, N]
    input  y : T[N]
    output o : T[M]
    each i in M
    over j in N
    o[i] = sum(x[i,j] * y[j])
}
"""

X, Y = torch.randn(4, 4), torch.randn(4)

Make = Callable[[torch.Tensor], Any]
Call = Callable[[Any], torch.Tensor]


def nested(layout: torch.layout) -> Make:
    return lambda x: torch.nested.nested_tensor([x[0], x[1, :3]], layout=layout)


def to_padded(x: Any) -> Any:
    return torch.nested.to_padded_tensor(x, 0.0)


PACKED: dict[str, tuple[Make, str, str]] = {
    "coo": (lambda x: x.to_sparse(), "a tensor of layout torch.sparse_coo", "x.to_dense()"),
    "csr": (lambda x: x.to_sparse_csr(), "a tensor of layout torch.sparse_csr", "x.to_dense()"),
    "csc": (lambda x: x.to_sparse_csc(), "a tensor of layout torch.sparse_csc", "x.to_dense()"),
    "bsr": (lambda x: x.to_sparse_bsr((2, 2)), "a tensor of layout torch.sparse_bsr", "x.to_dense()"),
    "bsc": (lambda x: x.to_sparse_bsc((2, 2)), "a tensor of layout torch.sparse_bsc", "x.to_dense()"),
    "mkldnn": (lambda x: x.to_mkldnn(), "a tensor of layout torch._mkldnn", "x.to_dense()"),
    "nested": (nested(torch.strided), "a nested tensor", "torch.nested.to_padded_tensor(x, 0.0)"),
    "jagged": (nested(torch.jagged), "a nested tensor", "torch.nested.to_padded_tensor(x, 0.0)"),
    "masked": (lambda x: torch.masked.masked_tensor(x, x > 0), "a masked tensor", "x.to_tensor(0.0)"),
    "quantised": (
        lambda x: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8),
        "a quantised tensor",
        "x.dequantize()",
    ),
    "quantised by channel": (
        lambda x: torch.quantize_per_channel(x, torch.ones(4), torch.zeros(4), 0, torch.quint8),
        "a quantised tensor",
        "x.dequantize()",
    ),
}


class Wrapper(torch.Tensor):
    """A subclass that holds a tensor, and computes with it."""

    held: torch.Tensor

    @staticmethod
    def __new__(cls: type[Wrapper], held: torch.Tensor) -> Wrapper:
        made: Wrapper = torch.Tensor._make_wrapper_subclass(cls, held.shape, dtype=held.dtype)
        made.held = held
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        return func(*[arg.held if isinstance(arg, Wrapper) else arg for arg in args], **(kwargs or {}))


PLAIN: dict[str, Make] = {
    "negative": lambda x: torch._neg_view(-x),
    "imaginary part of a conjugate": lambda x: torch.conj(torch.complex(x, -x)).imag,
    "strided": lambda x: x.T.contiguous().T,
    "subclass": lambda x: x.as_subclass(type("Sub", (torch.Tensor,), {})),
    "wrapper": Wrapper,
    "parameter": lambda x: torch.nn.Parameter(x, requires_grad=False),
}


@pytest.fixture(scope="module")
def op() -> Op:
    """An operator that has been called, so that calls like that one have a plan."""
    op = attndsl.compile(SPEC)
    op(x=X, y=Y)
    return op


@pytest.fixture(params=["operator of attndsl", "operator of torch"])
def call(request: pytest.FixtureRequest, op: Op) -> Call:
    registered = getattr(torch.ops.attndsl, op.key)
    if request.param == "operator of torch":
        return lambda x: registered(x, Y)
    return lambda x: op(x=x, y=Y)


@pytest.fixture(params=[nullcontext, torch.no_grad, torch.inference_mode], ids=lambda mode: mode.__name__)
def mode(request: pytest.FixtureRequest) -> Iterator[None]:
    made: AbstractContextManager[Any] = request.param()
    with made, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("kind", PACKED)
def test_what_is_no_elements_at_strides_is_refused(call: Call, kind: str) -> None:
    make, found, plain = PACKED[kind]
    x = make(X)
    with pytest.raises(errors.PackedTensor) as caught:
        call(x)
    message = f"x is {found}, but weighted takes tensors whose memory is their elements; pass {plain}"
    assert str(caught.value) == message
    dense = eval(plain, {"torch": torch, "x": x})  # the way out is one
    assert (dense.layout, dense.ndim, type(dense)) == (torch.strided, 2, torch.Tensor)
    if dense.shape == X.shape:
        torch.testing.assert_close(call(dense), dense @ Y)


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("kind", PLAIN)
def test_what_means_elements_is_computed(call: Call, kind: str) -> None:
    torch.testing.assert_close(torch.Tensor(call(PLAIN[kind](X))), X @ Y)


def test_a_tensor_that_is_zero_without_memory(call: Call) -> None:
    torch.testing.assert_close(call(torch._efficientzerotensor((4, 4))), torch.zeros(4))


def test_a_compiled_function_says_it_too(call: Call) -> None:
    torch._dynamo.reset()
    with pytest.raises(
        Exception, match=r"x is a tensor of layout torch\.sparse_coo, but weighted takes .* x\.to_dense"
    ):
        torch.compile(lambda x: call(x) + 1, backend="eager")(X.to_sparse())
