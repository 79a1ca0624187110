"""The spec that is composed: its text, and what it computes, on every target, beside the reference interpreter."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import attndsl
from attndsl.driver.library import checked
from attndsl.gradient import gradient
from attndsl.integrations.transformers.spec import TERMS, text
from attndsl.reference import reference
from attndsl.syntax.format import format_text
from attndsl.syntax.source import Source
from attndsl.testing.case import Case
from attndsl.testing.stages import Form, check_stages

ALL = (*TERMS,)
ASKED = [
    (),
    ("since",),
    ("since", "until", "cap"),
    ("since", "until", "sink"),
    ("since", "bias"),
    ("seen", "bias", "sink", "cap"),
    ALL,
]
"""What the architectures of the tests ask for, and all at once."""


def every() -> Iterator[tuple[str, ...]]:
    for count in range(len(ALL) + 1):
        yield from combinations(ALL, count)


def test_texts_are_laid_out_as_people_do() -> None:
    for terms in every():
        assert format_text(Source(text(terms))) == text(terms)


@pytest.mark.parametrize(
    ("target", "terms"),
    [*(("numpy", terms) for terms in ASKED), ("triton", ("since",)), ("triton", ALL)],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_stages(target: str, terms: tuple[str, ...]) -> None:
    spec = checked(Source(text(terms)))
    check_stages(list(cases(spec, terms)), form=Form(target))


@pytest.mark.matrix
@pytest.mark.parametrize(("target", "counts"), [("numpy", (1, 2, len(ALL) - 1)), ("triton", (1, len(ALL) - 1))])
def test_stages_of_others(target: str, counts: tuple[int, ...]) -> None:
    """Each term and all but one; each two of them where stages are quick."""
    for terms in (terms for terms in every() if len(terms) in counts):
        spec = checked(Source(text(terms)))
        check_stages(list(cases(spec, terms)), form=Form(target))


@pytest.mark.parametrize("terms", ASKED, ids=" ".join)
def test_there_is_a_gradient(terms: tuple[str, ...]) -> None:
    wanted = [name for name in ("q", "k", "v", "bias", "sink") if name in {*"qkv", *terms}]
    assert {*gradient(checked(Source(text(terms))), wanted).gradients} == {*wanted}


def test_the_reference_is_what_is_meant() -> None:
    """All terms at once, written out."""
    random = np.random.default_rng(0)
    spec = checked(Source(text(ALL))).where({"T": "f64", "U": "f64", "S": "f64"})
    q, k, v = (random.standard_normal((2, heads, rows, 8)) for heads, rows in ((4, 5), (2, 7), (2, 7)))
    bias, sink = random.standard_normal((2, 4, 5, 7)), random.standard_normal((2, 4, 5))
    since = random.integers(-3, 5, (2, 7)).astype(np.int32)
    until = (since + random.integers(1, 6, (2, 7))).astype(np.int32)
    start = (since + random.integers(-2, 3, (2, 7))).astype(np.int32)
    seen = random.random((2, 4, 5, 7)) < 0.8
    given: dict[str, Any] = {
        "q": q,
        "k": k,
        "v": v,
        "since": since,
        "until": until,
        "start": start,
        "seen": seen,
        "bias": bias,
        "sink": sink,
    }
    o = reference(spec, given, {"scale": 0.5, "cap": 2.0})["o"]

    keys, values = k.repeat(2, axis=1), v.repeat(2, axis=1)
    score = 2.0 * np.tanh(0.5 * q @ keys.mT / 2.0) + bias
    i = np.arange(5)[:, None]
    mask = seen & ((since[:, None] <= i) & (i < until[:, None]) & (start[:, None] <= i))[:, None]
    weights = np.where(mask, np.exp(score), 0.0)
    wanted = (weights @ values) / (np.exp(sink)[..., None] + weights.sum(-1, keepdims=True))
    wanted[~mask.any(-1)] = 0.0
    np.testing.assert_allclose(o, wanted.swapaxes(1, 2), rtol=1e-12)


def test_ranges_are_cut_by_what_a_mask_says() -> None:
    told = attndsl.compile(text(("since", "until"))).explain(B=1, Hq=4, Hkv=2, M=64, N=64, D=16, E=16)
    assert "cut to the keys that some row of the tile can see" in told


def cases(spec: object, terms: tuple[str, ...]) -> Iterator[Case]:
    """Calls with keys that come into sight before, within and after the rows, and leave it again, or are never seen."""
    for seed, dims in enumerate(({"B": 2, "Hq": 4, "Hkv": 2, "M": 5, "N": 7, "D": 3, "E": 2}, {"M": 1, "N": 6})):
        case = Case.make(spec, seed=seed, dims=dims, params={"cap": 2.0} if "cap" in terms else {})  # type: ignore[arg-type]
        batch, keys = case.arrays["k"].shape[0], case.arrays["k"].shape[2]
        since = np.resize(np.arange(keys, dtype=np.int32) - 2, (batch, keys))
        since[0, 1] = 2**30
        rows = {"since": since, "until": np.resize(np.arange(keys, dtype=np.int32) + 1, (batch, keys))}
        rows["start"] = since // 2
        yield case.given(**{name: array for name, array in rows.items() if name in terms}).poisoned()
