"""Typed spec to signature."""

from __future__ import annotations

from dataclasses import replace

from attndsl.checking.layouts import LAYOUT, following
from attndsl.checking.plain import plain
from attndsl.checking.symbolic import Expression
from attndsl.checking.typed import (
    Apply,
    Block,
    DimValue,
    Expr,
    Index,
    IndexValue,
    Read,
    Reduce,
    ReduceAxis,
    Spec,
    Tensor,
    operands,
    walk,
)
from attndsl.driver.meaning import meaning
from attndsl.driver.signature import ParamSignature, Signature, TensorSignature


def summarise(spec: Spec) -> Signature:
    """What a caller must know of a spec."""
    return Signature(
        name=spec.name,
        dims=spec.dims,
        types=spec.types,
        params=tuple(
            ParamSignature(
                p.name,
                p.kind.value,
                p.default,
                None if p.formula is None else plain(p.formula),
                p.name in spec.sizes,
            )
            for p in spec.params
        ),
        inputs=tuple(map(_tensor, spec.arguments.inputs)),
        outputs=_outputs(spec),
        requires=tuple(map(plain, spec.requires)),
        work=tuple(product for block in spec.blocks for product in _contractions(block)),
        features=feature_dims(spec),
        meaning=meaning(spec),
    )


def _tensor(tensor: Tensor) -> TensorSignature:
    default = None if tensor.default is None else tensor.default.value
    extents = tuple(map(plain, tensor.extents))
    return TensorSignature(tensor.name, tensor.element, extents, default, tensor.role == "inout", tensor.broadcast)


def _outputs(spec: Spec) -> tuple[TensorSignature, ...]:
    """The outputs, and what each lies like in memory."""
    like, lying = str(spec.schedule.get(LAYOUT)), following(spec.tensors, spec.schedule)
    told = {name: replace(_tensor(spec.tensors[name]), like=like, counterparts=axes) for name, axes in lying.items()}
    return tuple(told.get(tensor.name) or _tensor(tensor) for tensor in spec.arguments.outputs)


def feature_dims(spec: Spec) -> tuple[str, ...]:
    """The dims that GPU code is made for, sorted: those that feature axes rest on, and sizes of pages.

    A page is what a key position is divided by to say where a tensor is read: `table[b, j / S]`.
    """
    indices = {axis for block in spec.blocks for write in block.writes for axis in write.axes}
    for block in spec.blocks:
        for below in _variables(block).values():
            indices |= below
    extents = [index.extent for index in indices if index.role == "axis"]
    shaping = {expr.name for expr in walk(*extents) if isinstance(expr, DimValue)}
    return tuple(sorted(shaping.union(*map(_pages, spec.blocks))))


def _pages(block: Block) -> set[str]:
    """The sizes of the pages that a block's keys are read through."""
    values = [expr for write in block.writes for expr in (write.value, *write.indices)]
    places = [place for expr in walk(*values) if isinstance(expr, Read) for place in expr.indices]
    return {
        divisor.name
        for place in places
        if isinstance(place, Apply) and place.operator in ("idiv", "imod")
        for key, divisor in [place.arguments]
        if isinstance(key, IndexValue) and key.index in block.over and isinstance(divisor, DimValue)
    }


def _contractions(block: Block) -> list[tuple[tuple[Expression, Expression], ...]]:
    """The extents that each contraction runs through, one for each variable that a term of it depends on."""
    variables = _variables(block)
    products = []
    for expr in variables:
        match expr:
            case ReduceAxis(function="sum"):
                products.append(_extents(variables[expr.body] | {expr.index}))
            case Reduce(function="softmax", value=Expr() as value) | Reduce(function="sum", score=value):
                if any(index.role == "axis" for index in variables[value]):
                    products.append(_extents(variables[expr] | variables[value] | set(block.over)))
    return products


def _variables(block: Block) -> dict[Expr, frozenset[Index]]:
    """The index variables that each expression of a block depends on."""
    found: dict[Expr, frozenset[Index]] = {}
    for expr in walk(*(write.value for write in block.writes)):
        below = frozenset().union(*(found[operand] for operand in operands(expr)))
        match expr:
            case IndexValue():
                found[expr] = frozenset({expr.index})
            case ReduceAxis():
                found[expr] = below - {expr.index}
            case Reduce():
                found[expr] = below - frozenset(block.over)
            case _:
                found[expr] = below
    return found


def _extents(indices: frozenset[Index] | set[Index]) -> tuple[tuple[Expression, Expression], ...]:
    """The bound of each index, for the first row and for the last."""
    ordered = sorted(indices, key=lambda index: (index.span.start, index.name))
    return tuple((_at(index.bound, last=False), _at(index.bound, last=True)) for index in ordered)


def _at(bound: Expr, last: bool) -> Expression:
    """A bound at the first or at the last values of the indices that it depends on."""
    match bound:
        case IndexValue(index=index):
            return ("isub", _at(index.bound, last), 1) if last else 0
        case Apply():
            return (bound.operator, *(_at(argument, last) for argument in bound.arguments))
    return plain(bound)
