"""Outputs in memory of the caller, by `out=`: what is written, and what is refused in which words."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

import attndsl
from attndsl.op import errors, into
from attndsl.op.into import Strided
from attndsl.op.op import Op

Q, K, V = (np.random.default_rng(0).standard_normal(s).astype(np.float32) for s in ((2, 4, 5, 8), *[(2, 2, 7, 8)] * 2))
WANTED = (2, 4, 5, 8)

SPEC = """attention moved {
    dims N
    types T
    input x : T[N]
    input at : i32[N]
    output o : T[N]
    output total : f32[]
    each i in N
    o[at[i]] = 2.0 * x[i]
    each i in 1
    over j in N
    total[] = sum(x[j])
}"""
"""Rows leave elements unwritten, and there are two outputs."""


@pytest.fixture(scope="module")
def gqa() -> Op:
    return attndsl.load("gqa")


@pytest.fixture(scope="module")
def moved() -> Op:
    return attndsl.compile(SPEC.replace("total : f32[]", "total : f32[1]").replace("total[] =", "total[i] ="))


CONVERT: dict[str, Callable[[Any], Any]] = {"numpy": lambda array: array, "torch": torch.from_numpy}


@pytest.fixture(params=CONVERT)
def convert(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    return CONVERT[request.param]


def test_what_is_given_is_written_and_comes_back(gqa: Op, convert: Callable[[Any], Any]) -> None:
    given = [*map(convert, (Q, K, V))]
    out = convert(np.full(WANTED, np.nan, np.float32))
    for _ in range(3):  # checked, then planned
        assert gqa(*given, out=out) is out
        np.testing.assert_array_equal(out, gqa(*given))
        out[...] = np.nan


def test_any_strides_will_do(gqa: Op, convert: Callable[[Any], Any]) -> None:
    wide = np.full((2, 5, 4, 16), np.nan, np.float32)
    out = convert(wide.transpose(0, 2, 1, 3)[..., 1::2])
    gqa(*map(convert, (Q, K, V)), out=out)
    np.testing.assert_array_equal(out, gqa(Q, K, V))
    assert np.isnan(wide[..., ::2]).all()


def test_several_outputs_in_their_order(moved: Op, convert: Callable[[Any], Any]) -> None:
    x, at = np.array([1, 2, 3], np.float32), np.array([2, 0, 9], np.int32)
    out = tuple(map(convert, (np.full(3, 7, np.float32), np.full(1, 7, np.float32))))
    for _ in range(2):
        found = moved(convert(x), convert(at), out=out)
        assert (found.o is out[0], found.total is out[1]) == (True, True)
        assert (found.o.tolist(), found.total.tolist()) == ([4, 0, 2], [6])
        out[0][...] = 7
    again = moved(convert(x), convert(at), out=found)
    assert again.o is out[0]
    assert again.o.tolist() == [4, 0, 2]


def test_bits_and_what_stands_for_them(moved: Op) -> None:
    x, at = np.array([1, 2, 3], ml_dtypes.bfloat16), np.arange(3, dtype=np.int32)
    total = np.zeros(1, np.float32)
    for out in (np.zeros(3, ml_dtypes.bfloat16), np.zeros(3, np.uint16)):
        assert moved(x, at, out=(out, total)).o is out
        assert out.view(ml_dtypes.bfloat16).tolist() == [2, 4, 6]
    tensor = torch.zeros(3, dtype=torch.bfloat16)
    moved(torch.tensor([1, 2, 3], dtype=torch.bfloat16), torch.from_numpy(at), out=(tensor, torch.zeros(1)))
    assert tensor.tolist() == [2, 4, 6]


NAN = np.full(WANTED, np.nan, np.float32)
FROZEN = NAN.copy()
FROZEN.flags.writeable = False
BOTH = np.zeros((2, 4, 12, 8), np.float32)
SHARED = "give gqa memory that nothing shares"
REFUSED: dict[str, tuple[Any, type[errors.CallError], str]] = {
    "shape": (
        NAN[:, :3],
        errors.WrongOutput,
        f"out has the shape (2, 3, 5, 8) for o, but gqa writes the shape {WANTED}",
    ),
    "dtype": (NAN.astype(np.float64), errors.WrongOutput, "out has float64 for o, but gqa writes f32"),
    "list": ([1.0], errors.WrongOutput, "out has an object of type float for o, but gqa writes a NumPy array"),
    "scalar": (
        np.float32(1),
        errors.WrongOutput,
        "out has an object of type float32 for o, but gqa writes a NumPy array",
    ),
    "tensor": (
        torch.zeros(WANTED),
        errors.WrongOutput,
        "out has an object of type Tensor for o, but gqa writes a NumPy array",
    ),
    "too many": ((NAN, NAN), errors.OutputsCounted, "out has 2 tensors, but gqa writes 1: out=o"),
    "read-only": (FROZEN, errors.OutputIsReadOnly, "out has an array for o that gqa may not write to"),
    "an input": (Q, errors.OutputOverlaps, f"out has memory for o that is, or may be, that of q too: {SHARED}"),
    "itself": (
        np.lib.stride_tricks.as_strided(NAN, WANTED, (0, *NAN.strides[1:])),
        errors.OutputOverlaps,
        f"out has memory for o that is, or may be, that of another of its elements too: {SHARED}",
    ),
}


def says(call: Callable[[], Any], error: type[errors.CallError], message: str) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        call()


@pytest.mark.parametrize("planned", [False, True], ids=["first call", "later call"])
@pytest.mark.parametrize("mistake", REFUSED)
def test_what_cannot_be_written_is_refused(mistake: str, planned: bool) -> None:
    op = attndsl.load("gqa")
    if planned:
        op(Q, K, V)
    out, error, message = REFUSED[mistake]
    says(lambda: op(Q, K, V, out=out), error, message)


def test_tensors_are_refused_in_the_same_words(gqa: Op) -> None:
    given = [*map(torch.from_numpy, (Q, K, V))]
    out = torch.zeros(WANTED)
    for _ in range(2):
        wrong = "out has torch.float64 for o, but gqa writes torch.float32"
        says(lambda: gqa(*given, out=out.double()), errors.WrongOutput, wrong)
        array = "out has an object of type ndarray for o, but gqa writes a torch tensor"
        says(lambda: gqa(*given, out=NAN), errors.WrongOutput, array)
        overlap = f"out has memory for o that is, or may be, that of q too: {SHARED}"
        says(lambda: gqa(*given, out=given[0]), errors.OutputOverlaps, overlap)
        itself = f"out has memory for o that is, or may be, that of another of its elements too: {SHARED}"
        says(lambda: gqa(*given, out=torch.zeros(2, 4, 5, 1).expand(WANTED)), errors.OutputOverlaps, itself)
        where = "out has a tensor on meta for o, but gqa writes on cpu, where its inputs are"
        says(lambda: gqa(*given, out=out.to("meta")), errors.WrongOutput, where)
        gqa(*given)


def test_outputs_that_overlap_each_other(moved: Op) -> None:
    x, at, memory = np.ones(3, np.float32), np.arange(3, dtype=np.int32), np.zeros(4, np.float32)
    message = "out has memory for total that is, or may be, that of o too: give moved memory that nothing shares"
    says(lambda: moved(x, at, out=(memory[:3], memory[2:3])), errors.OutputOverlaps, message)
    assert moved(x, at, out=(memory[:3], memory[3:])).total.tolist() == [3]


def test_interleaved_memory_is_taken(gqa: Op, convert: Callable[[Any], Any]) -> None:
    """Queries and outputs in the even and in the odd elements of one array, and in halves of each row."""
    memory = np.zeros((2, 4, 5, 16), np.float32)
    for q, out in ((memory[..., ::2], memory[..., 1::2]), (memory[..., :8], memory[..., 8:])):
        q[...] = Q
        gqa(*map(convert, (q, K, V)), out=convert(out))
        np.testing.assert_array_equal(out, gqa(Q, K, V))


def test_what_takes_too_long_to_tell_is_refused() -> None:
    steps = (10006, 20014, 40022, 80018, 160042, 320002, 640018, 1280014, 2560046)
    one = Strided(4096, (3,) * 9, steps, 1)
    other = Strided(4096 + 37, (3,) * 9, tuple(step + 3 for step in steps), 1)
    with pytest.raises(np.exceptions.TooHardError):
        np.shares_memory(np.asarray(one), np.asarray(other), max_work=into.WORK)  # type: ignore[arg-type]
    assert into._may_overlap(np.asarray(one), np.asarray(other))


def test_a_spec_may_call_an_input_out() -> None:
    op = attndsl.compile("attention t { dims N input out : f32[N] output o : f32[N] each i in N o[i] = 2.0 * out[i] }")
    assert op(out=np.ones(3, np.float32)).tolist() == [2, 2, 2]
    assert op(np.ones(3, np.float32)).tolist() == [2, 2, 2]


def test_nothing_is_written_where_a_derivative_is_kept(gqa: Op) -> None:
    given = [*map(torch.from_numpy, (Q, K, V))]
    leaf = torch.zeros(WANTED, requires_grad=True)
    message = (
        "out has a tensor for o that is differentiated, which nothing that gqa writes can be: "
        "call it under torch.no_grad(), or leave out out"
    )
    for _ in range(2):
        says(lambda: gqa(*given, out=leaf), errors.OutputDifferentiated, message)
        says(lambda: gqa(*given, out=leaf * 1), errors.OutputDifferentiated, message)
        gqa(*given)
    with torch.no_grad():
        gqa(*given, out=leaf)
    assert torch.equal(leaf.detach(), gqa(*given))
    wants = given[0].clone().requires_grad_()
    says(
        lambda: gqa(wants, *given[1:], out=torch.zeros(WANTED)),
        errors.GradientWanted,
        "q requires a gradient, which gqa does not give where it writes into out: "
        "call it under torch.no_grad(), or leave out out",
    )


def test_torch_knows_that_it_was_written(gqa: Op) -> None:
    """A product that keeps the tensor for its derivative cannot be differentiated any more."""
    given = [*map(torch.from_numpy, (Q, K, V))]
    for _ in range(2):
        kept, weight = torch.zeros(WANTED), torch.ones((), requires_grad=True)
        product = (kept * weight).sum()
        gqa(*given, out=kept)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            product.backward()
    with torch.inference_mode():
        assert torch.equal(gqa(*given, out=torch.zeros(WANTED)), kept)


def test_torch_compile_writes_it_too(gqa: Op) -> None:
    given = [*map(torch.from_numpy, (Q, K, V))]

    def written(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        return torch.add(gqa(q * 2, k, v, out=out), 1)

    def kept_inside(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        out = torch.empty(WANTED)
        gqa(q * 2, k, v, out=out)
        return out + 1

    torch._dynamo.reset()
    wanted = gqa(given[0] * 2, *given[1:])
    out = torch.zeros(WANTED)
    assert torch.equal(torch.compile(written, fullgraph=True, backend="aot_eager")(*(*given, out)), wanted + 1)
    assert torch.equal(out, wanted)
    assert torch.equal(torch.compile(kept_inside, fullgraph=True, backend="aot_eager")(*given), wanted + 1)


def test_torch_finds_the_writing_operator_sound(gqa: Op) -> None:
    given = [*map(torch.from_numpy, (Q, K, V))]
    gqa(*given)
    writer = getattr(torch.ops.attndsl, f"{gqa.key}_out").default
    torch.library.opcheck(writer, (*given, torch.zeros(WANTED)))


def test_what_lies_apart_is_told_by_its_ends() -> None:
    assert into.lie_apart((2,), (0, 64, 128), (64, 64, 64))
    assert not into.lie_apart((2,), (0, 65, 128), (64, 64, 64))
    assert not into.lie_apart((0,), (0, 63, 128), (64, 1, 64))
    assert into.lie_apart((0, 1), (0, 64, 64), (64, 64, 0)), "nothing shares no memory"
    assert into.lie_apart((), (0, 0), (64, 64)), "what is read may be the same"
