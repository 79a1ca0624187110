"""Calls with NumPy arrays: what goes in, what comes out, and what is refused in which words."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
import subprocess
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

import attndsl
from attndsl.driver.signature import ParamSignature, Signature, TensorSignature
from attndsl.op import errors
from attndsl.op.errors import CallError
from attndsl.op.prepare import said, zeros


def arrays(m: int = 5, n: int = 7, dtype: Any = np.float32, b: int = 2) -> dict[str, Any]:
    random = np.random.default_rng(0)
    shapes: dict[str, tuple[int, ...]] = {"q": (b, 4, m, 8), "k": (b, 2, n, 8), "v": (b, 2, n, 6)}
    return {name: random.standard_normal(shape).astype(dtype) for name, shape in shapes.items()}


def test_an_array_for_an_array(gqa: Any) -> None:
    op, _ = gqa
    o = op(**arrays())
    assert type(o) is np.ndarray
    assert (o.shape, o.dtype) == ((2, 4, 5, 6), np.float32)


def test_extents_and_parameters_change_without_a_compilation(gqa: Any) -> None:
    op, compiler = gqa
    for m, n, window in ((5, 7, 3), (1, 9, 4), (6, 1, 5000)):
        assert op(**arrays(m, n), window=window).shape == (2, 4, m, 6)
    assert op(**arrays(b=0)).shape == (0, 4, 5, 6)
    assert compiler.compiled == [{"T": "f32"}]
    op(**arrays(dtype=np.float16))
    op(**arrays(dtype=np.float16))
    assert compiler.compiled == [{"T": "f32"}, {"T": "f16"}]


def test_parameters_reach_the_program(gqa: Any) -> None:
    op, _ = gqa
    given = arrays(5, 5)
    np.testing.assert_array_equal(op(**given, window=1), np.repeat(given["v"], 2, axis=1))
    np.testing.assert_array_equal(op(**given), op(**given, cap=2, window=np.int32(4096)))
    assert not np.array_equal(op(**given), op(**given, cap=1))


def test_strides_are_taken_as_they_are(gqa: Any) -> None:
    op, _ = gqa
    given = arrays()
    strided = {name: np.repeat(array, 2, axis=2)[:, :, ::-2].copy()[:, :, ::-1] for name, array in given.items()}
    strided["q"] = np.asfortranarray(given["q"])
    strided["k"].flags.writeable = False
    unaligned = np.zeros(given["v"].nbytes + 1, np.uint8)[1:].view(np.float32).reshape(given["v"].shape)
    unaligned[...] = given["v"]
    strided["v"] = unaligned
    np.testing.assert_array_equal(op(**strided), op(**given))


def test_bf16_comes_as_bits_or_as_ml_dtypes(gqa: Any) -> None:
    op, compiler = gqa
    extended = arrays(dtype=ml_dtypes.bfloat16)
    o = op(**extended)
    assert o.dtype == ml_dtypes.bfloat16
    assert o.flags.owndata
    plain = op(**{name: array.view(np.uint16) for name, array in extended.items()})
    assert plain.dtype == np.uint16
    np.testing.assert_array_equal(plain, o.view(np.uint16))
    assert compiler.compiled == [{"T": "bf16"}]


def test_several_outputs_come_by_name(odd: Any) -> None:
    op, _ = odd
    given: dict[str, Any] = {
        "is": np.array([3, 4], np.uint8),
        "cu": np.zeros(3, np.int32),
        "bits": np.zeros(5, np.uint8),
    }
    outputs = op(**given, in_=True)
    first, lse = outputs
    assert outputs.lse is lse
    np.testing.assert_array_equal(first, [3, 4])
    np.testing.assert_array_equal(lse, [0x3F80] * 3)
    given["is"] = given["is"].view(ml_dtypes.float8_e4m3fn)
    np.testing.assert_array_equal(op(**given, in_=np.False_).lse, [0] * 3)


def says(call: Any, error: type[CallError], message: str) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}$") as caught:
        call()
    assert isinstance(caught.value, CallError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == message


CALL = "gqa(q=…, k=…, v=…, window=4096, cap=2.0)"
GIVEN = arrays()
Q, K, V = GIVEN.values()
FLOAT = "T, that is f16, bf16, f32 or f64"
MISTAKES: dict[str, tuple[dict[str, Any], type[CallError], str]] = {
    "near a name": (
        {"windw": 3},
        errors.UnknownArgument,
        f"gqa has no argument windw, did you mean window? It is called as {CALL}",
    ),
    "far from any": ({"zzz": 3}, errors.UnknownArgument, f"gqa has no argument zzz. It is called as {CALL}"),
    "missing": ({"k": None, "v": None}, errors.MissingArgument, f"gqa needs k and v too: {CALL}"),
    "list": ({"k": [1.0]}, errors.NotAnArray, "k is of type list: gqa takes NumPy arrays or torch tensors"),
    "masked": (
        {"k": np.ma.masked_array(K)},
        errors.NotAnArray,
        "k is of type MaskedArray: gqa takes NumPy arrays or torch tensors",
    ),
    "float for int": ({"window": 3.5}, errors.WrongParameter, "window is 3.5 (float), but gqa wants an int"),
    "bool for int": ({"window": True}, errors.WrongParameter, "window is True (bool), but gqa wants an int"),
    "huge": (
        {"window": 2**63 - 1},
        errors.WrongParameter,
        f"window is {2**63 - 1}, but gqa wants an int from -2^62 to 2^62",
    ),
    "text for float": ({"cap": "2"}, errors.WrongParameter, "cap is '2' (str), but gqa wants a float"),
    "dtype": ({"q": Q.astype(np.int32)}, errors.WrongElement, f"q holds int32, but gqa wants {FLOAT}"),
    "objects": ({"q": Q.astype(object)}, errors.WrongElement, f"q holds object, but gqa wants {FLOAT}"),
    "records": (
        {"q": np.zeros(Q.shape, [("a", "f4")])},
        errors.WrongElement,
        f"q holds [('a', '<f4')], but gqa wants {FLOAT}",
    ),
    "record array": (
        {"q": np.rec.array(np.zeros(Q.shape, [("a", "f4")]))},
        errors.NotAnArray,
        "q is of type recarray: gqa takes NumPy arrays or torch tensors",
    ),
    "byte order": ({"q": Q.astype(">f4")}, errors.WrongElement, f"q holds >f4, but gqa wants {FLOAT}"),
    "two types": ({"v": V.astype(np.float16)}, errors.TypesDiffer, "v holds float16, but q says T = f32"),
    "rank": (
        {"k": K[0]},
        errors.RanksDiffer,
        "k has 3 dimensions, its shape is (2, 7, 8), but gqa wants 4: k : T[B, Hkv, N, D]",
    ),
    "dim": (
        {"v": V[:, :, 1:]},
        errors.DimsDiffer,
        "v has N = 6 (dimension 2), but k says N = 7 (dimension 2)",
    ),
    "require": (
        {"q": Q[:, :3]},
        errors.RequirementFails,
        "gqa requires Hq % Hkv == 0; here Hq = 3 (from q) and Hkv = 2 (from k)",
    ),
    "division by zero": (
        {"k": K[:, :0], "v": V[:, :0]},
        errors.RequirementFails,
        "gqa requires Hq % Hkv == 0; here Hq = 4 (from q) and Hkv = 0 (from k)",
    ),
}


@pytest.mark.parametrize("planned", [False, True], ids=["first call", "later call"])
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_call_that_does_not_fit_is_refused(gqa: Any, mistake: str, planned: bool) -> None:
    op, compiler = gqa
    if planned:
        op(**GIVEN)
    change, error, message = MISTAKES[mistake]
    given = {name: value for name, value in {**GIVEN, **change}.items() if value is not None}
    says(lambda: op(**given), error, message)
    assert len(compiler.compiled) == planned


SCALED = """
attention scaled {
    dims N
    types T
    input  x : T[N]
    input  s : T[]
    input  n : i32[]
    output o : T[N]
    each i in N
    o[i] = s[] * x[i] + n[]
}
"""


@pytest.fixture(scope="module")
def scaled() -> Any:
    return attndsl.compile(SCALED)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16])
def test_a_scalar_of_numpy_is_an_array_of_no_dimensions(scaled: Any, dtype: Any) -> None:
    x = np.array([1, 3, 2], dtype)
    largest, number = x.max(), np.arange(7, dtype=np.int32).max()
    assert isinstance(largest, np.generic)
    o = scaled(x=x, s=largest, n=number)
    np.testing.assert_array_equal(o, scaled(x=x, s=np.asarray(largest), n=np.asarray(number)))
    np.testing.assert_array_equal(o.astype(float), [9, 15, 12])


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            {"s": 2.5},
            errors.PlainNumber,
            (
                "s is the plain number 2.5, which has no element type, but scaled wants s : T[]: "
                "pass a NumPy scalar such as np.float32(2.5), or a torch tensor"
            ),
        ),
        ({"x": 2.5}, errors.NotAnArray, "x is of type float: scaled takes NumPy arrays or torch tensors"),
        ({"s": np.float64(2)}, errors.TypesDiffer, "s holds float64, but x says T = f32"),
        ({"s": np.str_("2")}, errors.TypesDiffer, "s holds <U1, but x says T = f32"),
        ({"n": np.int64(2)}, errors.WrongElement, "n holds int64, but scaled wants i32"),
        (
            {"x": np.float32(2)},
            errors.RanksDiffer,
            "x has 0 dimensions, its shape is (), but scaled wants 1: x : T[N]",
        ),
        (
            {"s": np.ones(1, np.float32)},
            errors.RanksDiffer,
            "s has 1 dimensions, its shape is (1,), but scaled wants 0: s : T[]",
        ),
    ],
)
def test_what_is_no_scalar_of_the_type(scaled: Any, change: Any, error: Any, message: str) -> None:
    given = {"x": np.zeros(3, np.float32), "s": np.float32(1), "n": np.int32(1)}
    says(lambda: scaled(**{**given, **change}), error, message)


def test_inputs_go_by_position_too(gqa: Any) -> None:
    op, _ = gqa
    wanted = op(**GIVEN, window=3)
    for _ in range(2):
        np.testing.assert_array_equal(op(Q, K, V, window=3), wanted)
        np.testing.assert_array_equal(op(Q, v=V, k=K, window=3), wanted)
    message = f"gqa takes 3 inputs by position, and has 4: parameters go by name, {CALL}"
    says(lambda: op(Q, K, V, 3), errors.TooManyInputs, message)
    says(lambda: op(Q, K, V, k=K), errors.GivenTwice, "k is given twice to gqa: by position, and by name")
    says(lambda: op(Q, K), errors.MissingArgument, f"gqa needs v too: {CALL}")


def test_python_knows_how_it_is_called(gqa: Any) -> None:
    op, _ = gqa
    assert (op.__name__, op.__qualname__) == ("gqa", "gqa")
    assert str(inspect.signature(op)) == "(q, k, v, *, window: int = 4096, cap: float = 2.0, out=None)"
    bound = inspect.signature(op).bind(Q, K, v=V, cap=1.0)
    np.testing.assert_array_equal(op(*bound.args, **bound.kwargs), op(**GIVEN, cap=1.0))


def test_names_that_python_reserves_are_no_lie(odd: Any, make: Any) -> None:
    op, _ = odd
    assert str(inspect.signature(op)) == "(is_, /, cu, bits, *, in_: bool, limit: float = inf, out=None)"
    inputs = (TensorSignature("lambda", "f32", ()), TensorSignature("lambda_", "f32", ()))
    params = (ParamSignature("parameters", "int", 1), ParamSignature("in", "int", 1))
    outputs = (TensorSignature("out", "f32", ()),)
    op, _ = make(Signature("odd", (), {}, params, inputs, outputs, (), ()), "")
    assert str(inspect.signature(op)) == "(lambda__, /, lambda_, *, parameters: int = 1, out=None, **parameters_)"


def test_a_module_of_torch_shows_it(gqa: Any) -> None:
    op, _ = gqa

    class Attention(torch.nn.Module):
        def extra_repr(self) -> str:
            return repr(op)

    assert str(Attention()) == f"Attention(<attndsl operator {CALL}>)"


def test_prepared(gqa: Any) -> None:
    op, compiler = gqa
    op.prepare(T="bf16")
    assert compiler.compiled == [{"T": "bf16"}]
    op(**arrays(dtype=ml_dtypes.bfloat16))
    assert compiler.compiled == [{"T": "bf16"}]
    op.prepare()
    op(**GIVEN)
    assert compiler.compiled == [{"T": "bf16"}, {"T": "f32"}]


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ({"t": "bf16"}, "gqa has no type or dim t, did you mean T? It has T, B, Hq, Hkv, M, N, D and E"),
        ({"T": "i8"}, "T = 'i8' is not allowed: T of gqa is f16, bf16, f32 or f64"),
        ({"D": -1}, "D = -1 is no extent: D of gqa is an int, 0 or more"),
        ({"D": 8.0}, "D = 8.0 is no extent: D of gqa is an int, 0 or more"),
    ],
)
def test_what_cannot_be_prepared(gqa: Any, what: dict[str, Any], message: str) -> None:
    op, compiler = gqa
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        op.prepare(**what)
    assert compiler.compiled == []


def test_what_a_gpu_is_prepared_with() -> None:
    op = attndsl.load("sliding_window")
    with pytest.raises(ValueError, match=r"^code of sliding_window for a GPU is made for D and E: say D=… too$"):
        op.prepare("cuda", T="f16", M=3)
    types, dims = said(op.signature, {"T": "f16", "D": 16, "E": 8, "Hq": 6})
    arguments = zeros(op.spec, op.signature, "cpu", types, dims)
    assert {"window", "q", "k", "v"} == arguments.keys()
    assert (arguments["q"].dtype, arguments["q"].shape[1], arguments["v"].shape[-1]) == (torch.float16, 6, 8)
    assert op(**arguments).shape[-1] == 8


FORMULAS = """attention told(scale: f32 = 1.0 / sqrt(D), twice: f32 = 2.0 * scale, n: int = N / (M - 3)) {
    dims N, M, D
    input  x : f32[N, D]
    input  y : f32[M]
    output o : f32[N, 3]
    require n < 4
    each i in N, c in 3
    o[i,c] = if c == 0 then scale else if c == 1 then twice else f32(n) + 0.0 * x[i,0] * y[0]
}"""


@pytest.mark.parametrize("convert", [np.asarray, torch.from_numpy], ids=["numpy", "torch"])
def test_defaults_that_are_formulas_are_computed_at_each_call(convert: Any) -> None:
    op = attndsl.compile(FORMULAS)

    def told(n: int, m: int, d: int, /, **given: Any) -> list[float]:
        o = op(convert(np.ones((n, d), np.float32)), convert(np.ones(m, np.float32)), **given)
        return np.asarray(o)[0].tolist()  # type: ignore[no-any-return]

    for _ in range(2):  # by what was checked, and by plans
        assert told(4, 5, 4) == [0.5, 1.0, 2.0]
        assert told(6, 5, 16) == [0.25, 0.5, 3.0]
        assert told(6, 6, 16) == [0.25, 0.5, 2.0]
        assert told(4, 5, 4, scale=3.0) == [3.0, 6.0, 2.0]
        assert told(4, 5, 4, twice=3.0, n=1) == [0.5, 3.0, 1.0]
        assert told(4, 5, 4, scale=None) == [0.5, 1.0, 2.0]
        third = np.float32(1 / np.sqrt(3))
        assert told(1, 4, 3) == [third, 2 * third, 1.0]
        says(lambda: told(8, 5, 4), errors.RequirementFails, "told requires n < 4; here n = 4")
        message = "n is left out of a call of told, and is no N / (M - 3), which divides by zero; "
        says(lambda: told(4, 3, 4), errors.UndefinedDefault, f"{message}here N = 4 (from x) and M = 3 (from y)")
        assert told(4, 3, 4, n=2)[2] == 2.0
        wrong = "scale is [1.0] (list), but told wants a float"
        says(lambda: told(4, 5, 4, scale=[1.0]), errors.WrongParameter, wrong)


def test_a_default_that_is_too_large_for_f32() -> None:
    body = "dims N input x : f32[N] output o : f32[N] each i in N o[i] = w * x[i]"
    op = attndsl.compile(f"attention a(w: f32 = exp(f32(N))) {{ {body} }}")
    assert op(np.ones(1, np.float32))[0] == np.float32(np.e)
    message = "w is 9.889030319346946e+42, but a wants a number that fits in f32"
    says(lambda: op(np.ones(99, np.float32)), errors.WrongParameter, message)


def test_torch_compile_leaves_formulas_to_the_call() -> None:
    op = attndsl.compile(FORMULAS)
    torch._dynamo.reset()
    compiled = torch.compile(op, fullgraph=True, backend="aot_eager")
    for n, d in ((4, 4), (6, 16), (6, 9)):
        given = torch.ones(n, d), torch.ones(5)
        assert torch.equal(compiled(*given), op(*given))


def test_extents_that_are_expressions_say_how_they_come_about(odd: Any) -> None:
    op, _ = odd
    given = {"is": np.zeros(2, np.uint8), "cu": np.zeros(3, np.int32), "bits": np.zeros(5, np.uint8), "in_": True}

    def call(**change: Any) -> Any:
        return lambda: op(**{**given, **change})

    says(
        call(cu=np.zeros(2, np.int32)),
        errors.WrongExtent,
        "cu has 2 in dimension 0, but lambda wants B + 1 = 3; here B = 2 (from is)",
    )
    says(
        call(bits=np.zeros(1, np.uint8)),
        errors.ExtentIsNegative,
        "lse cannot have N - B = -1 in dimension 0; here N = 1 (from bits) and B = 2 (from is)",
    )
    says(call(cu=np.zeros(3)), errors.WrongElement, "cu holds float64, but lambda wants i32")
    says(
        call(in_=False, limit=0.5),
        errors.RequirementFails,
        "lambda requires in_ or limit > 1.0; here in_ = False and limit = 0.5",
    )
    says(call(in_=None), errors.WrongParameter, "in_ is None (NoneType), but lambda wants a bool")


def test_an_extent_that_divides_by_zero(make: Any) -> None:
    from attndsl.driver.signature import Signature, TensorSignature

    inputs = (TensorSignature("x", "f32", (("dim", "N"),)), TensorSignature("s", "f32", (("dim", "S"),)))
    outputs = (TensorSignature("o", "f32", (("idiv", ("dim", "N"), ("dim", "S")),)),)
    op, _ = make(Signature("cut", ("N", "S"), {}, (), inputs, outputs, (), ()), "")
    says(
        lambda: op(x=np.zeros(4, np.float32), s=np.zeros(0, np.float32)),
        errors.UndefinedExtent,
        "o cannot have N / S in dimension 0: that divides by zero; here N = 4 (from x) and S = 0 (from s)",
    )


def test_what_an_operator_tells_of_itself(gqa: Any) -> None:
    op, compiler = gqa
    assert "def gqa(" in op.source
    assert (op.ir("attn"), op.ir("tile")) == ("the attn IR", "the tile IR")
    assert len(compiler.compiled) == 1
    assert op.artifact(T="f16").types == {"T": "f16"}
    assert op.signature.dims == ("B", "Hq", "Hkv", "M", "N", "D", "E")
    assert repr(op) == f"<attndsl operator {CALL}>"
    with pytest.raises(ValueError, match=r"^the IR has no stage 'triton': it has attn, tile$"):
        op.ir("triton")
    with pytest.raises(ValueError, match=r"^gqa has no type T = i8: it has T = f16 | bf16 | f32 | f64$"):
        op.artifact(T="i8")


def test_explain_counts_bytes_and_operations(gqa: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    op, _ = gqa
    monkeypatch.setattr("attndsl.op.explain.computed", lambda source, artifact, dims, needed: 3 << 20)
    text = op.explain(B=1, Hq=4, Hkv=2, M=512, N=1024, D=64, E=64)
    assert text.splitlines() == [
        "gqa for numpy",
        "  types      T = f32",
        "  dims       B = 1, Hq = 4, Hkv = 2, M = 512, N = 1024, D = 64, E = 64",
        "  tile rows  64",
        "  inputs     1.5 MiB",
        "  outputs    512 KiB",
        "  work       3.15 Mflop, of which the spec needs 1.05 Mflop once, were no position masked",
        "  intensity  1.5 flop/B",
    ]
    with pytest.raises(ValueError, match=r"^gqa has no dim hq, did you mean Hq\?"):
        op.explain(hq=4)
    with pytest.raises(ValueError, match=r"^gqa needs an extent for N, D, E too$"):
        op.explain(B=1, Hq=4, Hkv=2, M=512)
    with pytest.raises(ValueError, match=r"^there is no target cuda:91, did you mean cuda:90\? There are numpy,"):
        op.explain("cuda:91", B=1, Hq=4, Hkv=2, M=512, N=1024, D=64, E=64)


def test_a_traceback_shows_the_generated_line(gqa: Any, make: Any) -> None:
    import traceback

    op, _ = make(gqa[0].signature, "def gqa(q, k, v, o, **params):\n    raise ArithmeticError  # gqa.attn:14\n")
    with pytest.raises(ArithmeticError) as caught:
        op(**GIVEN)
    assert "raise ArithmeticError  # gqa.attn:14" in "".join(traceback.format_exception(caught.value))


def test_operators_can_be_copied_and_sent(gqa: Any) -> None:
    op, _ = gqa
    for other in (copy.deepcopy(op), pickle.loads(pickle.dumps(op))):
        np.testing.assert_array_equal(other(**GIVEN), op(**GIVEN))


def test_arrays_need_no_torch() -> None:
    program = """
import sys, attndsl.op.op, attndsl.op.numpy_arrays, attndsl.op.explain
sys.exit(", ".join({"torch", "xdsl", "lark", "triton", "rich", "click"} & set(sys.modules)) or None)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_dim_is_an_extent_that_memory_can_have() -> None:
    op = attndsl.compile("attention t { dims N input x : bool[N] output o : f32[1] each i in 1 o[i] = f32(N) }")
    assert op(x=np.broadcast_to(np.True_, (2**48,)))[0] == 2.0**48
    with pytest.raises(errors.DimTooLarge, match=r"x says N = 281474976710657, but a dim of t is at most 2\^48"):
        op(x=np.broadcast_to(np.True_, (2**48 + 1,)))


def test_a_spec_may_have_no_inputs() -> None:
    op = attndsl.compile("attention ones(p: int = 3) { output o : f32[4] each i in p o[i] = 1.0 }")
    for _ in range(2):
        np.testing.assert_array_equal(op(), [1, 1, 1, 0])
        np.testing.assert_array_equal(op(p=2), [1, 1, 0, 0])
