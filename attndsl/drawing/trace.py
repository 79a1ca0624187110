"""What programs visit: a `tile` module run by the IR's interpreter, with each tile of keys written down.

A row is told by what is written for it: the first element along features. Where a kernel leaves states of parts in a
workspace, the row is that of the kernel that reads them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import repeat
from typing import Any

import numpy as np

from attndsl.choices import SPLITS
from attndsl.driver.describe import tested
from attndsl.ir import spec, tile
from attndsl.ir.arrays import NamedArray
from attndsl.ir.forms import runs
from attndsl.ir.interpret import Number, Run
from attndsl.ir.statements import of_kind
from attndsl.ir.xdsl import AnyFloat, ModuleOp, Operation, SSAValue

Array = np.ndarray[Any, Any]

Element = tuple[str, tuple[int, ...]]
"""A tensor and a place in it."""

RowOfTile = tuple[int, tuple[int, ...]]
"""The number of a program, and where along its row axes a row stands."""


@dataclass(frozen=True)
class TracedTurn:
    """A turn of a loop over keys: the variable that the keys are of, and which of them it has.

    Of the keys that are not `tested` every row sees each.
    """

    variable: str
    keys: Array
    tested: set[int]


@dataclass
class TracedProgram:
    """A program as it ran: the kernel, how many of that kernel started before it, and its turns in order."""

    kernel: str
    start: int
    turns: list[TracedTurn] = field(default_factory=list)


@dataclass(frozen=True)
class Trace:
    """All programs of a call, and by row what is written for it, in tensors that the spec or its checker declares.

    `folds` has the variables over whose keys each kernel has loops, whether they take a turn or not.
    """

    programs: tuple[TracedProgram, ...]
    folds: Mapping[str, frozenset[str]]
    writes: Mapping[RowOfTile, frozenset[Element]]


def trace(
    module: ModuleOp,
    arrays: Mapping[str, Array],
    dims: Mapping[str, int],
    params: Mapping[str, Number],
    choices: Mapping[str, int],
    declared: frozenset[str],
) -> Trace:
    """What the programs of a call visit; `declared` names the tensors by whose elements rows are told."""
    run = _Tracing(dict(arrays), dims, params, choices)
    for op in module.body.block.ops:
        if isinstance(op, spec.TensorOp):
            run.declare(op)
            if op.role.data == "workspace" and op.sym_name.data not in declared:
                run.workspaces.add(op.sym_name.data)
    with np.errstate(all="ignore"):
        for op in module.body.block.ops:
            if isinstance(op, tile.KernelOp) and runs(op, dims, params, choices[SPLITS]):
                run.kernel(op)
    return Trace(tuple(run.seen), run.folds, {row: run.written_for(row, declared) for row in list(run.wrote)})


class _Tracing(Run):
    """A run that writes down what programs visit, read of workspaces, and write."""

    def __init__(self, *call: Any) -> None:
        super().__init__(*call)
        self.seen: list[TracedProgram] = []
        self.wrote: dict[RowOfTile, set[Element]] = defaultdict(set)
        self.loaded: dict[Element, set[RowOfTile]] = defaultdict(set)
        self.workspaces: set[str] = set()
        self.tested: set[Operation] = set()
        self.masked: set[Operation] = set()
        self.folds: dict[str, frozenset[str]] = {}
        self._kernel = ""
        self._started = 0
        self._rows: tuple[SSAValue, ...] = ()

    def kernel(self, op: tile.KernelOp) -> None:
        self._kernel, self._started = op.entry.data, 0
        loops = [each for each in op.body.block.ops if isinstance(each, tile.LoopOp)]
        self.tested = {loop for loop in loops if tested(loop)}
        self.masked = {loop for loop in loops if of_kind(loop, tile.MaskOp)}
        axes = [loop.axis for loop in loops if loop.axis is not None and folds_keys(loop, loop.axis)]
        self.folds[self._kernel] = frozenset(axis.variable.data for axis in axes)
        ranges = [each for each in op.body.block.ops if isinstance(each, tile.RangeOp)]
        self._rows = tuple(
            each.result
            for each in ranges
            if isinstance(program := each.start.owner, tile.ProgramOp) and program.columns is None
        )
        self.programs(list(op.body.block.ops))

    def programs(self, ops: list[Operation]) -> None:
        """As a launch starts them: a program variable is a digit of a program's number, the last one varies fastest."""
        for position, op in enumerate(ops):
            if isinstance(op, tile.ProgramOp):
                steps = range(0, self.scalar(op.extent), self.scalar(op.step))
                for start in reversed(steps) if op.descending is not None else steps:
                    self.values[op.result] = NamedArray(np.int64(start))  # type: ignore[arg-type]
                    self.programs(ops[position + 1 :])
                return
            if position == 0 and not any(isinstance(each, tile.ProgramOp) for each in ops):
                self.seen.append(TracedProgram(self._kernel, self._started))
                self._started += 1
            self.run(op)

    def run(self, op: Operation) -> None:
        super().run(op)
        if isinstance(op, tile.RangeOp) and isinstance(loop := op.parent_op(), tile.LoopOp) and folds_keys(loop, op):
            keys = self.values[op.result].array
            if op.start is loop.body.block.args[0]:  # a tile of a fixed size may hang over the end of its range
                keys = keys[keys < self.scalar(loop.ub)]
            full = loop not in self.tested and (loop.is_full or loop in self.masked or leaves_nothing(loop))
            self.seen[-1].turns.append(TracedTurn(op.variable.data, keys, set() if full else {*keys.tolist()}))
        elif isinstance(op, tile.MaskOp) and op.whole.owner.parent_op() in self.masked:
            self.seen[-1].turns[-1].tested.update(self.values[op.over].array.tolist())

    def write(self, op: Any) -> None:
        super().write(op)
        for row, element in self.elements_of(op):
            self.wrote[row].add(element)

    def read(self, op: Any) -> NamedArray:
        if op.tensor.string_value() in self.workspaces:
            for row, element in self.elements_of(op):
                self.loaded[element].add(row)
        return super().read(op)

    def elements_of(self, op: tile.LoadOp | tile.StoreOp) -> Iterator[tuple[RowOfTile, Element]]:
        """What an access touches for each row, of all keys, and the first along features."""
        guards = [op.where] if op.where is not None else []
        operands = [self.values[v] for v in (*op.indices, *guards)]
        axes = (*self._rows, *{axis: None for operand in operands for axis in operand.axes if axis not in self._rows})
        whole = tuple(self.values[axis].array.size for axis in axes)
        some = tuple(slice(None if axis in self._rows or tile.is_key(axis) else 1) for axis in axes)
        arrays = [np.broadcast_to(operand.along(axes), whole)[some] for operand in operands]
        shape = np.empty(whole, bool)[some].shape
        kept = np.flatnonzero(arrays.pop()) if guards else np.arange(math.prod(shape))
        rows = np.unravel_index(kept, shape)[: len(self._rows)] if shape else ()
        at = zip(*(each.tolist() for each in rows), strict=True) if self._rows else repeat(())
        places = (
            zip(*(array.ravel()[kept].tolist() for array in arrays), strict=True) if arrays else repeat((), len(kept))
        )
        for row, place in zip(at, places, strict=False):
            yield (len(self.seen) - 1, row), (op.tensor.string_value(), place)

    def written_for(self, row: RowOfTile, declared: frozenset[str]) -> frozenset[Element]:
        """What is written for a row in the end: of what it leaves in workspaces, what their only reader writes."""
        found: set[Element] = set()
        for element in self.wrote.get(row, ()):
            readers = self.loaded.get(element, set())
            if element[0] in declared:
                found.add(element)
            elif len(readers) == 1:
                found |= self.written_for(next(iter(readers)), declared)
        return frozenset(found)


def leaves_nothing(loop: tile.LoopOp) -> bool:
    """Whether the rows of a loop see all of its keys, which are cut at their end: a CPU has no other tiles."""
    own = (loop.row_start, loop.row_stop) == (loop.lb, loop.ub)
    return own and not loop.is_mixed and loop.stages is None


def folds_keys(loop: tile.LoopOp, axis: tile.RangeOp) -> bool:
    """Whether `axis` is the tile of a loop that folds keys into the states of rows.

    None is a loop that looks through data alone, nor one that does all again where numbers were not finite.
    """
    states = any(isinstance(value.type, AnyFloat) for value in loop.iter_args)
    return loop.axis is axis and states and isinstance(loop.parent_op(), tile.KernelOp)
