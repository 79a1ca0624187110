"""The typed form as text, close to the language: for messages, tests and people."""

from __future__ import annotations

from attndsl.checking.operators import OPERATORS
from attndsl.checking.typed import (
    Apply,
    Block,
    Constant,
    DimValue,
    Expr,
    Index,
    IndexValue,
    ParamValue,
    Read,
    Reduce,
    Spec,
    Sum,
    walk,
)

_LEVELS = {"or": 2, "and": 4, "not": 6, "|": 10, "^": 12, "&": 14, "<<": 16, ">>": 16, "+": 18, "-": 18}
_LEVELS |= dict.fromkeys("*/%", 20)
_COMPARISON, _SUM, _NEGATION, _ATOM = 8, 19, 22, 40
"""How tightly operators bind; a contraction takes in the products after it, so it is looser than they are."""


def expression_text(expr: Expr) -> str:
    """An expression in the language's syntax, with as few parentheses as it takes."""
    texts: dict[Expr, tuple[str, int]] = {}
    for part in walk(expr):
        texts[part] = _text(part, texts)
    return texts[expr][0]


def spec_text(spec: Spec) -> str:
    """A typed spec, one line a tensor, a condition, an index variable and a write."""
    lines = [f"attention {spec.name}"]
    lines += [f"param {p.name}: {p.kind.value} = {p.default}" for p in spec.params]
    for tensor in spec.tensors.values():
        extents = ", ".join(map(expression_text, tensor.extents))
        lines.append(f"{tensor.role} {tensor.name}: {tensor.element}[{extents}]")
    lines += [f"require {expression_text(condition)}" for condition in spec.requires]
    for block in spec.blocks:
        lines += _block_lines(block)
    lines += [f"schedule {name} = {value}" for name, value in spec.schedule.items()]
    return "\n".join(lines) + "\n"


def _block_lines(block: Block) -> list[str]:
    lines = [f"{index.role} {_binder(index)}" for index in (*block.each, *block.over)]
    for write in block.writes:
        axes = "".join(f" for {_binder(axis)}" for axis in write.axes)
        indices = ", ".join(map(expression_text, write.indices))
        lines.append(f"{write.tensor.name}[{indices}] = {expression_text(write.value)}{axes}")
    return lines


def _binder(index: Index) -> str:
    bound = "" if index.bound is index.extent else f" up to {expression_text(index.bound)}"
    return f"{index.name} in {expression_text(index.extent)}{bound}"


def _text(expr: Expr, texts: dict[Expr, tuple[str, int]]) -> tuple[str, int]:
    """The text of an expression whose operands have theirs, and how tightly it binds."""
    match expr:
        case Constant():
            text = str(expr.value).lower()
            return text, _NEGATION if text.startswith("-") else _ATOM
        case DimValue() | ParamValue():
            return expr.name, _ATOM
        case IndexValue():
            return expr.index.name, _ATOM
        case Read():
            return f"{expr.tensor.name}[{', '.join(texts[i][0] for i in expr.indices)}]", _ATOM
        case Sum():
            return f"sum({_binder(expr.index)}) {_inside(expr.body, _LEVELS['*'], texts)}", _SUM
        case Reduce():
            named = (("", expr.score), ("mask = ", expr.mask), ("value = ", expr.value), ("sink = ", expr.sink))
            parts = [name + texts[part][0] for name, part in named if part is not None]
            return f"{expr.function}({', '.join(parts)})", _ATOM
        case Apply():
            return _apply_text(expr, texts)
    raise AssertionError(expr)


def _apply_text(expr: Apply, texts: dict[Expr, tuple[str, int]]) -> tuple[str, int]:
    spelling, arguments = OPERATORS[expr.operator].spelling, expr.arguments
    if spelling.endswith("()"):
        return f"{spelling[:-2]}({', '.join(texts[a][0] for a in arguments)})", _ATOM
    if len(arguments) == 3:
        return "if {} then {} else {}".format(*(_inside(a, 2, texts) for a in arguments)), 0
    if len(arguments) == 1:
        level = _LEVELS["not"] if spelling == "not" else _NEGATION
        return f"{spelling}{' ' if spelling == 'not' else ''}{_inside(arguments[0], level, texts)}", level
    level = _LEVELS.get(spelling, _COMPARISON)
    left, right = arguments
    left_level = level + 1 if level == _COMPARISON else level
    return f"{_inside(left, left_level, texts)} {spelling} {_inside(right, level + 1, texts)}", level


def _inside(expr: Expr, level: int, texts: dict[Expr, tuple[str, int]]) -> str:
    text, own = texts[expr]
    return text if own >= level else f"({text})"
