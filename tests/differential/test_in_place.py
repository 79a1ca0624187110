"""Tensors that a call writes in place: each stage of both targets leaves in them what the reference says."""

from __future__ import annotations

import pytest

from attndsl.checking.check import check
from attndsl.ir.build import build
from attndsl.ir.xdsl import VerifyException
from attndsl.syntax.source import Source
from attndsl.testing import Case, Form, check_stages

SPECS = {
    "a cache that grows, and attention over it": """attention p {
        dims B, H, M, S, D
        types T
        input  q    : T[B, H, M, D]
        input  k    : T[B, M, D]
        inout  c    : T[B, S, D]
        input  past : i32[B]
        output o    : T[B, H, M, D]
        each b in B, i in M
        c[b, past[b] + i, :] = k[b,i,:]
        each b in B, h in H, i in M
        over j in past[b] + M
        o[b,h,i,:] = softmax(q[b,h,i,:] . c[b,j,:], j <= past[b] + i) . c[b,j,:]
    }""",
    "states that decay, read before and after": """attention p {
        dims M, N, D
        types T
        input  x      : T[M, D]
        input  at     : i32[M]
        inout  state  : T[N, D]
        inout  seen   : bool[N]
        output before : T[M]
        output after  : T[N]
        each i in M
        before[i] = state[at[i], :] . x[i,:]
        each i in M
        over j in D
        state[at[i], :] = (if seen[at[i]] then state[at[i], :] * sum(x[i,j]) else x[i,:]) + x[i+1,:]
        each i in M
        seen[at[i]] = not seen[at[i]] or x[i,0] > 0.0
        each n in N
        over j in D
        after[n] = sum(state[n,j], seen[n])
    }""",
    "sums onto what is there": """attention p {
        dims M, N, D
        types T
        input  x     : T[M, D]
        input  class : i32[M]
        inout  total : T[N, D]
        inout  exact : f32[N]
        inout  half  : f16[]
        inout  all   : f32[]
        output o     : T[N, D]
        each i in M
        total[class[i], :] += x[i,:]
        each i in M, d in D
        exact[class[i]] += x[i,d] * x[i + 1, d]
        half[] += x[i,d] / f32(2 / class[i])
        all[] += x[i + 1, d]
        each n in N
        o[n,:] = total[n,:] * exact[n]
    }""",
    "a cache of 8 bits": """attention p {
        dims M, N, D
        types T
        input x    : T[M, D]
        input at   : i32[M]
        inout code : i8[N, D]
        inout step : f32[N]
        inout f8   : f8e4m3[N]
        each i in M
        let most = max(d in D) abs(x[i,d])
        let s    = if most > 0.0 then most / 127 else 1.0
        code[at[i], :] = x[i,:] / s
        step[at[i]]    = s
        f8[at[i]]      = most
    }""",
    "weights in place of scores": """attention p {
        dims M, N
        types T
        inout s : T[M, N]
        each i in M
        over j in N
        s[i,j] = softmax(s[i,j], j <= i)
    }""",
}

FORMS = [Form(), Form("triton", splits=2)]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.target)
@pytest.mark.parametrize("name", SPECS)
def test_every_stage_agrees(name: str, form: Form) -> None:
    spec = check(Source(SPECS[name]))
    element = {"numpy": "bf16", "triton": "f16"}[form.target]
    extents = [dict.fromkeys(spec.dims, 2) | {"N": size} for size in (7, 3)]
    cases = [Case.make(spec, element, seed, dims, hostile=seed > 0) for seed, dims in enumerate(extents)]
    check_stages([cases[0], cases[1].poisoned()], form=form)


def test_a_kernel_that_writes_an_output_does_not_read_it() -> None:
    module = build(check(Source(SPECS["weights in place of scores"])), {"T": "f32"})
    module.verify()
    tensor = next(op for op in module.body.block.ops if op.properties.get("sym_name").data == "s")
    tensor.properties["role"] = type(tensor.properties["role"])("output")
    with pytest.raises(VerifyException, match="read"):
        module.verify()
