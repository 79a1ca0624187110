"""NaN and infinity in every float of the inputs that, by the meaning of the spec, no output depends on.

A spec says what contributes: what a mask hides, a stale index misses or an `if` does not reach may hold anything.
The reference evaluates all of it; a walk back from the outputs finds which elements were needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attndsl.checking.evaluate import Number
from attndsl.checking.typed import Apply, Block, Expr, Kind, Read, Reduce, ReduceAxis, Spec, Write, walk
from attndsl.reference.arrays import Axes, MaskedArray, along, broadcast, union
from attndsl.reference.interpreter import call_of, run
from attndsl.reference.row import Environment, Row
from attndsl.storage import element_among, encode

Array = np.ndarray[Any, Any]


def poison_absent(
    spec: Spec, arrays: Mapping[str, Array], params: Mapping[str, Number] | None = None, row: int | None = None
) -> dict[str, Array]:
    """Copies of the inputs with NaN, inf and -inf in turn where `elements_read` is false."""
    read = elements_read(spec, arrays, params, row)
    poisoned = {name: array.copy() for name, array in arrays.items()}
    for name, kept in read.items():
        array, element = poisoned[name], spec.tensors[name].element
        element = element_among(spec.types.get(element, (element,)), array.dtype)
        poison = encode(np.resize([np.nan, np.inf, -np.inf], array.shape), element).view(array.dtype)
        array[~kept] = poison[~kept]
    return poisoned


def elements_read(
    spec: Spec, arrays: Mapping[str, Array], params: Mapping[str, Number] | None = None, row: int | None = None
) -> dict[str, Array]:
    """For each float input, which of its elements an output depends on: a bool array of its shape.

    Where the number of a row is given, as `numbered_rows` counts, only what that row writes is looked at.
    """
    call = call_of(spec, arrays, params or {})
    everything = numbered_rows(spec, call)
    written = {tensor.name for tensor in spec.written}
    known = {name: held for name, held in call.tensors.items() if name in written or held.dtype == np.float64}
    read = {name: np.zeros(held.shape, bool) for name, held in known.items()}
    for tensor in spec.results if row is None else ():
        read[tensor.name][...] = True
    with np.errstate(all="ignore"):
        while everything:  # the last row first: what it read, one before it wrote
            number, block, each = everything.pop()
            for write in _in_place(block) if number == row else ():
                each.put(write, np.asarray(True), (), read[write.tensor.name], everywhere=True)
            wanted = [np.asarray(number == row) | each.held(w, read[w.tensor.name]) for w in block.writes]
            if row is None or any(where.any() for where in wanted):
                for write in _in_place(block):
                    each.put(write, np.asarray(False), (), read[write.tensor.name])
                _Needs(each, read).mark(block, wanted)
    floats = [tensor.name for tensor in spec.inputs if spec.kind(tensor) is Kind.FLOAT]
    return {name: read[name] for name in floats}


def _in_place(block: Block) -> list[Write]:
    """What a block puts over what a call gives."""
    return [write for write in block.writes if write.keeps]


def numbered_rows(spec: Spec, call: Environment) -> list[tuple[int, Block, Row]]:
    """Has every row of a call write its part; each with its number and its block, and what it found of the tensors."""
    found: list[tuple[int, Block, Row]] = []
    run(spec, call, lambda block, row: found.append((len(found), block, row)))
    return found


class _Needs:
    """Where what is wanted depends on the values of a row's expressions, and where on whether they are present.

    Where it depends on a value it depends on its presence too.
    """

    def __init__(self, row: Row, read: Mapping[str, Array]) -> None:
        self._row = row
        self._read = read
        self._value: dict[Expr, Array] = {}
        self._presence: dict[Expr, Array] = {}

    def mark(self, block: Block, wanted: Sequence[Array]) -> None:
        """Marks the elements that a row depends on, of whose writes so much is wanted, for each value of their axes."""
        everywhere = np.asarray(True)
        roots: list[tuple[Expr, Array, Axes]] = [(index.extent, everywhere, ()) for index in (*block.each, *block.over)]
        for write, where in zip(block.writes, wanted, strict=True):
            roots += [(index, everywhere, ()) for index in write.indices]
            roots.append((write.value, where, write.axes))
        for root, where, axes in roots:
            self._row.array(root)
            self._need(root, where, where, axes)
        for expr in reversed(list(walk(*(root for root, *_ in roots)))):
            self._visit(expr)

    def _need(self, expr: Expr, value: Array, presence: Array, axes: Axes) -> None:
        """`expr` is needed where these say, each with a dimension for each of `axes`."""
        own = self._row.known[expr]
        extra = tuple(axis for axis in axes if axis not in own.axes)

        def needed(where: Array) -> Array:
            lined_up = along(where, axes, extra + own.axes)
            some = lined_up.any(axis=tuple(range(len(extra)))) if extra else lined_up
            return broadcast(np.asarray(some), own.value.shape)

        of_value = needed(value)
        of_presence = of_value if presence is value else needed(presence)
        for needs, array in ((self._value, of_value), (self._presence, of_presence)):
            needs[expr] = needs[expr] | array if expr in needs else array

    def _visit(self, expr: Expr) -> None:
        own = self._row.known[expr]
        value, presence = self._value[expr] & own.present, self._presence[expr]
        match expr:
            case Read():
                for index in expr.indices:
                    self._need(index, presence, presence, own.axes)
                self._touch(expr, value)
            case Apply():
                self._apply(expr, value, presence)
            case ReduceAxis():
                self._need(expr.body, value, presence, own.axes)
            case Reduce():
                self._reduce(expr, value, presence)

    def _touch(self, expr: Read, where: Array) -> None:
        """The elements read `where` are needed."""
        if (read := self._read.get(expr.tensor.name)) is not None:
            own, indices = self._row.known[expr], [self._row.known[index] for index in expr.indices]
            places = (broadcast(along(i.value, i.axes, own.axes), where.shape) for i in indices)
            read[tuple(index[where] for index in places)] = True

    def _apply(self, expr: Apply, value: Array, presence: Array) -> None:
        axes, (first, *others) = self._row.known[expr].axes, expr.arguments
        decider = self._row.known[first]
        truth, sure = (along(array, decider.axes, axes) for array in (decider.value, decider.present))
        match expr.operator:
            case "and" | "or":
                reached = [sure & (truth if expr.operator == "and" else ~truth)]
            case "iselect" | "fselect" | "bselect":
                reached = [sure & truth, sure & ~truth]
            case "idiv" | "imod":
                self._need(first, value, presence, axes)
                self._need(others[0], presence, presence, axes)
                return
            case _:
                for argument in expr.arguments:
                    self._need(argument, value, presence, axes)
                return
        self._need(first, presence, presence, axes)
        for argument, where in zip(others, reached, strict=True):
            self._need(argument, value & where, presence & where, axes)

    def _reduce(self, expr: Reduce, value: Array, presence: Array) -> None:
        row, own = self._row, self._row.known[expr]
        counted = MaskedArray((), np.asarray(True), np.asarray(True))
        if expr.mask is not None:
            self._need(expr.mask, value, value, own.axes)
            mask = row.known[expr.mask]
            counted = MaskedArray(mask.axes, mask.present & mask.value, mask.present)
        for part in (expr.sink, expr.nth, expr.count):
            if part is not None:
                self._need(part, value, presence, own.axes)
        keys = tuple(axis for axis in counted.axes if axis in row.over)
        rest = tuple(number for number, axis in enumerate(counted.axes) if axis not in row.over)
        looked_at = np.asarray(counted.value.any(axis=rest) & value.any())
        kept = row.kept(expr)
        axes = union([own, kept])
        summed = along(value, own.axes, axes) & along(kept.value, kept.axes, axes)
        for part in (expr.score, expr.value):
            if part is not None:
                self._need(part, np.zeros_like(looked_at), looked_at, keys)
                self._need(part, summed, summed, axes)
