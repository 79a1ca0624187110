"""What the NumPy emitter takes: tiles of every size, and nothing that is left to a launch."""

from __future__ import annotations

from attndsl.backends.numpy.pointwise import NUMPY_SPELLINGS
from attndsl.backends.text import COMPARED
from attndsl.checking.symbolic import leaves
from attndsl.ir import spec, tile
from attndsl.ir.legal import IllegalForm, LegalForms, given
from attndsl.ir.xdsl import ModuleOp, arith, f32, f64, i1, index, scf

CHOSEN = IllegalForm(
    "whose extents a launch chooses", lambda op, axes: any(kind == "choice" for e in op.shape for kind, _ in leaves(e))
)

OTHER_SLICES = IllegalForm(
    "in slices of other than 8 rows", lambda op, axes: op.slices is not None and op.slices.value.data != 8
)
"""The products that no helper is there for."""

LEGAL = LegalForms(
    "numpy",
    {
        ModuleOp: (),
        # A file has one function, which runs all kernels, and computes in the types that values have.
        tile.KernelOp: (given("form"), given("schedules"), given("bounds")),
        spec.TensorOp: (CHOSEN,),
        tile.DotOp: (given("rounded"), OTHER_SLICES),
        tile.LoopOp: (given("stages"),),
        **dict.fromkeys((spec.ParameterOp, spec.DimOp, spec.ParamOp, spec.ToFloatOp, spec.RandomOp), ()),
        **dict.fromkeys((spec.AssumeOp, tile.PresentOp, tile.HoldsOp, tile.WithinOp, tile.KeptOp), ()),
        **dict.fromkeys((tile.ProgramOp, tile.RangeOp, tile.LoadOp, tile.StoreOp, tile.BroadcastOp), ()),
        **dict.fromkeys((tile.ThreadsOp, tile.RepeatOp, tile.FlattenOp, tile.HomeOp, tile.IntoOp, tile.WrapsOp), ()),
        **dict.fromkeys((tile.OuterLoopOp, tile.DeferredOp), ()),
        **dict.fromkeys((tile.MaskOp, tile.FiniteOp, tile.FusedOp, scf.IfOp, scf.YieldOp), ()),
        **dict.fromkeys((tile.YieldOp, tile.SumOp, tile.MaxOp, tile.MinOp, tile.AllOp, tile.TopOp), ()),
        **dict.fromkeys((arith.CmpiOp, arith.CmpfOp), (COMPARED,)),
        **dict.fromkeys((arith.ConstantOp, *NUMPY_SPELLINGS), ()),
    },
    (index, i1, f32, f64),
)
