"""The rule of each operator, beside finite differences; and that a wrong one is found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from attndsl.checking.check import check
from attndsl.checking.operators import OPERATORS
from attndsl.checking.typed import Expr, Kind
from attndsl.gradient import adjoints
from attndsl.gradient.adjoints import ADJOINTS, Adjoint
from attndsl.gradient.algebra import Algebra
from attndsl.syntax.source import Source
from attndsl.testing import Case

from .differences import slopes_differ

FLAT = ("floor", "random")
"""Functions of a number that have no slope anywhere."""

FLOATS = [n for n, row in OPERATORS.items() if row.gives is Kind.FLOAT and Kind.FLOAT in row.takes and n not in FLAT]


def applied(operator: str) -> str:
    """A spec that has an operator once in its score, and once in what follows the reduction."""
    row = OPERATORS[operator]

    def of(x: str, y: str) -> str:
        if row.takes[0] is Kind.BOOL:
            return f"if {x} < {y} then {x} * {x} else {y}"
        operands = [x, y][: len(row.takes)]
        if row.spelling.endswith("()"):
            return f"{row.spelling[:-2]}({', '.join(operands)})"
        return f" {row.spelling} ".join(["", *operands] if len(operands) == 1 else operands)

    return f"""attention t {{
        dims M, N
        input  x : f64[M]
        input  y : f64[N]
        input  z : f64[M]
        output o : f64[M]
        each i in M over j in N
        o[i] = ({of("z[i]", "sum(y[j])")}) + sum(exp(0.1 * ({of("x[i]", "y[j]")})))
    }}"""


def case_of(operator: str) -> Case:
    spec = check(Source(applied(operator)))
    rng = np.random.default_rng(3)
    numbers = {name: rng.uniform(0.3, 1.2, size) for name, size in (("x", 4), ("y", 3), ("z", 4))}
    return Case(spec, {}, {"M": 4, "N": 3}, {}, numbers)


@pytest.mark.parametrize("operator", FLOATS)
def test_the_result_rises_as_the_rule_says(operator: str) -> None:
    case = case_of(operator)
    assert slopes_differ(case.spec, case) == []


@pytest.mark.parametrize("operator", FLOATS)
def test_a_wrong_rule_is_found(operator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that gives back a little less."""
    right = ADJOINTS[operator]

    def less(a: Algebra, x: Sequence[Expr], r: Expr, g: Expr) -> Sequence[Adjoint | None]:
        parts = right(a, x, r, g)
        return [part and part._replace(value=a.multiply(a.number(0.999), part.value)) for part in parts]

    monkeypatch.setitem(adjoints.ADJOINTS, operator, less)
    case = case_of(operator)
    assert slopes_differ(case.spec, case) != []


def gradients_at(text: str, **numbers: list[float]) -> dict[str, list[float]]:
    from attndsl.gradient import gradient
    from attndsl.reference import reference

    spec = check(Source(text))
    found = gradient(spec)
    arrays = {name: np.array(values) for name, values in numbers.items()}
    given = {**arrays, "d_o": np.ones(len(arrays["x"]))}
    backward = check(Source(found.backward))
    written = reference(backward, {tensor.name: given[tensor.name] for tensor in backward.inputs})
    return {name: written[output].tolist() for name, output in found.gradients.items()}


def pointwise(value: str) -> str:
    return f"attention t {{ dims N input x : f64[N] input y : f64[N] output o : f64[N] each i in N o[i] = {value} }}"


def test_kinks() -> None:
    """As PyTorch has them."""
    assert gradients_at(pointwise("abs(x[i]) + y[i]"), x=[0.0, -2.0], y=[0.0, 0.0])["x"] == [0.0, -1.0]
    assert gradients_at(pointwise("relu(x[i]) + y[i]"), x=[0.0, 2.0], y=[0.0, 0.0])["x"] == [0.0, 1.0]
    for function in ("maximum", "minimum"):
        found = gradients_at(pointwise(f"{function}(x[i], y[i])"), x=[1.0], y=[1.0])
        assert found == {"x": [0.5], "y": [0.5]}


def test_what_is_not_chosen_gives_back_nothing() -> None:
    """Whatever it is: the logarithm of 0 has no number to multiply 0 with."""
    text = pointwise("(if x[i] > 0.0 then log(x[i]) * sqrt(x[i]) else y[i])")
    assert gradients_at(text, x=[0.0, -1.0], y=[3.0, 3.0]) == {"x": [0.0, 0.0], "y": [1.0, 1.0]}
