"""What the rows of a spec write of its outputs and temps: all of them at every call, or perhaps not."""

from __future__ import annotations

from attndsl.checking.typed import Apply, Block, Expr, Index, IndexValue, Spec, Write


def partial_outputs(spec: Spec) -> tuple[str, ...]:
    """The outputs and temps of which a call may leave elements to no row, or that add up, in the order of writes."""
    writes = [(write, block) for block in spec.blocks for write in block.writes]
    made = [(write, block) for write, block in writes if write.tensor.role != "inout"]
    return tuple(dict.fromkeys(w.tensor.name for w, block in made if w.adds or not _is_whole(w, block)))


def _is_whole(write: Write, block: Block) -> bool:
    """Whether the rows of a block write every element: each index takes all values, by variables of its own."""
    told = [_variables(place, extent) for place, extent in zip(write.indices, write.tensor.extents, strict=True)]
    variables = [index for each in told for index in each]
    return all(told) and len(variables) == len(set(variables)) and {*variables} == {*block.each, *write.axes}


def _variables(place: Expr, extent: Expr) -> tuple[Index, ...]:
    """The variables of an index that takes every value below an extent once: `h`, or `h * D + d`; else none."""
    match place:
        case IndexValue(index=index) if _spans(index, extent):
            return (index,)
        case Apply(operator="iadd", arguments=(left, right)):
            return _of_two(left, right, extent) or _of_two(right, left, extent)
    return ()


def _of_two(outer: Expr, inner: Expr, extent: Expr) -> tuple[Index, ...]:
    """The variables of `outer + inner`, where the outer one is multiplied by the extent of the inner one; else none."""
    if not isinstance(inner, IndexValue):
        return ()
    for value, width in _orders(outer):
        for count, size in _orders(extent):
            if isinstance(value, IndexValue) and size is width and _spans(value.index, count):
                return (value.index, inner.index) if _spans(inner.index, width) else ()
    return ()


def _orders(product: Expr) -> tuple[tuple[Expr, ...], ...]:
    """The factors of a product in both orders."""
    match product:
        case Apply(operator="imul", arguments=factors):
            return factors, factors[::-1]
    return ()


def _spans(index: Index, extent: Expr) -> bool:
    """Whether a variable takes all values below an extent; equal expressions are the same object."""
    return index.extent is index.bound is extent
