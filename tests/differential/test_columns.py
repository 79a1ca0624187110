"""Products of rows by columns: each stage of both targets gives what the reference gives."""

from __future__ import annotations

import pytest

from attndsl.checking.check import check
from attndsl.syntax.source import Source
from attndsl.testing import Case, Form, check_stages

SPECS = {
    "outputs of which one is turned": """attention p {
        dims B, H, M, N, D
        types T
        input  a  : T[B, H, M, D]
        input  c  : T[B, N, D]
        input  w  : f32[M]
        input  ok : bool[B, N]
        output x  : T[B, M, H, N]
        output y  : bool[B, H, N, M]
        output z  : i32[B, H, M, N]
        each b in B, h in H, i in M, j in N
        let s = a[b,h,i,:] . c[b,j,:]
        x[b,i,h,j] = if ok[b,j] then s * w[i] else 0.0
        y[b,h,j,i] = s > 0.0 and ok[b,j]
        z[b,h,i,j] = if ok[b,j] then i - j else i * j
    }""",
    "ragged, through a table": """attention p {
        dims B, L, S, N, D
        types T
        input  q     : T[L, D]
        input  k     : T[S, D]
        input  cu    : i32[B + 1]
        input  n     : i32[B]
        input  table : i32[B, N]
        output p     : T[L, N]
        each b in B, i in cu[b + 1] - cu[b], j in minimum(n[b], N)
        p[cu[b] + i, j] = q[cu[b] + i,:] . k[table[b,j],:]
    }""",
    "a sum around products": """attention p {
        dims B, X, M, N, D
        types T
        input  q     : T[B, X, M, D]
        input  k     : T[B, N, D]
        input  w     : T[B, X, M]
        output index : f32[B, M, N]
        each b in B, i in M, j in N
        index[b,i,j] = sum(x in X) w[b,x,i] * relu(q[b,x,i,:] . k[b,j,:])
    }""",
    "rows and columns that meet where data say": """attention p {
        dims B, M, N, D
        types T
        input  q    : T[B, M, D]
        input  k    : T[B, N, D]
        input  near : i32[M]
        input  far  : i32[N]
        output r    : f32[M, N]
        each b in B, i in M, j in N
        r[near[i], far[j]] += sigmoid(q[b,i,:] . k[b,j,:])
    }""",
}

FEATURES = {"a sum around products"}
"""What has a product of rows by features as it is, where features are walked as keys are."""


@pytest.mark.parametrize("target", ["numpy", "triton"])
@pytest.mark.parametrize("name", SPECS)
def test_every_stage_agrees(name: str, target: str) -> None:
    spec = check(Source(SPECS[name]))
    extents = [dict.fromkeys(spec.dims, 2) | {"N": n, "M": m, "L": m, "S": n} for n, m in ((7, 5), (1, 9))]
    dims = [{name: size for name, size in each.items() if name in spec.dims} for each in extents]
    cases = [Case.make(spec, "f32" if target == "triton" else "bf16", seed, each) for seed, each in enumerate(dims)]
    seen: list[str] = []
    check_stages(cases, form=Form(target), seen=seen)
    assert ("find-columns" in seen) == (target == "numpy" or name not in FEATURES)
