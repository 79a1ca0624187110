"""What the NumPy emitter takes: tiles of every size, and nothing that is left to a launch."""

from __future__ import annotations

from attndsl.backends.numpy.pointwise import COMPARISON_SIGNS, POINTWISE
from attndsl.ir import spec, tile
from attndsl.ir.legal import IllegalForm, LegalForms, given
from attndsl.ir.meaning import predicate
from attndsl.ir.xdsl import ModuleOp, arith, f32, f64, i1, index, scf

COMPARED = IllegalForm("with a predicate that has no sign", lambda op, axes: predicate(op) not in COMPARISON_SIGNS)
WORKSPACE = IllegalForm("that is a workspace", lambda op, axes: op.role.data == "workspace")

LEGAL = LegalForms(
    "numpy",
    {
        ModuleOp: (),
        # A file has one function, which runs all kernels, and computes in the types that values have.
        tile.KernelOp: (given("form"), given("schedules"), given("bounds")),
        spec.TensorOp: (WORKSPACE,),
        tile.DotOp: (given("rounded"),),
        tile.LoopOp: (given("stages"),),
        **dict.fromkeys((spec.ParameterOp, spec.DimOp, spec.ParamOp, spec.ToFloatOp), ()),
        **dict.fromkeys((spec.AssumeOp, tile.PresentOp, tile.HoldsOp, tile.WithinOp, tile.KeptOp), ()),
        **dict.fromkeys((tile.ProgramOp, tile.RangeOp, tile.LoadOp, tile.StoreOp, tile.BroadcastOp), ()),
        tile.RepeatOp: (),
        **dict.fromkeys((tile.HomeOp, tile.IntoOp, tile.MaskOp, tile.FiniteOp, scf.IfOp, scf.YieldOp), ()),
        **dict.fromkeys((tile.YieldOp, tile.SumOp, tile.MaxOp, tile.MinOp, tile.AllOp), ()),
        **dict.fromkeys((arith.CmpiOp, arith.CmpfOp), (COMPARED,)),
        **dict.fromkeys((arith.ConstantOp, *POINTWISE), ()),
    },
    (index, i1, f32, f64),
)
