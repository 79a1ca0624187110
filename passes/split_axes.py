"""split-axes: a feature axis whose extent is no power of two becomes several whose extents are.

Why: a GPU's tiles have powers of two for sides, and at least 16. Padded to the next one, an axis of 576 would be 1024
wide and nearly half of each product nothing; as 512 and 64 it wastes nothing. A contraction becomes a sum of
contractions, and what varies along the axis one value for each piece.

Before:

    spec.tensor @x "input" "f32" ["M", "96"]
    spec.tensor @o "output" "f32" ["M"]
    attn.kernel @k {
      %M = spec.dim "M"
      %D = arith.constant 96 : index
      %i = attn.each "i" to %M
      %d = attn.axis "d" to %D
      %x = attn.read @x[%i, %d] : f32
      %s = attn.sum %x over %d : f32
      attn.write @o[%i] = %s : f32
    }

After:

    spec.tensor @x "input" "f32" ["M", "96"]
    spec.tensor @o "output" "f32" ["M"]
    attn.kernel @k {
      %M = spec.dim "M"
      %i = attn.each "i" to %M
      %c64 = arith.constant 64 : index
      %d_0 = attn.axis "d_0" to %c64
      %c32 = arith.constant 32 : index
      %d_64 = attn.axis "d_64" to %c32
      %first = arith.constant 64 : index
      %d = arith.addi %d_64, %first : index
      %x_0 = attn.read @x[%i, %d_0] : f32
      %x_64 = attn.read @x[%i, %d] : f32
      %s_0 = attn.sum %x_0 over %d_0 : f32
      %s_64 = attn.sum %x_64 over %d_64 : f32
      %s = arith.addf %s_0, %s_64 : f32
      attn.write @o[%i] = %s : f32
    }

An axis is cut after its largest power of two where that saves at least a quarter of its padded width: 96 and 72 are,
but not 56, of which 32 + 24 would be padded to 64 as well. One of 257 to 1024 is cut into pieces of 256 where there are
keys, which is the widest product of a matrix unit: on an H200 decoding of latent attention, 512 wide, took 0.96 of the
time for 64 and 128 heads, and 1.00 to 1.06 for 16 and 32. It is cut, too, where a condition on it turns, if that leaves
powers of two: of two halves, each that a rotary embedding reads is then read whole, and no axis is tested.

Requires: canonicalize, so that extents are constants; specialise, if they are to be. Ensures: an axis of constant
extent is padded by less than a quarter, or to 16 or 32. Exactness: reassociates sums. Idempotent.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise

from attndsl.ir import attn
from attndsl.ir.exactness import Exactness
from attndsl.ir.polynomial import Facts
from attndsl.ir.rewrite import constant, index_constant, insert_before, remove_dead, replace
from attndsl.ir.tile import padded
from attndsl.ir.traits import monoid_of
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass, Operation, SSAValue, arith

WIDEST = 256
"""The features of the widest product of a matrix unit, and of the widest box that a GPU copies at once."""

WIDER = 1024
"""No more features than that are cut so: no tile of rows holds the sums of more."""


@dataclass(frozen=True)
class SplitAxes(ModulePass):
    """Splits every attn.axis of constant extent that `pieces`, or a condition on it, cuts."""

    name = "split-axes"
    exactness = Exactness.REASSOCIATES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.ops:
            if isinstance(kernel, attn.KernelOp):
                axes = [axis for axis in kernel.body.block.ops if isinstance(axis, attn.AxisOp)]
                widest = WIDEST if any(isinstance(each, attn.OverOp) for each in kernel.body.block.ops) else WIDER
                while axes:
                    axis = axes.pop()
                    extent = constant(axis.extent)
                    sizes = _sizes(kernel, axis, int(extent), widest) if extent else []
                    if len(sizes) > 1:
                        axes += _split(kernel, axis, sizes)
        remove_dead(op)


def pieces(extent: int, widest: int = WIDER) -> list[int]:
    """What an axis is cut into: powers of two that decrease, and last what is padded to one; none past the `widest`."""
    wide = widest if widest < extent <= WIDER else padded(extent)
    largest = min(1 << extent.bit_length() >> 1, wide)
    rest = extent - largest
    if rest == 0 or (2 * padded(rest) > largest and padded(extent) <= wide):
        return [extent]
    return [largest, *pieces(rest, widest)]


def _sizes(kernel: attn.KernelOp, axis: attn.AxisOp, extent: int, widest: int) -> list[int]:
    parts = [high - low for low, high in pairwise([0, *_turns(kernel, axis, extent), extent])]
    if all(part == padded(part) for part in parts):
        return [piece for part in parts for piece in pieces(part, widest)]
    return pieces(extent, widest)


def _turns(kernel: attn.KernelOp, axis: attn.AxisOp, extent: int) -> list[int]:
    """The values inside of an axis from which on a condition on nothing else holds, or no longer does."""
    facts, turns = Facts(kernel.body.block), set[int]()
    for op in kernel.body.block.ops:
        slack = facts.slack(op) if isinstance(op, arith.CmpiOp) else None
        if slack is not None and slack.keys() <= {(axis.result,), ()}:
            factor, rest = slack.get((axis.result,)), slack.get((), 0)
            if factor == 1:  # d + rest >= 0
                turns.add(-rest)
            elif factor == -1:  # rest - d >= 0
                turns.add(rest + 1)
    return sorted(turn for turn in turns if 0 < turn < extent)


def _split(kernel: attn.KernelOp, axis: attn.AxisOp, sizes: list[int]) -> list[attn.AxisOp]:
    """Replaces an axis by axes of these sizes, which it gives, and all that depends on it by a copy for each."""
    block = kernel.body.block
    starts = list(accumulate(sizes[:-1], initial=0))
    variables = [_piece(axis, start, size) for start, size in zip(starts, sizes, strict=True)]
    places = [_moved(axis, variable, start) for variable, start in zip(variables, starts, strict=True)]
    copies: dict[SSAValue, list[SSAValue]] = {axis.result: places}
    copied: list[Operation] = [axis]
    for op in list(block.ops):
        if not any(operand in copies for operand in op.operands):
            continue
        if isinstance(op, attn.ReduceAxisOp) and op.over is axis.result:
            _combine(op, variables, copies.get(op.body, [op.body] * len(sizes)))
            continue
        copied.append(op)
        versions = [
            op.clone({old: new[number] for old, new in copies.items() if old in op.operands})
            for number in range(len(sizes))
        ]
        block.insert_ops_before(versions, op)
        for number, result in enumerate(op.results):
            copies[result] = [copy.results[number] for copy in versions]
    for op in reversed(copied):
        op.detach()
        op.erase()
    return variables


def _piece(axis: attn.AxisOp, start: int, size: int) -> attn.AxisOp:
    name = f"{axis.variable.data}_{start}"
    piece = attn.AxisOp(name, insert_before(axis, index_constant(size)))
    insert_before(axis, piece, name)
    return piece


def _moved(axis: attn.AxisOp, piece: attn.AxisOp, start: int) -> SSAValue:
    """What the variable of the whole axis is on a piece of it."""
    if start == 0:
        return piece.result
    first = insert_before(axis, index_constant(start))
    return insert_before(axis, arith.AddiOp(piece.result, first), axis.variable.data)


def _combine(op: attn.ReduceAxisOp, variables: list[attn.AxisOp], bodies: list[SSAValue]) -> None:
    """What the axis folds to is what its pieces fold to, combined."""
    total: SSAValue | None = None
    for variable, body in zip(variables, bodies, strict=True):
        part = insert_before(op, type(op)(body, variable.result))
        total = part if total is None else insert_before(op, monoid_of(op).combine(total, part))
    assert total is not None
    replace(op, [total])
