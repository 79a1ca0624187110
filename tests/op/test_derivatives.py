"""Derivatives of an operator: gradients by each road to it and each way of asking, and words where there are none."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.autograd import forward_ad

import attndsl
from attndsl.op import errors
from attndsl.op.gradients import Derivative
from attndsl.op.op import Op

SPEC = """
attention weighted {
    dims M, N
    input  x : f32[M, N]
    input  y : f32[N]
    input  n : i32[]
    output o : f32[M]
    each i in M
    over j in N
    o[i] = sum(x[i,j] * y[j]) + n[]
}
"""

Function = Callable[..., torch.Tensor]

X, Y, NUMBER = torch.randn(3, 4), torch.randn(4), torch.tensor(2, dtype=torch.int32)
ONES = torch.ones_like(X)
RESULT = X @ Y + 2


@pytest.fixture(scope="module")
def op() -> Op:
    """An operator that has been called, so that calls like that one have a plan."""
    op = attndsl.compile(SPEC)
    op(x=X, y=Y, n=NUMBER)
    return op


@pytest.fixture(params=["operator of attndsl", "operator of torch"])
def call(request: pytest.FixtureRequest, op: Op) -> Function:
    """A call as a function of one input, by one of the roads."""
    registered = getattr(torch.ops.attndsl, op.key)
    if request.param == "operator of torch":
        return lambda x, y=Y: registered(x, y, NUMBER)
    return lambda x, y=Y: op(x=x, y=y, n=NUMBER)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """torch warns of its own use of itself."""
    torch._dynamo.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def with_grad() -> torch.Tensor:
    return X.clone().requires_grad_()


def summed(call: Function) -> Function:
    return lambda x: call(x).sum()


def squared(call: Function) -> Function:
    return lambda x: call(x).square().sum()


def dual(call: Function) -> Any:
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(call(forward_ad.make_dual(X, ONES))).tangent


def jvp(call: Function, x: torch.Tensor = X) -> Any:
    return torch.func.jvp(call, (x,), (torch.ones_like(x),))


def vectorised_jacobian(call: Function) -> Any:
    return torch.autograd.functional.jacobian(call, X, strategy="forward-mode", vectorize=True)


def back(result: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return torch.autograd.grad(result.sum(), x)[0]


def checkpointed(call: Function) -> torch.Tensor:
    x = with_grad()
    return back(torch.utils.checkpoint.checkpoint(call, x, use_reentrant=False), x)


def recorded(call: Function) -> torch.Tensor:
    x = with_grad()
    return back(call(x), x)


RECORDED: dict[str, Callable[[Function], torch.Tensor]] = {
    "requires_grad": recorded,
    "autograd.functional.vjp": lambda call: torch.autograd.functional.vjp(call, X, torch.ones(3))[1],
    "checkpoint": checkpointed,
}
"""Ways to ask for the gradient of the sum of a result, which torch records."""

TRANSFORMED: dict[str, Callable[[Function], torch.Tensor]] = {
    "grad": lambda call: torch.func.grad(summed(call))(X),
    "vjp": lambda call: torch.func.vjp(call, X)[1](torch.ones(3))[0],
    "jacrev": lambda call: torch.func.jacrev(call)(X).sum(0),
    "vmap of grad": lambda call: torch.vmap(torch.func.grad(summed(call)))(torch.stack([X, X]))[1],
    "grad of vmap": lambda call: torch.func.grad(summed(torch.vmap(call)))(torch.stack([X, X]))[1],
}
"""The same by transforms, which torch takes from functions alone, not from operators."""

BEYOND: dict[str, Callable[[Function], Any]] = {
    "hessian": lambda call: torch.func.hessian(summed(call))(X),
    "jacrev of grad": lambda call: torch.func.jacrev(torch.func.grad(squared(call)))(X),
}
"""Gradients of gradients."""

FORWARD: dict[str, Callable[[Function], Any]] = {
    "dual": dual,
    "dual under no_grad": torch.no_grad()(dual),
    "jvp": jvp,
    "jacfwd": lambda call: torch.func.jacfwd(call)(X),
    "linearize": lambda call: torch.func.linearize(call, X),
    "jvp of vmap": lambda call: jvp(torch.vmap(call), torch.stack([X, X])),
    "vmap of jvp": lambda call: torch.vmap(lambda x: jvp(call, x))(torch.stack([X, X])),
    "vmap over tangents": lambda call: torch.vmap(lambda v: torch.func.jvp(call, (X,), (v,)))(torch.stack([X, X])),
    "autograd.functional.jacobian": vectorised_jacobian,
}

SLOPE = Y.expand(3, 4)
TRANSFORM = (
    "x requires a gradient by a transform of torch.func, which takes none through an operator of torch: "
    "call attndsl's own for weighted, outside of torch.compile"
)
TANGENT = "x carries a tangent of forward-mode differentiation, which weighted does not give: detach x"


@pytest.mark.parametrize("ask", RECORDED)
def test_a_gradient_is_given(call: Function, ask: str) -> None:
    torch.testing.assert_close(RECORDED[ask](call), SLOPE)


@pytest.mark.parametrize("ask", TRANSFORMED)
def test_a_transform_takes_the_op(op: Op, ask: str) -> None:
    torch.testing.assert_close(TRANSFORMED[ask](lambda x: op(x=x, y=Y, n=NUMBER)), SLOPE)


@pytest.mark.parametrize("ask", TRANSFORMED)
def test_a_transform_takes_no_operator(op: Op, ask: str) -> None:
    registered = getattr(torch.ops.attndsl, op.key)
    with pytest.raises(errors.GradientWanted) as caught:
        TRANSFORMED[ask](lambda x: registered(x, Y, NUMBER))
    assert str(caught.value) == TRANSFORM


@pytest.mark.parametrize("ask", BEYOND)
def test_what_lies_beyond_is_refused(call: Function, ask: str) -> None:
    with pytest.raises((errors.GradientWanted, errors.SecondGradientWanted)):
        BEYOND[ask](call)


def test_a_gradient_has_no_gradient(call: Function) -> None:
    """Not one that is wrong."""
    x = with_grad()
    (first,) = torch.autograd.grad(call(x).square().sum(), x, create_graph=True)
    with pytest.raises(errors.SecondGradientWanted):
        first.sum().backward()


def test_nor_has_one_that_rests_on_what_was_saved() -> None:
    """Of a sum, whose cotangent is the same whatever the inputs are."""
    q, k, v = (torch.randn(1, 2, n, 4, requires_grad=True) for n in (3, 5, 5))
    (first,) = torch.autograd.grad(attndsl.load("gqa")(q, k, v).sum(), q, create_graph=True)
    with pytest.raises(errors.SecondGradientWanted):
        first.square().sum().backward()


@pytest.mark.parametrize("ask", FORWARD)
def test_a_tangent_is_refused(call: Function, ask: str) -> None:
    with pytest.raises(errors.GradientWanted) as caught:
        FORWARD[ask](call)
    assert str(caught.value) == TANGENT


COMPILED: dict[str, tuple[Callable[[Function], Function], Callable[[], torch.Tensor], str]] = {
    "grad": (lambda call: torch.func.grad(summed(call)), lambda: X, TRANSFORM),
    "jvp": (lambda call: lambda x: torch.func.jvp(call, (x,), (x,))[1], lambda: X, TANGENT),
    "jacfwd": (torch.func.jacfwd, lambda: X, TANGENT),
}


@pytest.mark.parametrize("full", [True, False], ids=["whole graph", "broken graph"])
@pytest.mark.parametrize("ask", COMPILED)
def test_the_words_come_through_a_compiled_function(call: Function, ask: str, full: bool) -> None:
    make, given, message = COMPILED[ask]
    compiled = torch.compile(make(call), fullgraph=full, backend="aot_eager")
    with pytest.raises(Exception, match=re.escape(message)):
        compiled(given())


@pytest.mark.parametrize("ask", ["dual", "jvp"])
def test_a_compiled_function_is_asked(call: Function, ask: str) -> None:
    compiled = torch.compile(call, backend="aot_eager")
    with pytest.raises(errors.GradientWanted):
        FORWARD[ask](compiled)


@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.matrix)])
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_compiled_step_has_gradients(call: Function, backend: str, dynamic: bool) -> None:
    step = torch.compile(lambda x: (2 * call(3 * x)).sum(), fullgraph=True, backend=backend, dynamic=dynamic)
    x = with_grad()
    step(x).backward()
    torch.testing.assert_close(x.grad, 6 * SLOPE)


WAYS_OUT: dict[str, Callable[[Function], torch.Tensor]] = {
    "no_grad": lambda call: torch.no_grad()(call)(with_grad()),
    "inference_mode": lambda call: torch.inference_mode()(call)(with_grad()),
    "detach": lambda call: call(with_grad().detach()),
    "no_grad in grad": lambda call: (
        torch.func.grad(lambda x: torch.no_grad()(call)(x).sum(), has_aux=False)(X)[0, 0] + RESULT
    ),
    "detach in grad": lambda call: torch.func.vjp(lambda x: call(x.detach()), X)[0],
    "detach in jvp": lambda call: jvp(lambda x: call(x.detach()))[0],
    "detached dual": lambda call: dual(lambda x: call(x.detach()) + x.sum() * 0) + RESULT,
    "gradient of another": lambda call: torch.func.vjp(lambda z: call(X) * z, torch.tensor(1.0))[0],
    "tangent of another": lambda call: jvp(lambda z: call(X) * z, torch.tensor(1.0))[1],
    "map of another": lambda call: torch.vmap(lambda z: call(X) * z)(torch.ones(2))[1],
    "functionalize": lambda call: torch.func.functionalize(call)(X),
    "compiled, no_grad": lambda call: torch.no_grad()(torch.compile(call, fullgraph=True, backend="eager"))(
        with_grad()
    ),
    "compiled, no_grad inside": lambda call: torch.compile(torch.no_grad()(call), backend="eager")(with_grad()),
    "compiled, detach inside": lambda call: torch.compile(lambda x: call(x.detach()), backend="eager")(with_grad()),
}


@pytest.mark.parametrize("way", WAYS_OUT)
def test_the_ways_out_work(call: Function, way: str) -> None:
    result = WAYS_OUT[way](call)
    assert not result.requires_grad
    torch.testing.assert_close(result, RESULT)


@pytest.mark.parametrize("leaves", [True, False])
def test_only_what_is_asked_for_is_computed(call: Function, leaves: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[list[str]] = []
    backward = Derivative.backward

    def noted(self: Derivative, *given: Any) -> dict[str, torch.Tensor]:
        computed.append([*(found := backward(self, *given))])
        return found

    monkeypatch.setattr(Derivative, "backward", noted)
    first, second = with_grad(), Y.clone().requires_grad_()
    x, y = (first, second) if leaves else (first * 1, second * 1)
    result = call(x, y).sum()
    torch.testing.assert_close(torch.autograd.grad(result, y, retain_graph=True)[0], X.sum(0))
    torch.testing.assert_close(torch.autograd.grad(result, first, retain_graph=True)[0], SLOPE)
    torch.testing.assert_close(torch.autograd.grad(result, (x, y), retain_graph=True), (SLOPE, X.sum(0)))
    result.backward(retain_graph=True)
    result.backward(inputs=[second])
    torch.testing.assert_close((first.grad, second.grad), (SLOPE, 2 * X.sum(0)))
    assert computed == [["y"], ["x"], ["x", "y"], ["x", "y"], ["y"]]


@pytest.mark.parametrize("used", [("o",), ("lse",), ("o", "lse")])
def test_a_cotangent_that_is_missing_computes_nothing(used: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[set[str]] = []
    backward = Derivative.backward

    def noted(self: Derivative, *given: Any) -> dict[str, torch.Tensor]:
        taken.append({*self.cotangents})
        return backward(self, *given)

    monkeypatch.setattr(Derivative, "backward", noted)
    q, k, v = (torch.randn(2, 2, 5, 4, requires_grad=True) for _ in range(3))
    written = attndsl.load("lse")(q, k, v)
    asked = (q, k, v)[: 3 if "o" in used else 2]
    loss = sum(getattr(written, name).square().sum() for name in used)
    got = torch.autograd.grad(loss, asked, retain_graph=True)
    assert taken == [{*used}]
    wanted = torch.autograd.grad(loss + 0 * sum(each.sum() for each in written), asked)
    assert taken[1:] == [{"o", "lse"}]
    torch.testing.assert_close(got, wanted)


def test_what_an_output_does_not_rest_on_has_the_gradient_0() -> None:
    q, k, v = (torch.randn(2, 2, 5, 4, requires_grad=True) for _ in range(3))
    by_v = torch.autograd.grad(attndsl.load("lse")(q, k, v).lse.sum(), v)[0]
    assert torch.equal(by_v, torch.zeros_like(v))


def test_the_operator_passes_torchs_own_checks(op: Op) -> None:
    registered = getattr(torch.ops.attndsl, op.key).default
    torch.library.opcheck(registered, (with_grad(), Y.clone().requires_grad_(), NUMBER))


def test_the_bits_are_those_of_a_call_without(op: Op) -> None:
    assert torch.equal(op(x=with_grad(), y=Y, n=NUMBER), op(x=X, y=Y, n=NUMBER))


def test_what_has_no_gradient_is_said() -> None:
    text = (
        "attention t { dims N input x : f32[N] output o : f32[N] each i in N over j in N o[i] = sum(1.0, x[j] > 0.0) }"
    )
    with pytest.raises(errors.GradientWanted) as caught:
        attndsl.compile(text)(x=torch.ones(3, requires_grad=True))
    assert str(caught.value) == (
        "x requires a gradient: x reaches no output of t through numbers: it has no gradient. "
        "Call t under torch.no_grad(), or detach x"
    )
