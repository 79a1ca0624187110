"""The interpreter beside torch's own attention, both in float64."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl.checking.check import check
from attndsl.reference import reference
from attndsl.syntax.source import Source

torch = pytest.importorskip("torch")

GALLERY = Path(__file__).parents[2] / "examples"


def run(name: str, *arrays: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    path = GALLERY / f"{name}.attn"
    spec = check(Source(path.read_text(encoding="utf-8"), path.name))
    return reference(spec, dict(zip("qkv", arrays, strict=True)))["o"]


@pytest.mark.parametrize(
    ("name", "heads", "groups", "rows", "keys"),
    [
        ("mha", 3, 3, 4, 6),
        ("causal_start", 2, 2, 5, 5),
        ("causal_end", 2, 2, 3, 7),
        ("gqa", 6, 2, 4, 9),
        ("gqa", 4, 1, 1, 5),
    ],
)
def test_agrees_with_torch(name: str, heads: int, groups: int, rows: int, keys: int) -> None:
    rng = np.random.default_rng(3)
    q = rng.standard_normal((2, heads, rows, 5))
    k, v = (rng.standard_normal((2, groups, keys, width)) for width in (5, 7))
    mask = None if name == "mha" else torch.ones(rows, keys, dtype=torch.bool).tril(keys - rows)
    attend = torch.nn.functional.scaled_dot_product_attention
    expected = attend(*map(torch.from_numpy, (q, k, v)), attn_mask=mask, enable_gqa=heads != groups)
    np.testing.assert_allclose(run(name, q, k, v), expected.numpy(), rtol=1e-12, atol=1e-14)
