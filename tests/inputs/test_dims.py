"""Small extents that meet what a spec asks for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from attndsl.checking.check import check
from attndsl.checking.evaluate import evaluate, with_defaults
from attndsl.checking.typed import Spec
from attndsl.inputs import default_dims, default_params, make_inputs
from attndsl.syntax.source import Source

GALLERY = sorted((Path(__file__).parents[2] / "examples").glob("*.attn"))


def spec_of(conditions: str, params: str = "") -> Spec:
    body = "input x : f32[A, B] output o : f32[A] each i in A o[i] = x[i,0]"
    return check(Source(f"attention a{params} {{ dims A, B {conditions} {body} }}"))


@pytest.mark.parametrize("seed", [0, 1, 5])
@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_the_gallery_is_met(path: Path, seed: int) -> None:
    spec = check(Source(path.read_text(encoding="utf-8"), path.name))
    dims = default_dims(spec, seed)
    params = with_defaults(spec.params, dims, default_params(spec))
    assert tuple(dims) == spec.dims
    assert all(evaluate(condition, dims, params) for condition in spec.requires)
    assert all(evaluate(extent, dims, params) > 0 for t in spec.tensors.values() for extent in t.extents)
    assert default_dims(spec, seed) == dims


def test_neighbours_differ_and_seeds_too() -> None:
    spec = spec_of("")
    found = [default_dims(spec, seed) for seed in range(5)]
    assert all(dims["A"] != dims["B"] for dims in found)
    assert len({tuple(dims.values()) for dims in found}) > 1


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("require A % 32 == 0 and A > 32", lambda a, b: a % 32 == 0 and a > 32),
        ("require A == 2 * B", lambda a, b: a == 2 * b),
        ("require B > A require A % 3 == 0", lambda a, b: b > a and a % 3 == 0),
        ("require A / (B - 3) == 1", lambda a, b: b != 3 and a // (b - 3) == 1),
    ],
)
def test_conditions(condition: str, holds: object) -> None:
    dims = default_dims(spec_of(condition))
    assert callable(holds) and holds(dims["A"], dims["B"])


def test_what_is_given_stays() -> None:
    assert default_dims(spec_of("require A % B == 0"), given={"B": 11, "A": 22}) == {"A": 22, "B": 11}
    assert default_dims(spec_of("require B == A + 1"), given={"A": 17 - 2}) == {"A": 15, "B": 16}


@pytest.mark.parametrize(
    ("conditions", "given", "said"),
    [
        ("require A > 5000", {}, "a requires A > 5000; no small A meets that"),
        ("require B > 1 require A % B == 0", {"B": 999}, "a requires A % B == 0; no small A meets that with B = 999"),
        (
            "require B > 0 require A % B == 0",
            {"A": 5, "B": 2},
            "a requires A % B == 0, which does not hold for A = 5 and B = 2",
        ),
        (
            "require A > B require B > A",
            {},
            "a requires B > A; no small A and B meet that and what is required before it",
        ),
        ("require 1 > 2", {"A": 3}, "a requires 1 > 2, which does not hold"),
        ("require A / (B - 3) == 1", {"B": 3}, "a requires B - 3 != 0, which does not hold for B = 3"),
        ("require B < p", {"A": 3, "B": 9}, "a requires B < p, which does not hold for B = 9 and p = 2"),
        ("input y : f32[A - 4]", {"A": 4}, "y of a is not empty where A - 4 is above 0, which does not hold for A = 4"),
    ],
)
def test_what_cannot_be_met_is_named(conditions: str, given: dict[str, int], said: str) -> None:
    """The condition itself, whatever stands before it and beside it."""
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        default_dims(spec_of(conditions, "(p: int = 2)"), given=given)


def test_conditions_are_met_for_the_parameters_that_are_given() -> None:
    spec = spec_of("require A == 7 * p", "(p: int = 1000)")
    assert default_dims(spec, params={"p": 1})["A"] == 7


def test_parameters_without_default_get_one() -> None:
    spec = spec_of("", "(n: int, scale: f32, flag: bool, window: int = 4096)")
    assert default_params(spec) == {"n": 2, "scale": 0.5, "flag": True, "window": 4096}


def test_a_dim_of_nothing_makes_no_extent_negative() -> None:
    text = (
        "attention a { dims B, N input y : f32[B] input x : f32[N, B - 5] output o : f32[B] each b in B o[b] = y[b] }"
    )
    spec = check(Source(text))
    assert default_dims(spec, given={"N": 0})["B"] >= 5
    with pytest.raises(ValueError, match=r"x of a needs B - 5 of 0 or more"):
        default_dims(spec, given={"B": 0})


def test_a_parameter_with_a_formula_is_computed_for_what_lies_between_blocks() -> None:
    text = """attention a(p: int = N / 2 + 1) {
        dims N
        input  s : f32[N, N]
        output w : f32[N, N]
        each i in p
        over j in N
        w[i,j] = softmax(s[i,j])
    }"""
    assert default_dims(check(Source(text)), given={"N": 4}) == {"N": 4}


def test_places_that_nothing_says_how_far_they_go_may_be_any() -> None:
    text = "attention a { dims M, N input z : i32[M] inout n : i32[N] each i in M n[z[i] % N] = i }"
    assert default_dims(check(Source(text)), given={"M": 9, "N": 2}) == {"M": 9, "N": 2}


def test_rows_that_data_sends_to_their_places_have_one_each() -> None:
    text = """attention a {
        dims M, N, D
        input at : i32[M]
        inout c  : f32[N, D]
        each i in M
        c[at[i], :] = 2.0 * c[at[i], :]
    }"""
    spec = check(Source(text))
    for seed in range(8):
        dims = default_dims(spec, seed)
        assert dims["M"] <= dims["N"]
        at = make_inputs(spec, dims, seed=seed)["at"]
        assert len({*at.tolist()}) == dims["M"]
    assert default_dims(spec, given={"M": 9, "N": 2})["M"] == 9, "where that is not asked for, it is not had"
