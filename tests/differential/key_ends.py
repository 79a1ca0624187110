"""Specs whose keys begin and end where data or a parameter says, be it at the edges of 64 bits, and calls of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from attndsl.checking.check import check
from attndsl.checking.typed import Spec
from attndsl.storage import ELEMENTS
from attndsl.syntax.source import Source
from attndsl.testing import Case

ENDS = (*range(-2, 9), 2**31 - 1, -(2**31), 2**62, -(2**62), 2**63 - 1, -(2**63))

SUMS = {
    "from a row to data": "sum(x[j], i - 3 < j < n[i])",
    "from data to a row": "sum(x[j], n[i] <= j < i + 3)",
    "pages from a parameter on": "sum(x[j / 4 + p])",
    "pages from data on": "sum(x[j / 4 + n[i]])",
    "from data on": "sum(x[j + n[i]])",
    "back from data": "sum(x[n[i] - j])",
    "data that a mask moves": "sum(x[c[j]], c[j] + 1 <= N)",
    "beyond 32 bits": "sum(x[j], c[j] < 3000000000 and j < 3000000000 and n[i] > -5000000000)",
    "large numbers": "sum(x[j] * f32(((if j < 3 then j else 9223372036854775807) >> 40) + minimum(j, 3000000000)))",
    "shifts of rows": "sum(x[j], (1 << (i + 34)) > j << 33 and (j & 4294967295) == j)",
    "a multiple and back": "sum(x[i * 4611686018427387904 / 4611686018427387904 + j])",
    "a sum of what is not negative": "sum(x[maximum(c[j], 0) + maximum(c[j], 0)])",
    "a window about a parameter": "sum(x[j], i + p - 2 < j <= i + p + 2)",
}
"""What a row sums. No term of a comparison leaves 64 bits, but where the value is absent anyway."""


def spec_of(name: str, element: str) -> Spec:
    """The spec of one sum, data being of an element type."""
    data = f"input n : {element}[M] input c : {element}[N]"
    text = f"dims N, M {data} input x : f32[N] output o : f32[M] each i in M over j in N o[i] = {SUMS[name]}"
    return check(Source(f"attention ends(p: int) {{ {text} }}", "ends.attn"))


def calls(spec: Spec, element: str) -> Iterator[Case]:
    """Calls with ends of all sizes."""
    limits = np.iinfo(ELEMENTS[element].dtype)
    ends = [end for end in ENDS if limits.min <= end <= limits.max]
    rng = np.random.default_rng(0)
    for p in (0, 3, -1, 2**62, -(2**62), 2**31):
        n, c = (np.array([ends[k] for k in rng.integers(len(ends), size=size)], limits.dtype) for size in (6, 11))
        arrays = {"n": n, "c": c, "x": rng.integers(1, 9, 11).astype(np.float32)}
        yield Case(spec, {}, {"N": 11, "M": 6}, {"p": p}, arrays)
