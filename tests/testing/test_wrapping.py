"""Which calls make comparisons, or indices, of what leaves 64 bits."""

from __future__ import annotations

import numpy as np
import pytest

from attndsl.checking.check import check
from attndsl.syntax.source import Source
from attndsl.testing.case import Array
from attndsl.testing.wrapping import comparisons_fit

SPEC = """attention s(p: int) {{
    dims N
    input x : f32[N]
    input a : i64[N]
    output o : f32[N]
    each i in N
    o[i] = {}
}}"""


@pytest.mark.parametrize(
    ("value", "p", "a", "fits"),
    [
        ("f32(p * p * p)", 2**62, 2**63 - 1, True),
        ("if i - p < 3 then 1.0 else 0.0", 2**62, 0, True),
        ("if i - 2 * p < 3 then 1.0 else 0.0", 2**62, 0, False),
        ("if i + p < a[i] then 1.0 else 0.0", 2**62, -(2**62), False),
        ("if (p * p + i) % 8 == 2 then 1.0 else 0.0", 2**62, 0, True),
        ("if (p * p + i & 7) == 2 then 1.0 else 0.0", 2**62, 0, True),
        ("if p * p >> 3 == 2 then 1.0 else 0.0", 2**62, 0, True),
        ("if p << 2 == i then 1.0 else 0.0", 2**61, 0, False),
        ("if 4 * (a[i] % p) < i then 1.0 else 0.0", 2**62, -1, False),
        ("if p % i == a[i] / p then 1.0 else 0.0", 2**62, 2**62, True),
        ("f32(minimum(p * 4, i))", 2**61, 0, False),
        ("x[a[i]]", 0, -(2**63), True),
        ("x[a[i] + 1]", 0, 2**63 - 1, True),
        ("x[a[i] * 2]", 0, 2**63 - 1, False),
        ("x[p * p % 5]", 2**62, 0, True),
    ],
)
def test_comparisons_fit(value: str, p: int, a: int, fits: bool) -> None:
    spec = check(Source(SPEC.format(value)))
    arrays: dict[str, Array] = {"x": np.ones(3, np.float32), "a": np.array([0, a, 1], np.int64)}
    assert comparisons_fit(spec, {"N": 3}, {"p": p}, arrays) is fits


WRITTEN = """attention s(p: int) {{
    dims N
    input x : f32[N]
    inout c : i64[N]
    output o : f32[N]
    temp t : i64[N]
    each i in N over j in N
    t[i] = {}
    each i in N
    c[i] = t[i]
    each i in N
    o[i] = if c[i] < i then x[t[i]] else 0.0
}}"""


@pytest.mark.parametrize(
    ("value", "p", "c", "fits"),
    [
        ("i", 2**62, 0, True),
        ("i", 2**62, -(2**63), False),
        ("p + p", 2**62, 0, False),
        ("p", 2**62, 0, True),
        ("argmax(x[j])", 2**62, 0, True),
    ],
)
def test_what_blocks_write_is_read_by_later_ones(value: str, p: int, c: int, fits: bool) -> None:
    spec = check(Source(WRITTEN.format(value)))
    arrays: dict[str, Array] = {"x": np.ones(3, np.float32), "c": np.array([0, c, 1], np.int64)}
    assert comparisons_fit(spec, {"N": 3}, {"p": p}, arrays) is fits
