"""The `spec` dialect: what both levels of the IR say of a spec: its tensors, dims, parameters and their conditions."""

from __future__ import annotations

from collections.abc import Sequence

from attndsl.ir.xdsl import (
    AnyFloat,
    ArrayAttr,
    Attribute,
    Dialect,
    IndexType,
    IRDLOperation,
    Operation,
    Pure,
    SSAValue,
    StringAttr,
    SymbolNameConstraint,
    SymbolOpInterface,
    SymbolRefAttr,
    VerifyException,
    i1,
    index,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)


@irdl_op_definition
class TensorOp(IRDLOperation):
    """An input or output of the spec: its element type and, a text a dimension, its extents.

    spec.tensor @cu input "i32" ["B + 1"]
    """

    name = "spec.tensor"
    sym_name = prop_def(SymbolNameConstraint())
    role = prop_def(StringAttr)
    element = prop_def(StringAttr)
    extents = prop_def(ArrayAttr[StringAttr])
    traits = traits_def(SymbolOpInterface())
    assembly_format = "$sym_name $role $element $extents attr-dict"

    def __init__(self, name: str, role: str, element: str, extents: Sequence[str]) -> None:
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "role": StringAttr(role),
                "element": StringAttr(element),
                "extents": ArrayAttr([StringAttr(e) for e in extents]),
            }
        )

    def verify_(self) -> None:
        if self.role.data not in ("input", "output"):
            raise VerifyException(f"the role of a tensor is input or output, not {self.role.data}")


def enclosing_tensor(op: Operation, name: str) -> TensorOp:
    """The declaration of a tensor that `op` names; raises VerifyException where there is none."""
    top = op
    while (parent := top.parent_op()) is not None:
        top = parent
    for region in top.regions:
        for other in region.walk():
            if isinstance(other, TensorOp) and other.sym_name.data == name:
                return other
    raise VerifyException(f"no tensor is called @{name}")


@irdl_op_definition
class ParameterOp(IRDLOperation):
    """A parameter of the spec: its type (index, i1 or floating-point) and, where it has one, its default.

    spec.parameter @window index = 4096 : index
    """

    name = "spec.parameter"
    sym_name = prop_def(SymbolNameConstraint())
    type = prop_def(Attribute)
    default = opt_prop_def(Attribute)
    traits = traits_def(SymbolOpInterface())
    assembly_format = "$sym_name $type (`=` $default^)? attr-dict"

    def __init__(self, name: str, type_: Attribute, default: Attribute | None) -> None:
        super().__init__(properties={"sym_name": StringAttr(name), "type": type_, "default": default})


def verify_access(op: Operation, tensor: SymbolRefAttr, indices: Sequence[SSAValue]) -> None:
    """Raises VerifyException unless there is one index for each dimension of a tensor that is declared."""
    rank = len(enclosing_tensor(op, tensor.string_value()).extents)
    if len(indices) != rank:
        raise VerifyException(f"@{tensor.string_value()} has {rank} dimensions, not {len(indices)}")


@irdl_op_definition
class DimOp(IRDLOperation):
    """The extent that a dim has at a call. Never negative."""

    name = "spec.dim"
    dim = prop_def(StringAttr)
    result = result_def(IndexType)
    traits = traits_def(Pure())
    assembly_format = "$dim attr-dict"

    def __init__(self, dim: str) -> None:
        super().__init__(properties={"dim": StringAttr(dim)}, result_types=[index])


@irdl_op_definition
class ParamOp(IRDLOperation):
    """The value that a parameter has at a call: index, i1 or floating-point."""

    name = "spec.param"
    param = prop_def(StringAttr)
    result = result_def()
    traits = traits_def(Pure())
    assembly_format = "$param attr-dict `:` type($result)"

    def __init__(self, param: str, type_: Attribute) -> None:
        super().__init__(properties={"param": StringAttr(param)}, result_types=[type_])


@irdl_op_definition
class AssumeOp(IRDLOperation):
    """A condition on dims and parameters that every call has been checked to meet."""

    name = "spec.assume"
    condition = operand_def(i1)
    assembly_format = "$condition attr-dict"

    def __init__(self, condition: SSAValue) -> None:
        super().__init__(operands=[condition])


@irdl_op_definition
class ModOp(IRDLOperation):
    """The modulo that goes with `arith.floordivsi`: it has the divisor's sign. (`arith.remsi` has the dividend's.)"""

    name = "spec.mod"
    lhs = operand_def(IndexType)
    rhs = operand_def(IndexType)
    result = result_def(IndexType)
    traits = traits_def(Pure())
    assembly_format = "$lhs `,` $rhs attr-dict"

    def __init__(self, lhs: SSAValue, rhs: SSAValue) -> None:
        super().__init__(operands=[lhs, rhs], result_types=[index])


@irdl_op_definition
class ToFloatOp(IRDLOperation):
    """An integer as a real number. (`arith.sitofp` does not take an index.)"""

    name = "spec.to_float"
    operand = operand_def(IndexType)
    result = result_def(AnyFloat)
    traits = traits_def(Pure())
    assembly_format = "$operand attr-dict `:` type($result)"

    def __init__(self, operand: SSAValue, type_: Attribute) -> None:
        super().__init__(operands=[operand], result_types=[type_])


SPEC = Dialect("spec", [TensorOp, ParameterOp, DimOp, ParamOp, AssumeOp, ModOp, ToFloatOp])
