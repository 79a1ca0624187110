"""Small extents that meet what a spec asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from attndsl.checking.check import check
from attndsl.checking.evaluate import evaluate
from attndsl.checking.typed import Spec
from attndsl.inputs import default_dims, default_params
from attndsl.syntax.source import Source

GALLERY = sorted((Path(__file__).parents[2] / "examples").glob("*.attn"))


def spec_of(conditions: str, params: str = "") -> Spec:
    body = "input x : f32[A, B] output o : f32[A] each i in A o[i] = x[i,0]"
    return check(Source(f"attention a{params} {{ dims A, B {conditions} {body} }}"))


@pytest.mark.parametrize("seed", [0, 1, 5])
@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_the_gallery_is_met(path: Path, seed: int) -> None:
    spec = check(Source(path.read_text(encoding="utf-8"), path.name))
    dims, params = default_dims(spec, seed), default_params(spec)
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


def test_nothing_is_found_for_what_cannot_be() -> None:
    with pytest.raises(ValueError, match="no small extents of A, B meet the conditions of `a`"):
        default_dims(spec_of("require A > 5000"))
    with pytest.raises(ValueError, match="no small extents"):
        default_dims(spec_of("require A == B + 1"), given={"A": 2, "B": 2})


def test_parameters_without_default_get_one() -> None:
    spec = spec_of("", "(n: int, scale: f32, flag: bool, window: int = 4096)")
    assert default_params(spec) == {"n": 2, "scale": 0.5, "flag": True, "window": 4096}
