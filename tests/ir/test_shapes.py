"""The extents of tensors as the IR has them: trees, whose text reads back and whose Python computes the same."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from attndsl.backends.names import leaf_name, python_text
from attndsl.checking.evaluate import evaluate as typed_evaluate
from attndsl.checking.operators import OPERATORS
from attndsl.checking.symbolic import Expression, evaluate, leaves
from attndsl.checking.typed import Apply, Constant, DimValue, Expr, Kind, ParamValue
from attndsl.ir import spec
from attndsl.ir.conditions import ConditionAttr
from attndsl.ir.context import parse_module, print_module
from attndsl.ir.extents import condition_text, extent_text, parse_condition, parse_extent
from attndsl.ir.shapes import ShapeAttr
from attndsl.ir.xdsl import ModuleOp, ParseError, VerifyException
from attndsl.syntax.source import Span

EXACT = {name: row for name, row in OPERATORS.items() if Kind.FLOAT not in (row.gives, *row.takes)}

DIMS = {"B": 1, "lambda": 5, "x_s0": 3, "min": 64, "SPLITS": 0, "param": 2, "True": 7, "iselect": 11, "__debug": 4}
PARAMS = {"window": -3, "choice": 9}
CHOICES = {"SPLITS": 2, "ROWS": 16}
"""What a name means elsewhere is nothing to an extent."""

LEAVES = {
    (kind, name): value
    for kind, values in (("dim", DIMS), ("param", PARAMS), ("choice", CHOICES))
    for name, value in values.items()
}


def drawn(rng: random.Random, kind: Kind, depth: int, operators: list[str]) -> Expression:
    """An expression of the kind."""
    if depth == 0 and kind is Kind.INT:
        leaf: Expression = rng.choice([*LEAVES, *range(-3, 9)])
        return leaf
    if depth == 0:
        return rng.random() < 0.5
    name = rng.choice([name for name in operators if EXACT[name].gives is kind])
    operands = [drawn(rng, operand, rng.randrange(depth), operators) for operand in EXACT[name].takes]
    return -operands[0] if name == "ineg" and isinstance(operands[0], int) else (name, *operands)


def typed(expression: Expression) -> Expr:
    """It as the checker has it, what a launch chooses as a parameter."""
    span = Span(0, 0)
    match expression:
        case ("dim", str(name)):
            return DimValue(Kind.INT, span, name)
        case ("param" | "choice" as kind, str(name)):
            return ParamValue(Kind.INT, span, f"{kind} {name}")
        case (str(operator), *operands):
            return Apply(EXACT[operator].gives, span, operator, tuple(map(typed, operands)))
    assert not isinstance(expression, str | tuple)
    return Constant(Kind.BOOL if isinstance(expression, bool) else Kind.INT, span, expression)


def worth(compute: Callable[..., Any], *arguments: Any) -> int | None:
    """What is computed, None where it divides by zero."""
    try:
        return int(compute(*arguments))
    except ZeroDivisionError:
        return None


def by_the_checker(expression: Expression) -> int | None:
    params = {f"{kind} {name}": value for (kind, name), value in LEAVES.items()}
    return worth(typed_evaluate, typed(expression), DIMS, params)


def module_of(*extents: Expression) -> ModuleOp:
    return ModuleOp([spec.TensorOp("x", "workspace", "f32", extents)])


def shape_of(module: ModuleOp) -> tuple[Expression, ...]:
    (tensor,) = module.body.block.ops
    assert isinstance(tensor, spec.TensorOp)
    return tensor.shape


@pytest.mark.parametrize("seed", range(20))
def test_extents_read_back_as_they_were_and_mean_what_the_checker_says(seed: int) -> None:
    rng = random.Random(seed)
    extents = [drawn(rng, Kind.INT, rng.randrange(5), [*EXACT]) for _ in range(40)]
    module = module_of(*extents)
    text = print_module(module)
    again = shape_of(parse_module(text))
    assert again == tuple(extents)
    assert print_module(module_of(*again)) == text
    for extent in again:
        assert worth(evaluate, extent, DIMS, PARAMS, CHOICES) == by_the_checker(extent), extent_text(extent)


@pytest.mark.parametrize("seed", range(5))
def test_conditions_read_back_as_they_were(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(40):
        condition = drawn(rng, Kind.BOOL, 1 + rng.randrange(4), [*EXACT])
        assert parse_condition(condition_text(condition)) == condition


def test_a_condition_is_written_with_signs() -> None:
    condition = ("and", ("igt", ("dim", "D"), 0), ("ilt", ("imul", 2, ("dim", "M")), ("dim", "N")))
    assert condition_text(condition) == "D > 0 and 2 * M < N"
    assert [*ConditionAttr(condition).terms] == [condition[1], condition[2]]
    for unknown in (("ilt", 0, ("choice", "SPLITS")), ("dim", "D")):
        with pytest.raises(VerifyException, match="is no condition on dims and parameters"):
            ConditionAttr(unknown)
    for wrong in ("D +", "D", "D < N < 2"):
        with pytest.raises(ValueError, match="condition"):
            parse_condition(wrong)


PLAIN = [name for name in EXACT if name not in ("ishl", "ishr", "imul")]
"""The operators that stay within 64 bits here, and mean the same in Python."""


@pytest.mark.parametrize("seed", range(20))
def test_their_python_computes_what_the_checker_says(seed: int) -> None:
    rng = random.Random(seed)
    names = {leaf_name(*leaf): value for leaf, value in LEAVES.items()}
    assert len(names) == len(LEAVES)
    for _ in range(60):
        extent = drawn(rng, Kind.INT, rng.randrange(5), PLAIN)
        wanted, text = by_the_checker(extent), python_text(extent)
        assert worth(eval, text, dict(names)) == wanted, text


def test_a_dim_goes_by_its_own_name() -> None:
    shape = ("isub", ("dim", "lambda"), ("param", "window")), ("choice", "SPLITS"), ("imin", ("dim", "min"), 4)
    text = print_module(module_of(*shape))
    assert '["lambda - param(window)", "choice(SPLITS)", "min(min, 4)"]' in text
    assert ShapeAttr(shape).dims == {"lambda", "min"}
    assert [*leaves(shape[0])] == [("dim", "lambda"), ("param", "window")]


@pytest.mark.parametrize(
    "text",
    ["", "M +", "M N", "M.real", "1.5", "(M", "M)", "min(M", "min(M N)", "min(M,)", "param()", "param(M + 1)", "M < N"],
)
def test_what_is_no_expression_cannot_be_read(text: str) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        parse_extent(text)
    with pytest.raises(ParseError, match="cannot be read"):
        parse_module(f'spec.tensor @y "input" "f32" ["{text}"]')


@pytest.mark.parametrize("text", ["exit()", "min(M)", "true", "igt(M, 2)", "iselect(M, 1, 2)", "sqrt(M)", "M + true"])
def test_what_is_no_integer_of_dims_is_no_extent(text: str) -> None:
    with pytest.raises(ParseError, match="is more than arithmetic on dims"):
        parse_module(f'spec.tensor @y "input" "f32" ["{text}"]')


@pytest.mark.parametrize("extent", [True, ("ilt", ("dim", "M"), 2), ("imin", ("dim", "M")), ("exit",), ("sqrt", 2)])
def test_no_pass_makes_an_extent_of_anything_else(extent: Expression) -> None:
    with pytest.raises(VerifyException, match="is more than arithmetic on dims"):
        module_of(("dim", "M"), extent)


@pytest.mark.parametrize("text", ["9" * 5000, "(" * 9999, "-" * 9999, "M + " * 9999 + "M"])
def test_what_python_has_no_room_for_cannot_be_read(text: str) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        parse_extent(text)


def test_parentheses_stand_where_signs_bind_otherwise() -> None:
    a, b, c = (("dim", name) for name in "abc")
    texts: dict[str, Expression] = {
        "a - (b - c)": ("isub", a, ("isub", b, c)),
        "a - b - c": ("isub", ("isub", a, b), c),
        "-(a + b) // 2": ("idiv", ("ineg", ("iadd", a, b)), 2),
        "a // (b * c) % 2": ("imod", ("idiv", a, ("imul", b, c)), 2),
        "(a | b) & c << 1": ("iand", ("ior", a, b), ("ishl", c, 1)),
        "iselect(igt(a, -1), a, b)": ("iselect", ("igt", a, -1), a, b),
    }
    for text, extent in texts.items():
        assert extent_text(extent) == text
        assert parse_extent(text) == extent
