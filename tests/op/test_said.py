"""Element types that only outputs have: a call says them."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import numpy as np
import pytest

import attndsl
from attndsl.op.errors import CallError
from attndsl.op.op import Op
from attndsl.syntax.source import Source

CAST = """
attention cast(scale: f32 = 1.0) {
    dims N
    types T, U, V = f16 | f64, W = f16

    input  x : T[N]
    input  y : T[N] = 0.0
    output o : U[N]
    output s : V[1]
    output w : W[N]

    each i in N
    o[i] = scale * x[i] + y[i]
    w[i] = x[i]

    each z in 1
    s[z] = sum(i in N) o[i]
}
"""

X = np.array([1.0, 0.1, 3.0], np.float32)


@pytest.fixture(scope="module")
def cast() -> Op:
    return attndsl.compile(CAST)


@pytest.mark.parametrize("u", ["f16", np.float16, np.dtype("float16")])
def test_a_type_is_said_by_name_or_as_a_dtype(cast: Op, u: Any) -> None:
    for given, v in (({"x": X}, "f64"), ({"x": X, "y": 0 * X}, np.float64)):
        outputs = cast(**given, U=u, V=v, scale=2.0)
        assert [outputs.o.dtype, outputs.s.dtype, outputs.w.dtype] == [np.float16, np.float64, np.float16]
        np.testing.assert_array_equal(outputs.o, (2 * X).astype(np.float16))
        assert outputs.s == outputs.o.astype(np.float64).sum(), "what is read was rounded to the type that is said"


def test_the_memory_of_the_caller_tells_types(cast: Op) -> None:
    out = (np.empty(3), np.empty(1, np.float16), np.empty(3, np.float16))
    cast(X, out=out)
    np.testing.assert_array_equal(out[0], X.astype(np.float64))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"U": "f16"}, 'cast needs V too: cast(x=…, y=0.0, scale=1.0, U="f16", V="f16")'),
        ({"U": "i8", "V": "f16"}, "U is i8, but cast wants f16, bf16, f32 or f64, which its outputs then have"),
        ({"U": "f16", "V": np.float32}, "V is f32, but cast wants f16 or f64"),
        ({"U": [1], "V": "f16"}, "U is [1], but cast wants f16"),
        ({"U": "f16", "V": "f16", "T": "f32"}, "cast has no argument T"),
        ({"U": "f16", "V": "f16", "W": "f16"}, "cast has no argument W"),
    ],
)
def test_what_is_said_wrongly(cast: Op, given: Any, message: str) -> None:
    with pytest.raises(CallError) as raised:
        cast(X, **given)
    assert message in str(raised.value)


def test_the_operator_tells_of_it(cast: Op) -> None:
    parameters = inspect.signature(cast).parameters
    assert [*parameters] == ["x", "y", "scale", "U", "V", "out"]
    assert parameters["U"].annotation is str and parameters["U"].default is inspect.Parameter.empty
    assert cast.artifact(U="bf16").types["U"] == "bf16"
    form = pickle.loads(pickle.dumps(cast.saying(U="f16", V="f64")))
    np.testing.assert_array_equal(form(X).o, X.astype(np.float16))


def test_any_name_says_a_type() -> None:
    text = "attention t { types self = f16 | f32 dims M input x : f32[M] output o : self[M] each i in M o[i] = x[i] }"
    op = Op(Source(text))
    for o in (op(X, self="f16"), op.saying(self="f16")(X)):
        np.testing.assert_array_equal(o, X.astype(np.float16))


def test_torch_compiles_calls_that_say_types(cast: Op) -> None:
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(X)
    for said in ("bf16", torch.bfloat16):
        compiled = torch.compile(lambda x, u=said: cast(x, U=u, V="f64").o, fullgraph=True, backend="eager")
        assert torch.equal(compiled(x), x.to(torch.bfloat16))
