"""Which extent tells a dim, and how: in typed expressions and in plain data alike."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from attndsl.backends.dims import solution
from attndsl.checking import symbolic
from attndsl.checking.check import check
from attndsl.checking.extents import LinearExtent, combine, origins
from attndsl.checking.lines import is_exact, line_of
from attndsl.checking.typed import Expr, Spec
from attndsl.diagnostics import SpecError
from attndsl.driver.summarise import summarise
from attndsl.reference.dims import dims_of
from attndsl.syntax.source import Source

ROWS = "each b in B o[b] = y[b]"


def spec(*extents: str, require: str = "true") -> Spec:
    inputs = " ".join(f"input x{n} : f32[{extent}]" for n, extent in enumerate(extents))
    return check(
        Source(f"attention a {{ dims B {inputs} output o : f32[B] require {require} each b in B o[b] = x0[b] }}")
    )


def extent(text: str) -> Expr:
    return spec(text, "B").inputs[0].extents[0]


LINES = {
    "B": LinearExtent("B"),
    "B + 1": LinearExtent("B", offset=1),
    "1 + B": LinearExtent("B", offset=1),
    "B - 1": LinearExtent("B", offset=-1),
    "7 - B": LinearExtent("B", factor=-1, offset=7),
    "2 * B": LinearExtent("B", factor=2),
    "B * 3 - 2": LinearExtent("B", factor=3, offset=-2),
    "(B + 1) * 2": LinearExtent("B", factor=2, offset=2),
    "B / 2": LinearExtent("B", divisor=2),
    "B / 2 / 3 + 1": LinearExtent("B", divisor=6, offset=1),
    "3 * (B / 2) - 4": LinearExtent("B", divisor=2, factor=3, offset=-4),
}


@pytest.mark.parametrize(("text", "line"), LINES.items())
def test_every_form_of_an_extent_gives_the_same_line(text: str, line: LinearExtent) -> None:
    typed = spec(text, "B")
    assert line_of(typed.inputs[0].extents[0]) == line
    assert symbolic.line_of(summarise(typed).inputs[0].extents[0]) == line


@pytest.mark.parametrize("line", LINES.values())
def test_a_line_and_its_solution_are_inverse(line: LinearExtent) -> None:
    for dim in range(0, 24, line.divisor):
        size = line.at(dim)
        assert line.solve(size) == dim
        assert eval(solution(line, "x.shape[0]").replace("x.shape[0]", "size"), {"size": size}) == dim


@pytest.mark.parametrize("text", ["B * B", "B / B", "(B + 1) / 2", "4 / (B + 1)", "B % 2", "minimum(B, 4)"])
def test_what_does_not_tell_a_dim(text: str) -> None:
    assert line_of(extent(text)) is None


B, W = ("dim", "B"), ("param", "w")

WITH_PARAMETERS = {
    "w * B": LinearExtent("B", factor=W),
    "3 * (B * w)": LinearExtent("B", factor=("imul", 3, W)),
    "B + w": LinearExtent("B", offset=W),
    "B - w": LinearExtent("B", offset=("ineg", W)),
    "w - B": LinearExtent("B", factor=-1, offset=W),
    "(w + 2) * B + 1": LinearExtent("B", factor=("iadd", W, 2), offset=1),
    "w / 2 * (B / 2)": LinearExtent("B", divisor=2, factor=("idiv", W, 2)),
}


@pytest.mark.parametrize(("text", "line"), WITH_PARAMETERS.items())
def test_a_line_of_parameters_and_its_solution_are_inverse(text: str, line: LinearExtent) -> None:
    text = f"attention a(w: int) {{ dims B input x : f32[{text}] input y : f32[B] output o : f32[B] {ROWS} }}"
    typed = check(Source(text))
    assert line_of(typed.inputs[0].extents[0]) == line
    for w, dim in product((2, 5), range(0, 12, line.divisor)):
        size = symbolic.settled(line, {"w": w}).at(dim)
        if size >= 0:
            assert dims_of(typed, {"x": np.zeros(size), "y": np.zeros(dim)}, {"w": w}) == {"B": dim}
            assert eval(solution(line, "x.shape[0]").replace("x.shape[0]", "size"), {"size": size, "w": w}) == dim


def test_zero_times_a_dim_tells_nothing() -> None:
    assert combine("imul", (0, LinearExtent("B"))) is None
    assert combine("isub", (LinearExtent("B"), LinearExtent("B"))) is None


def test_alone_before_with_numbers_before_parameters_before_divided() -> None:
    lines = [symbolic.line_of(extent) for extent in (("idiv", B, 2), ("imul", W, B), ("imul", 2, B), B)]
    for count, teller in ((4, "x3"), (3, "x2"), (2, "x1"), (1, "x0")):
        assert origins((f"x{n}", [line]) for n, line in enumerate(lines[:count]))["B"].tensor == teller
    found = {}
    for extents in (["B / 2", "B + 1", "B"], ["B / 2", "2 * B", "B + 1"], ["B / 4", "B / 2"]):
        typed = spec(*extents, require="B % 4 == 0")
        found[tuple(extents)] = origins((t.name, list(map(line_of, t.extents))) for t in typed.inputs)["B"].tensor
    assert list(found.values()) == ["x2", "x1", "x0"]


@pytest.mark.parametrize(
    ("condition", "exact"),
    [
        ("B % 4 == 0", True),
        ("B % 8 == 0", True),
        ("B > 0 and B % 4 == 0", True),
        ("0 == B % 4", True),
        ("not (B % 4 != 0)", True),
        ("B % 2 == 0", False),
        ("B % 4 == 1", False),
        ("B % 4 != 0", False),
        ("B > 0 or B % 4 == 0", False),
        ("not (B % 4 == 0)", False),
        ("0 == B % 2", False),
    ],
)
def test_a_division_is_exact_where_a_condition_says_so(condition: str, exact: bool) -> None:
    assert is_exact(LinearExtent("B", divisor=4), spec("B", require=condition).requires) is exact
    if exact:
        assert spec("B / 4", require=condition).dims == ("B",)
    else:
        with pytest.raises(SpecError, match="E709"):
            spec("B / 4", require=condition)


def test_the_reference_solves_too() -> None:
    typed = spec("3 * B - 1")
    assert dims_of(typed, {"x0": np.zeros(5)}) == {"B": 2}
    with pytest.raises(ValueError, match=r"`x0` is \(2,\) for .*, the array is \(4,\)"):
        dims_of(typed, {"x0": np.zeros(4)})
    with pytest.raises(ValueError, match="which makes `B` -1"):
        dims_of(spec("B + 1"), {"x0": np.zeros(0)})
