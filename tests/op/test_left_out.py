"""Calls that leave out inputs: they mean the same as tensors full of the defaults, and run programs that read none."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import attndsl
from attndsl.checking.check import check
from attndsl.checking.omission import Untold, without
from attndsl.checking.text import spec_text
from attndsl.checking.typed import Read, walk
from attndsl.op import errors
from attndsl.reference import reference
from attndsl.syntax.source import Source
from attndsl.testing import Case, check_stages

SPEC = """attention biased(scale: f32 = 0.5) {
    dims H, M, N, D, P
    types T, U
    input q : T[H, M, D]
    input k : T[H, N, D]
    input sink : T[H] = -inf
    input bias : U[H, M, N] = 0.0
    input gain : f32[N] = 2.0
    input seen : bool[M, N] = true
    input last : i32[M] = 3
    input spare : f32[P] = 1.0
    output o : T[H, M, D]
    each h in H, i in M
    over j in last[i] up to N
    mask = seen[i, j + 1]
    score = scale * q[h,i,:] . k[h,j,:] + bias[h,i,j]
    o[h,i,:] = softmax(score, mask, sink = sink[h]) . (gain[j] * k[h,j,:]) * spare[i]
}"""

RANDOM = np.random.default_rng(0)
GIVEN: dict[str, Any] = {
    "q": RANDOM.standard_normal((2, 3, 4)).astype(np.float32),
    "k": RANDOM.standard_normal((2, 5, 4)).astype(np.float32),
}
FULL: dict[str, Any] = {
    "sink": np.full(2, -np.inf, np.float32),
    "bias": np.zeros((2, 3, 5), np.float32),
    "gain": np.full(5, 2, np.float32),
    "seen": np.ones((3, 5), bool),
    "last": np.full(3, 3, np.int32),
    "spare": np.ones(2, np.float32),
}
OTHER = {
    **FULL,
    "bias": RANDOM.standard_normal((2, 3, 5)).astype(np.float32),
    "sink": np.ones(2, np.float32),
    "last": np.full(3, 5, np.int32),  # so that the last key reads `seen` out of range
}


@pytest.fixture(scope="module")
def op() -> Any:
    return attndsl.compile(SPEC)


CONVERT: dict[str, Callable[[Any], Any]] = {"numpy": lambda array: array, "torch": torch.from_numpy}


@pytest.mark.parametrize("convert", CONVERT.values(), ids=CONVERT)
@pytest.mark.parametrize(
    "names", [("sink",), ("bias",), ("sink", "bias"), ("gain", "seen"), ("last",), tuple(FULL)[:5]]
)
def test_what_is_left_out_is_full_of_its_default(op: Any, names: tuple[str, ...], convert: Any) -> None:
    rest = {name: array for name, array in {**GIVEN, **OTHER}.items() if name not in names}
    full = {**rest, **{name: FULL[name] for name in names}}
    wanted = reference(check(Source(SPEC)), full)["o"]
    for _ in range(2):
        found = op(**{name: convert(array) for name, array in rest.items()})
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
        none = dict.fromkeys(names)
        np.testing.assert_array_equal(op(**{name: convert(array) for name, array in rest.items()}, **none), found)
    np.testing.assert_allclose(reference(check(Source(SPEC)), rest)["o"], wanted)


def test_the_program_reads_nothing_of_it(op: Any) -> None:
    spec = check(Source(SPEC))
    names = ("sink", "bias", "gain", "seen", "last")
    made = without(spec, names)
    reads = {
        part.tensor.name for write in made.blocks[0].writes for part in walk(write.value) if isinstance(part, Read)
    }
    assert reads == {"q", "k", "spare"}
    assert made.types == {"T": spec.types["T"]}
    form = op.without(*names)
    assert [tensor.name for tensor in form.signature.inputs] == ["q", "k", "spare"]
    assert "def biased(q, k, spare, o, *, scale=0.5" in form.source
    code = [line for line in form.source.splitlines() if not line.lstrip().startswith("#")]
    assert [line for line in code if re.search(r"\b(sink|bias|gain)\[", line)] == []


def test_every_stage_of_its_form_agrees() -> None:
    check_stages([Case.make(without(check(Source(SPEC)), tuple(FULL)[:5]), seed=3, hostile=True)])


def test_a_sum_of_defaults_costs_nothing() -> None:
    made = without(check(Source(SPEC)), ("sink", "bias"))
    assert "softmax(scale * (sum(d in D) q[h, i, d] * k[h, j, d]), mask" in spec_text(made)


def test_by_position_and_into(op: Any) -> None:
    rest = (GIVEN["q"], GIVEN["k"], None, None, None, None, None, FULL["spare"])
    out = np.zeros((2, 3, 4), np.float32)
    assert op(*rest, out=out) is out
    np.testing.assert_array_equal(out, op(**GIVEN, spare=FULL["spare"]))


def test_torch_compile_and_pickle(op: Any) -> None:
    torch._dynamo.reset()
    q, k, spare = (torch.from_numpy(array) for array in (GIVEN["q"], GIVEN["k"], FULL["spare"]))
    fresh = attndsl.compile(SPEC)  # whose form is first made while torch compiles
    compiled = torch.compile(lambda q, k, spare: fresh(q, k, spare=spare), fullgraph=True, backend="aot_eager")
    wanted = op(q, k, spare=spare)
    assert torch.equal(compiled(q, k, spare), wanted)
    assert torch.equal(pickle.loads(pickle.dumps(op.without("sink")))(q, k, spare=spare), wanted)


def test_what_only_it_tells_is_missed(op: Any) -> None:
    text = "dims N, P types U input x : f32[N] input y : U[P] = 0.0 output o : f32[N] each i in N"
    needs_dim = attndsl.compile(f"attention a {{ {text} o[i] = x[i] + f32(P) + y[i] }}")
    with pytest.raises(errors.LeftOutTells, match=r"^a knows P from y alone, which is left out$"):
        needs_dim(np.ones(3, np.float32))
    typed = text.replace("output o : f32", "output o : U").replace("U[P]", "U[N]").replace("N, P", "N")
    needs_type = attndsl.compile(f"attention a {{ {typed} o[i] = x[i] + y[i] }}")
    with pytest.raises(errors.LeftOutTells, match=r"^a knows U from y alone, which is left out$"):
        needs_type(np.ones(3, np.float32))
    with pytest.raises(Untold):
        without(check(Source(SPEC)), ["spare"])
    bounded = attndsl.compile(f"attention a {{ {text} o[i] = x[i] + (if i < 2 then y[1] else 0.0) }}")
    with pytest.raises(errors.LeftOutTells):
        bounded(np.ones(3, np.float32))


def test_what_may_not_be_left_out(op: Any) -> None:
    call = "biased(q=…, k=…, sink=-inf, bias=0.0, gain=2.0, seen=True, last=3, spare=1.0, scale=0.5)"
    with pytest.raises(errors.NoDefault, match=re.escape(f"k is nothing that a call of biased may leave out: {call}")):
        op.without("k")
    with pytest.raises(errors.MissingArgument, match=r"^biased needs k too"):
        op(GIVEN["q"])
    with pytest.raises(errors.UnknownArgument, match=r"^biased has no argument biass, did you mean bias\?"):
        op(**GIVEN, biass=FULL["bias"])
    alone = attndsl.compile("attention a { input x : f32[2] = 1.0 output o : f32[2] each i in 2 o[i] = x[i] }")
    with pytest.raises(errors.NothingGiven, match=r"^a needs an input to know where it computes"):
        alone()
    assert alone(np.zeros(2, np.float32)).tolist() == [0, 0]
