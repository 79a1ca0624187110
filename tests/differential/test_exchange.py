"""Sums whose rows and keys change places: each stage of both targets gives what the reference gives."""

from __future__ import annotations

import pytest

from attndsl.checking.check import check
from attndsl.syntax.source import Source
from attndsl.testing import Case, Form, check_stages

SPECS = {
    "what each key is given, of grouped heads": """attention p {
        dims B, Hq, Hkv, M, N, D
        types T
        input  q    : T[B, Hq, M, D]
        input  k    : T[B, Hkv, N, D]
        output mass : T[B, Hkv, N]
        require Hq % Hkv == 0
        each b in B, h in Hq, i in M
        over j in N
        mass[b, h / (Hq / Hkv), j] += softmax(q[b,h,i,:] . k[b, h / (Hq / Hkv), j, :], j <= i + (N - M))
    }""",
    "groups that heads do not fill": """attention p {
        dims H, N, D
        types T
        input  q : T[H, D]
        input  k : T[N, D]
        output o : f32[H / 3 + 1, N]
        each h in H, j in N
        o[h / 3, j] += q[h,:] . k[j,:] * f32(6 / (h - 1))
    }""",
    "a gradient of keys, by rows": """attention p {
        dims M, N, D
        types T
        input  q  : T[M, D]
        input  k  : T[N, D]
        input  g  : T[M, D]
        inout  dk : T[N, D]
        output t  : f32[N]
        each i in M, j in N
        let s = (if j <= i then exp(q[i,:] . k[j,:] * 0.1) else 0.0)
        dk[j,:] += s * g[i,:]
        t[j]    += s
    }""",
    "projected, summed over heads": """attention p {
        dims B, H, M, D, E
        types T
        input  x : T[B, M, H, D]
        input  w : T[E, D]
        output o : f32[B, M, E]
        each b in B, h in H, i in M
        o[b,i,:] += w[:,:] . x[b,i,h,:]
    }""",
    "features that some of the rows that meet lack": """attention p {
        dims H, M, D, E
        types T
        input  x : T[M, H, D]
        input  w : T[E, D]
        output o : f32[M, E]
        each h in H, i in M
        let made[e in E] = (sum(d in D) w[e, d] * (if e < h then x[i, h + 1, d] else 2.0))
        o[i,:] += made
    }""",
}

FORMS = [Form(), Form("triton", splits=2)]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.target)
@pytest.mark.parametrize("name", SPECS)
def test_every_stage_agrees(name: str, form: Form) -> None:
    spec = check(Source(SPECS[name]))
    element = {"numpy": "bf16", "triton": "f16"}[form.target]
    extents = [dict.fromkeys(spec.dims, 2) | {"N": n, "M": m, "H": m} for n, m in ((7, 5), (3, 1))]
    dims = [{name: size for name, size in each.items() if name in spec.dims} for each in extents]
    cases = [Case.make(spec, element, seed, each) for seed, each in enumerate(dims)]
    seen: list[str] = []
    check_stages([cases[0].poisoned(), cases[1]], form=form, seen=seen)
    assert "exchange-loops" in seen
