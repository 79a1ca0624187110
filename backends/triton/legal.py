"""What the Triton emitter takes: tiles whose sizes are known when a kernel is compiled, and that are full."""

from __future__ import annotations

from collections import Counter

from attndsl.backends.text import COMPARED
from attndsl.backends.triton.pointwise import TRITON_SPELLINGS
from attndsl.choices import CHOICES
from attndsl.ir import spec, tile
from attndsl.ir.analyses.boxes import box_of, lies_inside
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.legal import IllegalForm, LegalForms, given
from attndsl.ir.rewrite import constant
from attndsl.ir.xdsl import ModuleOp, SSAValue, arith, f32, f64, i1, index, scf
from attndsl.passes.pad_axes import fits

MOST_SUMS = 100
"""How many sums are taken apart to see that an axis is full."""

NO_MATRICES = IllegalForm("of no two matrices", lambda op, axes: [len(own) for own in op.sides(axes)[1:]] != [1, 1])
BATCHES = IllegalForm("with several batch axes", lambda op, axes: len(op.sides(axes)[0]) > 1)
SMALL = IllegalForm("of too few places", lambda op, axes: not all(map(_is_long, axes(op.lhs) | axes(op.rhs))))
UNKNOWN = IllegalForm("that no launch makes", lambda op, axes: op.choice.data not in CHOICES)


def _is_cut(op: tile.RangeOp, axes: AxesAnalysis) -> bool:
    """Whether an axis may end before its size says, or has a size that tiles cannot have."""
    left = Counter({op.stop: 1})
    left.subtract((op.start, op.size))
    for _ in range(MOST_SUMS):
        added = next((v.owner for v, n in left.items() if n and isinstance(v.owner, arith.AddiOp)), None)
        if added is None:
            break
        times = left.pop(added.result)
        for operand in added.operands:
            left[operand] += times
    known = sum(int(constant(v) or 0) * times for v, times in left.items())
    return not _is_size(op.size) or known != 0 or any(times for v, times in left.items() if constant(v) is None)


def _is_size(size: SSAValue) -> bool:
    """Whether a tile can have a size: what pads gives one that products take too, any other power of two is enough."""
    known = constant(size)
    return fits(size) or (known is not None and known > 0 and int(known).bit_count() == 1)


def _is_long(axis: SSAValue) -> bool:
    """Whether products take an axis."""
    return isinstance(axis.owner, tile.RangeOp) and fits(axis.owner.size)


def keeps_nothing(op: scf.IfOp, axes: AxesAnalysis) -> bool:
    """Whether it is not of the one form that is spelled: states are kept, or computed anew."""
    kept = op.true_region.block
    return kept.first_op is not kept.last_op or not op.false_region.blocks


def _repeats(op: tile.StoreOp, axes: AxesAnalysis) -> bool:
    """Whether it writes to a place once for each axis of its indices that its value does not vary along."""
    return not frozenset().union(*map(axes, op.indices)) <= axes(op.value)


def _is_no_box(op: tile.LoadOp, axes: AxesAnalysis) -> bool:
    """Whether it is said to be a box, and is none, or leaves something of it out."""
    if op.box is None:
        return False
    box = box_of(op, axes)
    return box is None or not lies_inside(op, box)


LEGAL = LegalForms(
    "triton",
    {
        ModuleOp: (),
        tile.RangeOp: (IllegalForm("that is not full", _is_cut),),
        # In tiles of a fixed size what a row does not see is finite, or met apart.
        tile.DotOp: (given("where"), given("slices"), given("streamed"), NO_MATRICES, BATCHES, SMALL),
        tile.LoadOp: (IllegalForm("that is no box", _is_no_box),),
        tile.StoreOp: (IllegalForm("of one value to many places", _repeats),),
        spec.ChoiceOp: (UNKNOWN,),
        scf.IfOp: (IllegalForm("that keeps no state", keeps_nothing),),
        **dict.fromkeys((tile.LoopOp, tile.OuterLoopOp, tile.YieldOp, scf.YieldOp), ()),
        **dict.fromkeys((spec.TensorOp, spec.ParameterOp, spec.DimOp, spec.ParamOp, spec.ToFloatOp, spec.RandomOp), ()),
        **dict.fromkeys((spec.AssumeOp, tile.PresentOp, tile.HoldsOp, tile.WithinOp, tile.NarrowOp, tile.KeptOp), ()),
        **dict.fromkeys((tile.CoversOp, tile.LaunchedOp, tile.UnsignedOp, tile.WrapsOp), ()),
        **dict.fromkeys((tile.ProgramOp, tile.PaddedOp, tile.PackOp, tile.PlaceOp, tile.BroadcastOp), ()),
        **dict.fromkeys((tile.KernelOp, tile.WidenedOp, tile.IdentityOp), ()),
        **dict.fromkeys((tile.RenameAxisOp, tile.RepeatOp, tile.SumOp, tile.MaxOp, tile.MinOp, tile.AllOp), ()),
        **dict.fromkeys((arith.CmpiOp, arith.CmpfOp), (COMPARED,)),
        **dict.fromkeys((arith.ConstantOp, *TRITON_SPELLINGS), ()),
    },
    (index, i1, f32, f64),
)
