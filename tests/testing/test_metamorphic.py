"""Twins: texts that mean the same as another one, each relation over what is drawn, and what it writes."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from attndsl.checking.check import check
from attndsl.storage import encode
from attndsl.syntax.source import Source
from attndsl.testing import Case, Disagreement
from attndsl.testing.fuzz import Example, FuzzPlan, examples
from attndsl.testing.metamorphic import RELATIONS, Twin, check_twin

T = TypeVar("T")

DRAWS = 6


class Chance:
    """Chooses as hypothesis would, for one that is not asked to shrink."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def of(self, options: Sequence[T]) -> T:
        return self._random.choice(options)


@cache
def cases() -> list[Case]:
    found = []

    @settings(
        derandomize=True,
        database=None,
        deadline=None,
        max_examples=DRAWS,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(examples(FuzzPlan(None)))
    def collect(example: Example) -> None:
        found.append(example.case)

    collect()
    return found


def stored(case: Case) -> Mapping[str, Any]:
    """What a program without a fault gives: the reference's outputs as they are stored."""
    with np.errstate(all="ignore"):
        return {name: encode(wanted, case.element(name)) for name, wanted in case.wanted.items()}


@pytest.mark.parametrize("relation", RELATIONS)
def test_twins_of_drawn_specs_mean_the_same(relation: str) -> None:
    made = 0
    for number, case in enumerate(cases()):
        twin = RELATIONS[relation](Chance(number), case)  # type: ignore[arg-type]
        if twin is not None:
            made += 1
            assert twin.text != case.spec.source.text
            check_twin(case, twin, stored)
            assert Twin.from_json(json.loads(json.dumps(asdict(twin)))) == twin
    assert made >= 2


SPEC = """attention s(p: int = 2) {
    dims N, M
    input x : f32[N, M]
    output o : f32[M, N]
    each i in N, h in M
    over j in N
    let at = j + h
    mask = i <= j < p and x[i, h] < 1.0
    o[h, i] = sum(x[at, h], mask)
}"""


@pytest.mark.parametrize(
    ("relation", "said"),
    [
        ("renamed", "name_005[name_003, name_004] = sum(name_006[name_001, name_003]"),
        ("definition inlined", "sum(x[(j + h), h], mask)"),
        ("expression named", "let named ="),
        ("comparisons turned round", "mask = (((j) >= (i)) and ((p) > (j))) and (((1.0) > (x[i, h])))"),
        ("rows permuted", "each h in M, i in N"),
        ("axes permuted", "[M, N]"),
        ("dim split", ") % inner"),
    ],
)
def test_what_a_relation_writes(relation: str, said: str) -> None:
    case = Case.make(check(Source(SPEC)))
    twin = RELATIONS[relation](Chance(3), case)  # type: ignore[arg-type]
    assert twin is not None and said in twin.text


def test_only_single_comparisons_of_ints_are_negated() -> None:
    spec = check(Source(SPEC))
    assert RELATIONS["comparisons negated"](Chance(0), Case.make(spec)) is None  # type: ignore[arg-type]
    spec = check(Source(SPEC.replace("i <= j < p", "i <= j")))
    twin = RELATIONS["comparisons negated"](Chance(0), Case.make(spec))  # type: ignore[arg-type]
    assert twin is not None and "mask = ((not ((i) > (j)))) and (((x[i, h]) < (1.0)))" in twin.text


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_twin_that_means_something_else_is_told(relation: str) -> None:
    text = SPEC.replace("i <= j < p and x[i, h] < 1.0", "j < p")
    case = Case.make(check(Source(text)), seed=1)
    twin = RELATIONS[relation](Chance(0), case)  # type: ignore[arg-type]
    assert twin is not None
    check_twin(case, twin, stored)
    sum_ = twin.text.index("sum(")
    with pytest.raises(Disagreement):
        check_twin(case, replace(twin, text=f"{twin.text[:sum_]}2.0 * {twin.text[sum_:]}"), stored)


def test_other_bits_are_told_where_nothing_numeric_changes() -> None:
    case = Case.make(check(Source(SPEC)), seed=1)
    twin = RELATIONS["renamed"](Chance(0), case)  # type: ignore[arg-type]
    assert twin is not None

    def rounded(case: Case) -> Mapping[str, Any]:
        off = 1 if "o" in case.wanted else 1 + 2**-23
        return {name: (wanted * off).astype(np.float32) for name, wanted in case.wanted.items()}

    with pytest.raises(Disagreement, match="after renamed"):
        check_twin(case, twin, rounded)
    check_twin(case, replace(twin, exact=False), rounded)
