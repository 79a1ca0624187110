"""What the rows of a spec write of its outputs and temps: all of them at every call, or perhaps not."""

from __future__ import annotations

from typing import NamedTuple

from attndsl.checking.typed import Apply, Block, Constant, Expr, Index, IndexValue, Kind, Read, Spec, Write


class WrittenBetween(NamedTuple):
    """Where the rows of a tensor end that are written: `table` has where each request begins, and where the last ends.

    Rows lie along an axis. All from its first end up to its last one are written, as long as ends ascend.
    """

    table: str
    along: int


def partial_outputs(spec: Spec) -> tuple[str, ...]:
    """The outputs and temps of which a call may leave elements to no row, or that add up, in the order of writes."""
    writes = [(write, block) for block in spec.blocks for write in block.writes]
    made = [(write, block) for write, block in writes if write.tensor.role != "inout"]
    return tuple(dict.fromkeys(w.tensor.name for w, block in made if w.adds or not _is_whole(w, block)))


def written_between(spec: Spec) -> dict[str, WrittenBetween]:
    """Of the outputs of which a call may leave elements to no row those whose rows follow each other, by their names.

    One write has row `i` of request `b` at `ends[b] + i`, of `ends[b + 1] - ends[b]` rows.
    """
    found = dict[str, WrittenBetween]()
    for name in partial_outputs(spec):
        writes = [(write, block) for block in spec.blocks for write in block.writes if write.tensor.name == name]
        if len(writes) == 1 and writes[0][0].tensor.role == "output":
            ends = _ends(*writes[0])
            found |= {} if ends is None else {name: ends}
    return found


def _ends(write: Write, block: Block) -> WrittenBetween | None:
    """Where the rows of a write end; None where they do not follow each other."""
    places = list(zip(write.indices, write.tensor.extents, strict=True))
    along = [n for n, (place, extent) in enumerate(places) if not _variables(place, extent)]
    moved = _moved(*places[along[0]]) if len(along) == 1 and not write.adds else None
    if moved is None:
        return None
    table, *variables = moved
    variables += [index for n, each in enumerate(places) if n not in along for index in _variables(*each)]
    whole = len(variables) == len(set(variables)) and {*variables} == {*block.each, *write.axes}
    return WrittenBetween(table, along[0]) if whole else None


def _moved(place: Expr, extent: Expr) -> tuple[str, Index, Index] | None:
    """The table whose ends move an index, and the variables of requests and of rows; None of others."""
    match place:
        case Apply(operator="iadd", arguments=(Read(tensor=table, indices=(IndexValue(index=request),)) as begin, at)):
            row = at.index if isinstance(at, IndexValue) else None
            if row is None or row.bound is not extent or table.role != "input" or table.default is not None:
                return None
            if not (_counts(row.extent, begin) and _is_next(table.extents[0], request.extent)):
                return None
            return (table.name, request, row) if request.extent is request.bound else None
    return None


def _counts(rows: Expr, begin: Expr) -> bool:
    """Whether the rows of a request are as many as lie between its end and the next one."""
    match rows, begin:
        case Apply(operator="isub", arguments=(Read(tensor=table, indices=(end,)), start)), Read(indices=(request,)):
            return start is begin and table is start.tensor and _is_next(end, request)
    return False


def _is_next(number: Expr, before: Expr) -> bool:
    """Whether an integer is the one after another."""
    match number:
        case Apply(operator="iadd", arguments=(left, Constant(kind=Kind.INT, value=1))):
            return left is before
    return False


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
