"""A spec written otherwise is another text of the same spec: in another order, with other names."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest

from attndsl.checking.check import check
from attndsl.checking.typed import Spec
from attndsl.syntax.read import read_source
from attndsl.syntax.source import Source
from attndsl.testing import Case
from attndsl.testing.disguises import HOSTILE_COMMENTS, HOSTILE_FILES
from attndsl.testing.hostile_names import HOSTILE_NAMES
from attndsl.testing.ordering import reordered
from attndsl.testing.renaming import BUILT_IN, RESERVED, names_of, with_names

T = TypeVar("T")

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.attn"))

SPEC = """attention s(p: int = 2) {
    dims N, M
    types T = f16 | f32
    let f[t] = t / p
    input x : T[N, M]
    input f32 : f32[M]
    schedule { tile_rows = 4 }
    output o : T[N]
    require M > 0
    each i in N
    over j in M
    let exp = exp(f32[j]) + sum(t in M) x[i, t]
    mask = j < f[i] and exp < inf
    o[i] = logsumexp(exp, mask, sink = f32(p))
}"""
"""With names of functions, element types, built-in names and settings among the author's own."""


def test_the_names_of_a_spec_are_those_that_its_author_chose() -> None:
    assert names_of(SPEC) == ("s", "p", "N", "M", "T", "f", "t", "x", "f32", "o", "i", "j", "exp")


def test_other_names_and_nothing_else() -> None:
    names = {"f32": "c", "exp": "e", "T": "V", "t": "u", "s": "spec", "M": "f16"}
    renamed = with_names(SPEC, names)
    assert "types V = f16 | f32" in renamed and "input c : f32[f16]" in renamed
    assert "let e = exp(c[j]) + sum(u in f16) x[i, u]" in renamed
    assert "logsumexp(e, mask, sink = f32(p))" in renamed
    assert with_names(renamed, {new: old for old, new in names.items()}) == SPEC


def same(spec: Spec, other: Spec, names: Mapping[str, str] = {}) -> None:
    """Holds the outputs of two texts of a spec against each other."""
    case = Case.make(spec, seed=3, hostile=True)

    def renamed(given: Mapping[str, T]) -> dict[str, T]:
        return {names.get(name, name): value for name, value in given.items()}

    call = Case(other, renamed(case.types), renamed(case.dims), renamed(case.params), renamed(case.arrays))
    found = call.wanted
    for name, wanted in case.wanted.items():
        np.testing.assert_array_equal(found[names.get(name, name)], wanted)


@pytest.mark.parametrize("path", EXAMPLES[::4], ids=lambda path: path.stem)
def test_the_gallery_under_hostile_names_and_in_any_order(path: Path) -> None:
    source = read_source(path)
    chance = random.Random(path.stem)
    free = [name for name in HOSTILE_NAMES if name not in {"bool", *names_of(source.text)}]
    names = dict(zip(names_of(source.text), chance.sample(free, 80), strict=False))
    text = reordered(with_names(source.text, names), chance.choice)
    assert text != source.text
    same(check(source), check(Source(text)), names)


def test_what_comes_first_in_the_text_may_come_first_again() -> None:
    assert reordered(SPEC, min).split() == SPEC.split()


def test_a_name_is_defined_before_it_is_used() -> None:
    orders = {reordered(SPEC, random.Random(number).choice) for number in range(50)}
    assert len(orders) > 40
    assert any(text.index("output o") < text.index("input x") for text in orders)
    for text in orders:
        same(check(Source(SPEC)), check(Source(text)))


def test_what_is_added_to_one_tensor_keeps_its_order() -> None:
    adding = """attention a {
        dims N
        input x : f32[N]
        output o : f32[]
        output p : f32[]
        each i in N
        o[] += x[i]
        p[] += x[i]
        o[] += 1e-9
        p[] += 3e-9
    }"""
    orders = {
        tuple(re.findall(r"([op])\[\] \+= (\S+)", reordered(adding, random.Random(number).choice)))
        for number in range(50)
    }
    assert len(orders) == 6
    assert all([*filter(lambda sum_: sum_[0] == "o", order)] == [("o", "x[i]"), ("o", "1e-9")] for order in orders)


def test_hostile_names_may_be_names() -> None:
    assert not set(HOSTILE_NAMES) & (RESERVED | BUILT_IN)


@pytest.mark.parametrize("comment", HOSTILE_COMMENTS, ids=ascii)
def test_hostile_comments_are_comments(comment: str) -> None:
    check(Source(SPEC.replace("require", f"{comment}\nrequire")))


def test_hostile_files_could_be_files() -> None:
    assert not [name for name in HOSTILE_FILES if "/" in name or "\0" in name]
