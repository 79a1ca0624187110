"""The IR, run on arrays, at either level: slow, in the IR's own terms, to pin a miscompilation on a pass.

A value is an array with one named axis for each index variable that it depends on (`NamedArray`). At the `attn` level
every variable is an axis and everything is materialised; at the `tile` level programs and loops run one value at a
time.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, reduce
from typing import Any

import numpy as np

from attndsl.checking.symbolic import evaluate
from attndsl.choices import FUSED, KEYS, ROWS, SPLITS, WIDE_ROWS
from attndsl.ir import attn, roles, spec, tile
from attndsl.ir.analyses.boxes import box_of
from attndsl.ir.analyses.stored import held_by
from attndsl.ir.arrays import NamedArray, constant_array, dtype_of, fold_along, rounded, sum_along, top_along
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.bounds import largest
from attndsl.ir.coroutines import run_roles
from attndsl.ir.forms import runs
from attndsl.ir.meaning import APPROXIMATED, COMPARISONS, POINTWISE, Array, approximated, predicate, random_numbers
from attndsl.ir.meetings import Meetings
from attndsl.ir.over_keys import OverKeys
from attndsl.ir.packs import packed
from attndsl.ir.ranges import IDENTITY
from attndsl.ir.residence import Homes
from attndsl.ir.rings import BoardOp, ExchangeOp, OrderOp, OutboxOp, RelayOp, RingOp
from attndsl.ir.xdsl import (
    Block,
    ModuleOp,
    Operation,
    SSAValue,
    arith,
    scf,
)
from attndsl.storage import ELEMENTS, WIDE, as_stored, decode, encode

Number = int | float | bool
Function = Callable[..., Any]
Step = Callable[["Run", Any], None]

PASSING = (tile.LoopOp, tile.FusedOp, tile.YieldOp, scf.IfOp, scf.YieldOp, *tile.STATEMENTS)
"""Operations that read no tile: they pass it on, or only say something of it."""

ROWS_WRITTEN = frozenset({attn.EachOp, attn.GridOp, attn.RowOp, attn.ColumnOp})
"""Operations whose variables tell apart what an `attn` kernel writes."""

SMALL_CHOICES = {ROWS: 4, KEYS: 3, SPLITS: 2}
"""What is chosen where a caller does not: small, so that small arrays are several tiles."""


def interpret(
    module: ModuleOp,
    arrays: Mapping[str, Array],
    dims: Mapping[str, int],
    params: Mapping[str, Number],
    choices: Mapping[str, int] = SMALL_CHOICES,
) -> dict[str, Array]:
    """The outputs of a module of either level, in their storage types (bit patterns where NumPy has no such type).

    `arrays` holds the inputs by name, `dims` every dim, `params` every parameter, `choices` what `spec.choice` gives.
    Of kernels that have a form or a condition, those run whose form `choices` asks for and whose condition is met.
    """
    run = Run(dict(arrays), dims, params, choices)
    for op in module.body.block.ops:
        if isinstance(op, spec.TensorOp):
            run.declare(op)
    with np.errstate(all="ignore"):
        for op in module.body.block.ops:
            if not isinstance(op, attn.KernelOp | tile.KernelOp):
                continue
            fused, wide = (bool(choices.get(choice)) for choice in (FUSED, WIDE_ROWS))
            if not runs(op, dims, params, choices[SPLITS], True, fused, wide):
                continue
            if isinstance(op, attn.KernelOp) or any(isinstance(each, roles.RoleOp) for each in op.body.block.ops):
                run.block(op.body.block)  # roles take the programs of their kernel themselves
            else:
                run.programs(list(op.body.block.ops))
    return {name: encode(array, run.elements[name]) for name, array in run.outputs.items()}


@cache
def _passes_on(kind: type[Operation]) -> bool:
    return issubclass(kind, PASSING)


class Run(OverKeys):
    """One run of a module; `values` holds what its operations have given."""

    def __init__(
        self,
        arrays: dict[str, Array],
        dims: Mapping[str, int],
        params: Mapping[str, Number],
        choices: Mapping[str, int],
    ) -> None:
        super().__init__()
        self.arrays = arrays
        self.dims = dims
        self.params = params
        self.choices = choices
        self.outputs: dict[str, Array] = {}
        self.elements: dict[str, str] = {}
        self.limits: dict[tile.NarrowOp, tuple[int, tuple[SSAValue, ...]]] = {}
        self.homes: Homes | None = None  # `tile`: where a kernel has some
        self.meetings = Meetings()

    def declare(self, op: spec.TensorOp) -> None:
        name = op.sym_name.data
        self.elements[name] = op.element.data
        if op.role.data in ("input", "inout"):
            self.arrays[name] = decode(self.arrays[name], op.element.data)
            if op.role.data == "inout":
                self.outputs[name] = self.arrays[name]
            return
        shape = [evaluate(extent, self.dims, self.params, self.choices) for extent in op.shape]
        holds = op.role.data == "output" or op.partial is not None
        dtype = WIDE[ELEMENTS[op.element.data].kind]
        garbage = np.nan if dtype.kind == "f" else np.iinfo(np.int64).min if dtype.kind == "i" else True
        self.arrays[name] = np.zeros(shape, dtype) if holds else np.full(shape, garbage, dtype)
        if op.role.data == "output":
            self.outputs[name] = self.arrays[name]

    # --- running

    def programs(self, ops: list[Operation]) -> None:
        """A `tile` kernel: all that follows a `tile.program` runs once for each of its values."""
        for position, op in enumerate(ops):
            if type(op) is tile.ProgramOp:
                for start in range(0, self.scalar(op.extent), self.scalar(op.step)):
                    self.values[op.result] = NamedArray(np.int64(start))  # type: ignore[arg-type]
                    self.programs(ops[position + 1 :])
                return
            self.run(op)

    def block(self, block: Block) -> None:
        for op in block.ops:
            self.run(op)

    def run(self, op: Operation) -> None:
        if self.homes is not None and not _passes_on(type(op)):
            for operand in op.operands:
                if (stay := self.values[operand].stay) is not None:
                    self.homes.read(op, stay)
        step_of(type(op))(self, op)

    def compute(self, op: Operation, function: Function) -> None:
        """A function of numbers, of each element."""
        arrays, axes = self.align(*op.operands)
        self.values[op.results[0]] = NamedArray(function(*arrays), axes)

    def range(self, op: tile.RangeOp) -> None:
        start = self.scalar(op.start)
        stop = min(start + self.scalar(op.size), self.scalar(op.stop))
        self.values[op.result] = NamedArray(np.arange(start, stop, dtype=np.int64), (op.result,))

    def fused(self, op: tile.FusedOp) -> None:
        self.block(op.body.block)
        self.values.update(zip(op.res, [self.values[v] for v in op.end.values], strict=True))

    def unsigned(self, op: tile.UnsignedOp) -> None:
        found = (self.values[v].array for v in op.values)
        assert all(np.all(array >= 0) for array in found), "tile.unsigned names no negative number"

    def home(self, op: tile.HomeOp) -> None:
        self.homes = self.homes or Homes()

    def roles(self, op: roles.ProducerOp) -> None:
        kernel = op.parent_op()
        assert isinstance(kernel, tile.KernelOp)
        run_roles(self, kernel)

    def scalar(self, value: SSAValue) -> int:
        return int(self.values[value].array)

    def variable(self, op: attn.IndexOp) -> None:
        extent = self.values[op.extent]
        size = max(0, int(extent.array.max(initial=0)))
        self.values[op.result] = NamedArray(np.arange(size, dtype=np.int64), (op.result,))
        start = [op.start] if isinstance(op, attn.OverOp) and op.start is not None else []
        (values, limit, *low), axes = self.align(op.result, op.extent, *start)
        self.valid[op.result] = NamedArray((values < limit) & (values >= low[0] if low else True), axes)
        if isinstance(op, attn.OverOp) and op.split is not None and op.splits is not None:
            (values, split, splits), axes = self.align(op.result, op.split, op.splits)
            self.split[op.result] = NamedArray(values * splits // max(1, size) == split, axes)

    def loop(self, op: tile.LoopOp) -> None:
        carried = [self.values[v] for v in op.iter_args]
        block = op.body.block
        own_ends = self.values[op.row_start].axes or self.values[op.row_stop].axes
        starts = range(self.scalar(op.lb), self.scalar(op.ub), self.scalar(op.step))
        outer = op.outer
        turns = range(1 if outer is None else self.scalar(outer.extent))
        for turn, start in itertools.product(turns, starts):
            if outer is not None:
                self.values[outer.result] = NamedArray(np.int64(turn))  # type: ignore[arg-type]
            self.values[block.args[0]] = NamedArray(np.int64(start))  # type: ignore[arg-type]
            self.values.update(zip(block.args[1:], carried, strict=True))
            self.block(block)
            ended = [self.values[v] for v in op.end.values]
            if own_ends and not op.is_full:
                self.stay(op, carried, ended)
            carried = ended
        self.values.update(zip(op.results, carried, strict=True))

    def stay(self, op: tile.LoopOp, before: list[NamedArray], after: list[NamedArray]) -> None:
        """Holds that a turn leaves alone what is carried for rows none of whose keys it has, unless it is NaN."""
        key = op.axis.result if op.axis is not None else op.body.block.args[0]
        (place, start, stop), axes = self.align(key, op.row_start, op.row_stop)
        within = np.asarray((place >= start) & (place < stop))
        has = NamedArray(
            np.any(within, axis=axes.index(key)) if key in axes else within, tuple(a for a in axes if a is not key)
        )
        for old, new in zip(before, after, strict=True):
            if set(has.axes) <= set(old.axes):
                was, now, folded = (each.along(old.axes) for each in (old, new, has))
                assert np.all(folded | (was == now) | np.isnan(now)), "a row has no keys beyond its ends"

    def choice(self, op: scf.IfOp) -> None:
        block = (op.true_region if self.scalar(op.cond) else op.false_region).block
        self.block(block)
        last = block.last_op
        assert last is not None
        self.values.update(zip(op.results, [self.values[v] for v in last.operands], strict=True))

    def hold(self, op: tile.HoldsOp) -> None:
        (condition, key, start, stop), _ = self.align(op.condition, op.over, op.start, op.stop)
        assert np.all(condition | (key < start) | (key >= stop)), "what tile.holds says is true"

    def within(self, op: tile.WithinOp) -> None:
        found = self.values[op.value].array
        inside = (found >= op.low.value.data) & (found <= op.high.value.data)
        assert np.all(inside | np.isnan(found)), "what tile.within says is true"

    def cover(self, op: tile.CoversOp) -> None:
        block = op.parent_block()
        assert block is not None
        walked = [loop for loop in block.ops if isinstance(loop, tile.LoopOp) and loop.axis is not None]
        ends = [self.scalar(loop.ub) for loop in walked if self.scalar(loop.lb) < self.scalar(loop.ub)]
        assert op.keys is None or all(end <= self.scalar(op.keys) for end in ends), "tile.covers names all keys"

    def narrow(self, op: tile.NarrowOp) -> None:
        if op not in self.limits:
            self.limits[op] = largest(op.bounds, self.dims, self.params), tuple(op.integers)
        limit, integers = self.limits[op]
        for value in integers:
            found = self.values[value].array
            absent = (found == IDENTITY) | (found == -IDENTITY - 1)
            assert np.all(absent | (found <= limit) & (found >= -limit)), "what tile.narrow names fits the bounds"

    def keep(self, op: tile.KeptOp) -> None:
        for value in op.values:
            load = held_by(value)
            assert load is not None
            element, found = self.elements[load.tensor.string_value()], self.values[value].array
            assert np.array_equal(decode(encode(found, element), element), found, equal_nan=found.dtype.kind == "f")

    def put(self, op: tile.IntoOp) -> None:
        assert self.homes is not None
        stays = [self.values[operand].stay for operand in op.maker.operands]
        stay = self.homes.put(op, self.scalar(op.stage) if op.stage is not None else 0, stays)
        self.values[op.value] = replace(self.values[op.value], stay=stay)

    # --- values

    def align(self, *values: SSAValue) -> tuple[list[Array], tuple[SSAValue, ...]]:
        """The arrays of values, ready to broadcast, and the axes of what comes out."""
        operands = [self.values[v] for v in values]
        axes: tuple[SSAValue, ...] = ()
        for operand in operands:
            if operand.axes and operand.axes != axes:
                if axes:
                    break
                axes = operand.axes
        else:  # all that have axes have the same, as is mostly so
            return [operand.array for operand in operands], axes
        axes = tuple(dict.fromkeys(itertools.chain.from_iterable(operand.axes for operand in operands)))
        return [operand.along(axes) for operand in operands], axes

    def chosen(self, op: spec.ChoiceOp) -> NamedArray:
        chosen = self.choices[op.choice.data]
        return _number(chosen if op.divides is None else math.gcd(chosen, op.divides.value.data))

    def to_float(self, op: spec.ToFloatOp) -> NamedArray:
        operand = self.values[op.operand]
        return NamedArray(operand.array.astype(dtype_of(op.result.type)), operand.axes)

    def random(self, op: spec.RandomOp) -> NamedArray:
        arrays, axes = self.align(op.seed, op.offset)
        return NamedArray(random_numbers(*arrays).astype(dtype_of(op.result.type)), axes)

    def compare(self, op: arith.CmpiOp | arith.CmpfOp) -> NamedArray:
        arrays, axes = self.align(*op.operands)
        return NamedArray(COMPARISONS[predicate(op)](*arrays), axes)

    def load(self, op: tile.LoadOp) -> NamedArray:
        return self.read(op) if op.box is None else self.copy(op)

    def broadcast(self, op: tile.BroadcastOp) -> NamedArray:
        arrays, axes = self.align(op.value, *op.axes)
        return NamedArray(np.broadcast_arrays(*arrays)[0].copy(), axes)

    def rename(self, op: tile.RenameAxisOp) -> NamedArray:
        value = self.values[op.value]
        return NamedArray(value.array, tuple(op.new if axis is op.old else axis for axis in value.axes))

    def repeat(self, op: tile.RepeatOp) -> NamedArray:
        value, times = self.values[op.value], op.times.value.data
        repeated = np.repeat(value.array, times, axis=value.axes.index(op.old))
        assert len(self.values[op.new].array) == times * len(self.values[op.old].array), "has as many places"
        return NamedArray(repeated, tuple(op.new if axis is op.old else axis for axis in value.axes))

    def flatten(self, op: tile.FlattenOp) -> NamedArray:
        value, sizes = self.values[op.value], [self.values[axis].array.size for axis in (op.blocks, op.within)]
        places = self.values[op.new].array - self.scalar(op.origin)
        assert np.all((places >= 0) & (places < math.prod(sizes))), "what tile.flatten lays is all that is asked for"
        rest = tuple(axis for axis in value.axes if axis not in (op.blocks, op.within))
        found = value.along((op.blocks, op.within, *rest))
        laid = np.broadcast_to(found, (*sizes, *found.shape[2:])).reshape(math.prod(sizes), *found.shape[2:])
        return NamedArray(laid[places], (op.new, *rest))

    def place(self, op: tile.PlaceOp) -> NamedArray:
        starts = [axis.owner.start for axis in op.axes if isinstance(axis.owner, tile.RangeOp)]
        base = sum(count * self.scalar(value) for value, count in op.counted.items())
        arrays, axes = self.align(*op.axes, *op.near)
        return NamedArray(np.asarray(sum(arrays, start=np.int64(base - sum(map(self.scalar, starts))))), axes)

    def read(self, op: attn.ReadOp | tile.LoadOp) -> NamedArray:
        tensor = self.arrays[op.tensor.string_value()]
        guards = [op.where] if op.where is not None else []
        arrays, axes = self.align(*op.indices, *guards)
        where = arrays.pop() if guards else np.True_
        for axis in axes:  # beyond its extent, which may depend on others, a variable promises nothing of an index
            if axis in self.valid:
                where = where & self.reached(self.valid[axis], axes).along(axes)
        shape, dtype = np.broadcast_shapes(where.shape, *(a.shape for a in arrays)), dtype_of(op.result.type)
        if where.size and where.all():  # of nothing all holds, and an index along other axes may be any
            return NamedArray(np.broadcast_to(tensor[tuple(arrays)].astype(dtype, copy=False), shape), axes)
        result = np.zeros(shape, dtype)
        chosen = np.broadcast_to(where, shape)
        result[chosen] = tensor[tuple(np.broadcast_to(a, shape)[chosen] for a in arrays)]
        return NamedArray(result, axes)

    def copy(self, op: tile.LoadOp) -> NamedArray:
        """A box, as a GPU copies it: 0 outside of the tensor, and all that lies in it."""
        tensor, box = self.arrays[op.tensor.string_value()], box_of(op, AxesAnalysis())
        assert box is not None, "what tile.load calls a box is one"
        within = []
        for side, size in zip(box, tensor.shape, strict=True):
            at = sum(count * self.scalar(value) for value, count in side.start.items())
            length = 1 if side.axis is None else self.values[side.axis].array.size
            within.append((np.arange(at, at + length) >= 0) & (np.arange(at, at + length) < size))
        read = self.read(op)
        along = tuple(side.axis for side in box if side.axis is not None)
        inside = np.asarray(reduce(np.logical_and.outer, within)).reshape([self.values[a].array.size for a in along])
        where = NamedArray(np.True_) if op.where is None else self.values[op.where]  # type: ignore[arg-type]
        assert np.array_equal(np.broadcast_to(where.along(along), inside.shape), inside), "a box has all of its tensor"
        return read

    def reached(self, valid: NamedArray, axes: tuple[SSAValue, ...]) -> NamedArray:
        """Where a variable has values for some value of each variable that is none of `axes`."""
        others = tuple(n for n, axis in enumerate(valid.axes) if axis not in axes)
        return NamedArray(np.asarray(valid.array.any(axis=others)), tuple(axis for axis in valid.axes if axis in axes))

    def write(self, op: attn.WriteOp | attn.ScatterOp | tile.StoreOp) -> None:
        name = op.tensor.string_value()
        block = op.parent_block()
        assert block is not None
        of_keys = frozenset({attn.OuterOp, attn.OverOp}) if isinstance(op, attn.ScatterOp) else frozenset()
        rows = [o.results[0] for o in block.ops if type(o) in ROWS_WRITTEN | of_keys]
        valid = [self.valid[row] for row in rows]
        guards = [op.where] if op.where is not None else []
        operands = [self.values[v] for v in (*op.indices, op.value, *guards)]
        axes = tuple(dict.fromkeys(axis for operand in (*operands, *valid) for axis in operand.axes))
        shape = tuple(self.values[axis].array.size for axis in axes)
        *indices, value = (np.broadcast_to(operand.along(axes), shape) for operand in operands[: len(op.indices) + 1])
        where = np.ones(shape, bool)
        for guard in (*operands[len(op.indices) + 1 :], *valid):
            where &= guard.along(axes)
        places, terms = tuple(i[where] for i in indices), value[where]
        flat, at = np.atleast_1d(self.arrays[name]), places or (np.zeros(terms.size, int),)
        if not isinstance(op, attn.ScatterOp) and op.adds is None:
            element = self.elements[name]
            flat[at] = decode(as_stored(terms, element), element)
        else:
            order = np.lexsort((terms, *at))  # what is added has no order: an exact pass changes no bit of it
            np.add.at(flat, tuple(i[order] for i in at), terms[order])
            along = [np.broadcast_to(self.values[v].along(axes), shape)[where] for v in op.along]
            self.meetings.meet(op, along, places)

    def reduce(self, op: attn.ReduceAxisOp | tile.ReduceOp) -> NamedArray:
        arrays, axes = self.align(op.body, op.over)
        full = np.broadcast_arrays(*arrays)[0]
        position = axes.index(op.over)
        return NamedArray(fold_along(op, full, position), axes[:position] + axes[position + 1 :])

    def top(self, op: attn.TopOp | tile.TopOp) -> NamedArray:
        (score, where, _), axes = self.align(op.score, op.present, op.over)
        position, count = axes.index(op.over), self.values[op.at].array.size
        score, where = np.broadcast_arrays(score, where)
        found = top_along(score, where, position, count)
        return NamedArray(found, tuple(op.at if axis is op.over else axis for axis in axes))

    def dot(self, op: tile.DotOp) -> NamedArray:
        guards = [op.where] if op.where is not None else []
        arrays, axes = self.align(op.lhs, op.rhs, *guards)
        left, right = arrays[:2]
        if op.rounded is not None and op.rounded.data != "tf32x3":
            left, right = (rounded(array, op.rounded.data) for array in (left, right))
        product = left * right
        if guards:
            product = np.where(arrays[2], product, product.dtype.type(0))
        position = axes.index(op.over)
        return NamedArray(sum_along(product, position), axes[:position] + axes[position + 1 :])

    def mask(self, op: tile.MaskOp) -> NamedArray:
        keys, part = (self.values[axis].array for axis in (op.whole, op.over))
        assert np.isin(part, keys).all(), "what tile.mask masks is a part of its tile"
        (value, fill), axes = self.align(op.value, op.fill)
        where, place = self.values[op.where], axes.index(op.whole)
        there = tuple(op.whole if axis is op.over else axis for axis in where.axes)
        hidden = np.zeros(value.shape, bool)
        edge = NamedArray(where.array, there).along(axes)
        np.moveaxis(hidden, place, 0)[np.isin(keys, part)] = np.moveaxis(edge, place, 0)
        return NamedArray(np.where(hidden, fill, value), axes)


def _number(value: int) -> NamedArray:
    return NamedArray(np.int64(value))  # type: ignore[arg-type]


STEPS: Mapping[type[Operation], Step] = {
    attn.IndexOp: Run.variable,
    attn.WriteOp: Run.write,
    attn.ScatterOp: Run.write,
    attn.StreamOp: Run.stream,
    attn.ArgMaxOp: Run.argmax,
    scf.IfOp: Run.choice,
    tile.RangeOp: Run.range,
    tile.StoreOp: Run.write,
    tile.LoopOp: Run.loop,
    tile.FusedOp: Run.fused,
    tile.HoldsOp: Run.hold,
    tile.WithinOp: Run.within,
    tile.CoversOp: Run.cover,
    tile.NarrowOp: Run.narrow,
    tile.KeptOp: Run.keep,
    tile.UnsignedOp: Run.unsigned,
    tile.HomeOp: Run.home,
    tile.IntoOp: Run.put,
    roles.ProducerOp: Run.roles,
    **dict.fromkeys(
        (
            spec.AssumeOp,
            scf.YieldOp,
            tile.YieldOp,
            tile.ProgramOp,
            tile.OuterLoopOp,
            tile.PresentOp,
            tile.DeferredOp,
            tile.LaunchedOp,
            tile.ThreadsOp,
            tile.WrapsOp,
            RingOp,
            BoardOp,
            OutboxOp,
            RelayOp,
            ExchangeOp,
            OrderOp,
            roles.LoaderOp,
            roles.ConsumersOp,
        ),
        lambda run, op: None,
    ),
}
"""What each operation does that gives no one value; those in the last lines are for others to read."""

VALUES: Mapping[type[Operation], Callable[[Run, Any], NamedArray]] = {
    arith.ConstantOp: lambda run, op: NamedArray(constant_array(op.value)),
    spec.DimOp: lambda run, op: _number(run.dims[op.dim.data]),
    spec.ParamOp: lambda run, op: NamedArray(np.asarray(run.params[op.param.data], dtype_of(op.result.type))),
    spec.ChoiceOp: Run.chosen,
    spec.ToFloatOp: Run.to_float,
    spec.RandomOp: Run.random,
    arith.CmpiOp: Run.compare,
    arith.CmpfOp: Run.compare,
    attn.ReadOp: Run.read,
    attn.ReduceAxisOp: Run.reduce,
    attn.TopOp: Run.top,
    attn.WeighOp: Run.softmax,
    attn.ReduceOp: Run.over_keys,
    tile.LoadOp: Run.load,
    tile.ReduceOp: Run.reduce,
    tile.TopOp: Run.top,
    tile.DotOp: Run.dot,
    tile.MaskOp: Run.mask,
    tile.FiniteOp: lambda run, op: NamedArray(np.asarray(np.isfinite(run.values[op.value].array).all())),
    tile.WidenedOp: lambda run, op: run.values[op.value],
    tile.IdentityOp: lambda run, op: _number(op.in_64_bits),
    tile.PaddedOp: lambda run, op: _number(tile.padded(run.scalar(op.size))),
    tile.PackOp: lambda run, op: _number(packed(run.scalar(op.count), op.rows.value.data)),
    tile.PlaceOp: Run.place,
    tile.BroadcastOp: Run.broadcast,
    tile.RenameAxisOp: Run.rename,
    tile.RepeatOp: Run.repeat,
    tile.FlattenOp: Run.flatten,
}
"""The value that each operation gives that has one, besides those of `POINTWISE`."""


@cache
def step_of(kind: type[Operation]) -> Step:
    """What an operation of a kind does. Looked up, for a `match` over all kinds takes longer than what most compute."""
    if kind in POINTWISE:
        function = POINTWISE[kind]
        if kind in APPROXIMATED:
            return lambda run, op: run.compute(op, lambda *values: approximated(op, function(*values)))
        return lambda run, op: run.compute(op, function)
    for each in kind.__mro__:
        if each in STEPS:
            return _own(STEPS[each])
        if each in VALUES:
            value = _own(VALUES[each])
            return lambda run, op: run.values.__setitem__(op.results[0], value(run, op))
    raise NotImplementedError(kind.name)


def _own(method: Callable[[Run, Any], Any]) -> Callable[[Run, Any], Any]:
    """A method of `Run`, or that which a subclass has in its place."""
    name = method.__name__
    return (lambda run, op: getattr(run, name)(op)) if hasattr(Run, name) else method
