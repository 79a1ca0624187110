"""What is absent gives nothing back: nor does what stands beside it, which the forward left out with it."""

from __future__ import annotations

import numpy as np
import pytest

from attndsl.gradient import gradient
from attndsl.testing import Case

from .differences import compared, slopes_differ, widened

SPECS = {
    "values that are absent where scores are not": """attention t {
        dims M, N, P, E
        input  q : f64[M]
        input  k : f64[N]
        input  v : f64[P, E]
        input  t : i32[N]
        output o : f64[M, E]
        each i in M over j in N
        o[i,:] = softmax(q[i] * k[j]) . v[t[j],:]
    }""",
    "terms of a sum over keys": """attention t {
        dims M, N, P
        input  q : f64[M]
        input  k : f64[N]
        input  v : f64[P]
        input  t : i32[N]
        output o : f64[M]
        each i in M over j in N
        o[i] = sum(q[i] * k[j] + v[t[j]])
    }""",
    "terms of a row": """attention t {
        dims N, P
        input  q : f64[N]
        input  v : f64[P]
        input  t : i32[N]
        output o : f64[N]
        each i in N
        o[i] = q[i] + v[t[i]]
    }""",
    "values where scores do not look": """attention t {
        dims M, N, P, E
        input  q : f64[M]
        input  k : f64[N]
        input  v : f64[P, E]
        input  t : i32[N]
        output o : f64[M, E]
        each i in M over j in N
        o[i,:] = softmax(q[i] * (if i < M then k[j] else v[t[j], 0])) . v[t[j],:]
    }""",
    "scores with a kink, of rows whose values are absent": """attention t {
        dims M, N, P, C, E
        input  q : f64[M, C]
        input  k : f64[N, C]
        input  v : f64[P, N, E]
        input  t : i32[M]
        output o : f64[M, E]
        each i in M over j in N
        o[i,:] = softmax(relu(q[i,:] . k[j,:]) + abs(q[i,:] . k[j,:])) . v[t[i],j,:]
    }""",
    "what is written nowhere": """attention t {
        dims M, N, E
        input  q : f64[M]
        input  k : f64[M, N]
        input  v : f64[N, E]
        input  w : f64[M]
        input  t : i32[M]
        output o : f64[M, E]
        output p : f64[M, E]
        each i in M over j in N
        o[t[i],:] += 2.0 * (softmax(q[i] * k[i,j], sink = w[i]) . v[j,:])
        p[t[i],:] += softmax(q[i] * k[i,j], sink = w[i]) . (q[i] * v[j,:])
    }""",
    "weights of rows that are written nowhere": """attention t {
        dims M, N
        input  q : f64[M]
        input  k : f64[M, N]
        input  t : i32[M]
        output w : f64[M, N]
        each i in M over j in N
        w[t[i],j] += softmax(q[i] * k[i,j])
    }""",
    "extents of rows": """attention t {
        dims M, N, E
        input  q : f64[M]
        input  k : f64[N]
        input  v : f64[N, E]
        input  t : i32[M]
        output o : f64[M, E]
        each i in M over j in t[i]
        o[i,:] = softmax(q[i] * k[j], j != i) . v[j,:]
    }""",
    "vectors that leave their tensor, weighted": """attention t {
        dims M, N, P, E
        input  q : f64[M]
        input  k : f64[N]
        input  v : f64[P, E + 1]
        input  t : i32[N]
        output o : f64[M, E]
        each i in M over j in N
        o[i,:] = softmax(q[i] * k[j]) . v[t[j], j : j + E]
    }""",
    "vectors that leave their tensor, in a sum": """attention t(p: int = 2) {
        dims M, N, P, E
        input  q : f64[M]
        input  k : f64[N]
        input  v : f64[P, E + 1]
        input  t : i32[N]
        output o : f64[M, E]
        each i in M over j in N
        o[i,:] = sum(q[i] * k[j] * v[t[j], p * j / 3 : p * j / 3 + E])
    }""",
    "elements that data choose": """attention t {
        dims M, N, E
        input  q : f64[M]
        input  v : f64[N, E]
        input  t : i32[E]
        output o : f64[M, E]
        each i in M over j in N
        let x[e in E] = v[j, t[e]]
        o[i,:] = sum(q[i] * x)
    }""",
}


@pytest.mark.parametrize("name", SPECS)
def test_it_gives_nothing_back(name: str) -> None:
    spec = widened(SPECS[name])
    case = Case.make(spec, "f64", seed=2)
    places = np.arange(case.arrays["t"].size, dtype=np.int32)
    given = case.given(t=np.where(places % 3 == 1, -1, places % 4).astype(np.int32))
    assert slopes_differ(spec, given) == []
    found = gradient(spec)
    assert compared(given.poisoned(), found) == ([], len(found.gradients))
