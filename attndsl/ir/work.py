"""How many floating-point operations a `tile` module does for given dims, counted without doing them.

A term of a contraction is two, a multiplication and an addition: `tile.dot` is one, and so is a `tile.sum` of what has
an axis of features. Pointwise arithmetic, maxima and the sums of weights, which may be products with ones, are not
counted. What a program makes anew for each tile counts each time. Where ranges rest on data, these are taken to be 0;
what a first look at data finds, to be all keys.
Tiles are walked by size: all full ones at once, and the one at the edge.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from attndsl.checking.numbers import LARGEST_SIZE
from attndsl.choices import ROWS, SPLITS
from attndsl.ir import spec, tile
from attndsl.ir.analyses.looks import found_before
from attndsl.ir.arrays import NamedArray
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.forms import runs
from attndsl.ir.interpret import Run
from attndsl.ir.rewrite import constant, number_in, uniform
from attndsl.ir.xdsl import ModuleOp, Operation, SSAValue, arith, index, scf


def contracted(op: Operation, axes: AxesAnalysis) -> frozenset[SSAValue]:
    """The axes of which each combination is a term of a contraction; none where an operation is no contraction."""
    match op:
        case tile.DotOp():
            used = axes(op.lhs) | axes(op.rhs)
            return used if uniform(op.rhs) != 1.0 else _with_features(used)
        case tile.SumOp():
            return _with_features(axes(op.body) | {op.over})
    return frozenset()


def _with_features(summed: frozenset[SSAValue]) -> frozenset[SSAValue]:
    """The axes of a sum where one of them is of features, none where it sums the weights of keys."""
    return summed if any(constant(axis.owner.start) == 0 for axis in summed) else frozenset()  # type: ignore[union-attr]


def work_of(
    module: ModuleOp, dims: Mapping[str, int], params: Mapping[str, Any], choices: Mapping[str, int] | None = None
) -> int:
    """The operations of a module.

    `choices` gives what a launch chooses. Without it the keys are not split, and tiles those of the schedule that
    just holds a kernel's rows, or of its last.
    """
    splits = 1 if choices is None else choices[SPLITS]
    kernels = [op for op in module.body.block.ops if isinstance(op, tile.KernelOp)]
    ran = [kernel for kernel in kernels if runs(kernel, dims, params, splits)]
    return sum(_WorkCount(dims, params, choices or _chosen(kernel, dims, params)).kernel(kernel) for kernel in ran)


def _chosen(kernel: tile.KernelOp, dims: Mapping[str, int], params: Mapping[str, Any]) -> dict[str, int]:
    kernel = kernel.scheduling
    listed = kernel.schedules.data if kernel.schedules is not None else ()
    schedules = [{name: int(number_in(size)) for name, size in each.data.items()} for each in listed]
    count = _WorkCount(dims, params, {SPLITS: 1})
    rows = [
        count.evaluate(op.extent)
        for op in kernel.walk()
        if isinstance(op, tile.ProgramOp) and isinstance(op.step.owner, spec.ChoiceOp)
    ]
    fitting = [schedule for schedule in schedules if all(schedule[ROWS] >= each for each in rows)]
    return {SPLITS: 1, **(*fitting, *schedules[-1:], {})[0]}


class _WorkCount:
    def __init__(self, dims: Mapping[str, int], params: Mapping[str, Any], choices: Mapping[str, int]) -> None:
        self.run = Run({}, dims, params, choices)
        self.axes = AxesAnalysis()
        self.at: dict[SSAValue, int] = {}
        self.asked: set[SSAValue] = set()

    def kernel(self, kernel: tile.KernelOp) -> int:
        """What all programs of a kernel do."""
        return self.block(list(kernel.body.block.ops))

    def block(self, ops: Sequence[Operation]) -> int:
        """What a block does; what follows a `tile.program` is done for each of its values."""
        total = 0
        for position, op in enumerate(ops):
            match op:
                case tile.ProgramOp():
                    steps = range(0, self.evaluate(op.extent), self.evaluate(op.step))
                    return total + self.steps(op.result, steps, self.evaluate(op.extent), ops[position + 1 :])
                case tile.LoopOp():
                    steps = range(self.evaluate(op.lb), self.evaluate(op.ub), self.evaluate(op.step))
                    times = 1
                    if op.outer is not None:  # its first value stands for all
                        times, self.at[op.outer.result] = max(0, self.evaluate(op.outer.extent)), 0
                    body = list(op.body.block.ops)
                    total += times * self.steps(op.body.block.args[0], steps, self.evaluate(op.ub), body)
                case tile.FusedOp():
                    total += self.block(list(op.body.block.ops))
                case scf.IfOp():  # of which one branch is for numbers that are not finite, and folds all again
                    total += min(self.block(list(region.block.ops)) for region in op.regions if region.blocks)
                case _ if axes := contracted(op, self.axes):
                    total += 2 * math.prod(map(self.length, axes))
        return total

    def steps(self, variable: SSAValue, steps: range, stop: int, ops: Sequence[Operation]) -> int:
        """What operations do for all values of a variable: the first stands for all that a full step follows.

        Unless something else than how long a tile is rests on the value.
        """
        full = min(len(steps), max(0, stop - steps.start) // steps.step)
        alike = [(steps[0], full)] if full else []
        alike += [(start, 1) for start in steps[full:]]
        self.asked.discard(variable)
        total = sum(count * self.within(variable, start, ops) for start, count in alike)
        if variable not in self.asked:
            return total
        return sum(self.within(variable, start, ops) for start in steps)

    def within(self, variable: SSAValue, start: int, ops: Sequence[Operation]) -> int:
        """What operations do for one value of a variable."""
        self.at[variable] = start
        total = self.block(ops)
        del self.at[variable]
        return total

    def length(self, axis: SSAValue) -> int:
        """How many values an axis has."""
        assert isinstance(axis.owner, tile.RangeOp)
        begin, stop, size = axis.owner.start, axis.owner.stop, self.evaluate(axis.owner.size)
        if isinstance(stop.owner, arith.AddiOp) and set(stop.owner.operands) == {begin, axis.owner.size}:
            return size  # a full tile, wherever it is
        start = self.at[begin] if begin in self.at else self.evaluate(begin)
        return max(0, min(start + size, self.evaluate(stop)) - start)

    def evaluate(self, value: SSAValue) -> int:
        """An integer or a condition; what it reads of data is 0."""
        self.run.values.clear()
        for needed in self.needed(value):
            if needed in self.at:
                self.asked.add(needed)
                self.run.values[needed] = NamedArray(np.asarray(self.at[needed]))
            elif isinstance(needed.owner, tile.LoopOp):
                self.run.values[needed] = self.run.values[_farthest(needed, needed.owner)]
            elif isinstance(needed.owner, tile.LoadOp):
                self.run.values[needed] = NamedArray(np.asarray(_read(needed, needed.owner)))
            else:
                assert isinstance(needed.owner, Operation)
                self.run.run(needed.owner)
        return self.run.scalar(value)

    def needed(self, value: SSAValue) -> list[SSAValue]:
        """What is to be computed for a value, in order."""
        found: dict[SSAValue, None] = {}
        stack = [(value, False)]
        while stack:
            top, ready = stack.pop()
            if ready:
                found[top] = None
            elif top not in found:
                stack.append((top, True))
                if isinstance(top.owner, tile.LoopOp):
                    stack.append((_farthest(top, top.owner), False))
                elif top not in self.at and not isinstance(top.owner, tile.LoadOp):
                    assert isinstance(top.owner, Operation)
                    stack += [(operand, False) for operand in top.owner.operands]
        return list(found)


def _read(value: SSAValue, load: tile.LoadOp) -> int | bool:
    """What is taken for data: 0, and of what a look that is a kernel of its own has found, no end of keys at all."""
    found = found_before(load)
    if found is not None and isinstance(found.owner, tile.LoopOp) and found.owner.merge(found) is arith.MaxSIOp:
        return LARGEST_SIZE
    return 0 if value.type == index else False


def _farthest(end: SSAValue, look: tile.LoopOp) -> SSAValue:
    """What an end of keys that a loop finds in data may be at most: the first key or the last that it looks at."""
    return look.lb if look.merge(end) is arith.MinSIOp else look.ub
