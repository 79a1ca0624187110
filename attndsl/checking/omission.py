"""A spec of whose inputs some are left out: the form that is compiled for calls without them."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from graphlib import CycleError

from attndsl.checking.extents import origins
from attndsl.checking.layouts import LAYOUT
from attndsl.checking.lines import is_exact, lines_of
from attndsl.checking.plain import plain
from attndsl.checking.rewriting import Rewriting
from attndsl.checking.symbolic import order_of
from attndsl.checking.typed import (
    WEIGHING,
    Apply,
    Constant,
    DimValue,
    Expr,
    IndexValue,
    Kind,
    Read,
    Reduce,
    ReduceAxis,
    Spec,
    Tensor,
    walk,
)


class Untold(ValueError):
    """Without an input nothing tells a dim or an element type: `name`, which `inputs` would tell."""

    def __init__(self, name: str, inputs: Collection[str]) -> None:
        self.name = name
        self.inputs = tuple(inputs)
        super().__init__(f"nothing tells {name} where {', '.join(inputs)} is left out")


def without(spec: Spec, names: Collection[str]) -> Spec:
    """The spec of calls that leave out these inputs, all of which have defaults: no read of them is left.

    A read becomes the default where its index is in range, and is absent elsewhere. Raises Untold where nothing else
    tells a dim or a type that what is left is made of.
    """
    if not names:
        return spec
    left_out = [spec.tensors[name] for name in spec.tensors if name in names]
    rewriting = _WithoutReads({tensor.name for tensor in left_out})
    blocks = tuple(map(rewriting.block, spec.blocks))
    tensors = {name: tensor for name, tensor in spec.tensors.items() if name not in names}
    made = replace(spec, blocks=blocks, tensors=tensors)
    used = {part.name for part in walk(*_roots(made)) if isinstance(part, DimValue)}
    told = origins((tensor.name, lines_of(tensor)) for tensor in made.inputs)
    for dim in spec.dims:
        if dim in used and not (dim in told and is_exact(told[dim].line, spec.requires)):
            raise Untold(dim, [t.name for t in left_out if dim in _dims(t)])
    try:
        order_of(told, {param.name: plain(param.formula) for param in spec.params if param.formula is not None})
    except CycleError as error:
        dim = next(name for name in error.args[1] if name in told)
        raise Untold(dim, [t.name for t in left_out if dim in _dims(t)]) from None
    elements = {tensor.element for tensor in tensors.values()}
    for name in spec.types:
        tellers = [tensor.name for tensor in left_out if tensor.element == name]
        if tellers and name in elements and not any(tensor.element == name for tensor in made.inputs):
            raise Untold(name, tellers)
    types = {name: choices for name, choices in spec.types.items() if name in elements}
    schedule = {name: value for name, value in spec.schedule.items() if not (name == LAYOUT and value in names)}
    return replace(made, dims=tuple(dim for dim in spec.dims if dim in told), types=types, schedule=schedule)


class _WithoutReads(Rewriting):
    def __init__(self, names: Collection[str]) -> None:
        super().__init__()
        self._names = names

    def rewritten(self, expr: Expr) -> Expr:
        made = super().rewritten(expr)
        match made:
            case Read(tensor=Tensor(default=Constant() as default)) if made.tensor.name in self._names:
                return _filled(made, default)
            case Apply(operator="fmul", arguments=(left, right)) if 1.0 in map(_value, (left, right)):
                return right if _value(left) == 1.0 else left
            case Reduce() if made.function in WEIGHING:
                sink = None if made.sink is not None and _value(made.sink) == -math.inf else made.sink
                return replace(made, score=_without_zeros(made.score), sink=sink)
        return made


def _without_zeros(score: Expr) -> Expr:
    """A score without the zeros that are added to it: of what it is the power no sign of a zero tells."""
    match score:
        case Apply(operator="fadd", arguments=(left, right)):
            if 0.0 in (added := [_value(left), _value(right)]):
                return _without_zeros(left if added[1] == 0.0 else right)
            parts = (_without_zeros(left), _without_zeros(right))
            return score if parts == (left, right) else replace(score, arguments=parts)
    return score


def _value(expr: Expr) -> float | None:
    return expr.value if isinstance(expr, Constant) else None


def _filled(read: Read, default: Constant) -> Expr:
    """What a read of a tensor full of a number gives: absent, as 1 / 0 is, where it is out of range."""
    value = replace(default, span=read.span)
    inside: Expr | None = None
    for index, extent in zip(read.indices, read.tensor.extents, strict=True):
        if not _is_below(index, extent):
            low, high = _apply("ile", _number(0, read), index), _apply("ilt", index, extent)
            for condition in (low, high):
                inside = condition if inside is None else _apply("and", inside, condition)
    if inside is None:
        return value
    absent: Expr = _apply("idiv", _number(1, read), _number(0, read))
    match read.kind:
        case Kind.FLOAT:
            return _apply("fselect", inside, value, _apply("float", absent, kind=Kind.FLOAT), kind=Kind.FLOAT)
        case Kind.INT:
            return _apply("iselect", inside, value, absent, kind=Kind.INT)
    return _apply("bselect", inside, value, _apply("ieq", absent, _number(0, read)))


def _is_below(index: Expr, extent: Expr) -> bool:
    """Whether an index is in range at every call, by what it runs through."""
    match index:
        case IndexValue():
            return extent in (index.index.extent, index.index.bound)
        case Constant(value=value):
            return isinstance(extent, Constant) and 0 <= value < extent.value
    return False


def _apply(operator: str, *arguments: Expr, kind: Kind | None = None) -> Apply:
    comparing = operator in ("ile", "ilt", "ieq", "and", "bselect")
    made = kind or (Kind.BOOL if comparing else arguments[0].kind)
    return Apply(made, arguments[0].span, operator, arguments)


def _number(value: int, beside: Expr) -> Constant:
    return Constant(Kind.INT, beside.span, value)


def _dims(tensor: Tensor) -> set[str]:
    return {part.name for part in walk(*tensor.extents) if isinstance(part, DimValue)}


def _roots(spec: Spec) -> list[Expr]:
    """All that a call computes: blocks, extents, conditions and defaults."""
    roots = [extent for tensor in spec.tensors.values() for extent in tensor.extents]
    roots += [*spec.requires, *(param.formula for param in spec.params if param.formula is not None)]
    for block in spec.blocks:
        values = [expr for write in block.writes for expr in (*write.indices, write.value)]
        axes = [axis for write in block.writes for axis in write.axes]
        axes += [expr.index for expr in walk(*values) if isinstance(expr, ReduceAxis)]
        axes += [expr.index for expr in walk(*values) if isinstance(expr, IndexValue)]
        roots += [part for index in (*block.each, *block.over, *axes) for part in (index.extent, index.bound)]
        roots += values
    return roots
