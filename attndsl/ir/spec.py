"""The `spec` dialect: what both levels of the IR say of a spec: its tensors, dims, parameters and their conditions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from attndsl.calling import Arguments
from attndsl.checking.symbolic import Expression
from attndsl.checking.typed import INT_TYPES, ROUNDED_INTS, STORAGE_KINDS, Kind
from attndsl.ir.shapes import ShapeAttr
from attndsl.ir.xdsl import (
    AnyFloat,
    Attribute,
    Dialect,
    IndexType,
    IntegerAttr,
    IntegerType,
    IRDLOperation,
    ModuleOp,
    Operation,
    Pure,
    SSAValue,
    StringAttr,
    SymbolNameConstraint,
    SymbolOpInterface,
    SymbolRefAttr,
    UnitAttr,
    VarConstraint,
    VerifyException,
    base,
    i1,
    index,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)

Float = VarConstraint("Float", base(AnyFloat))  # type: ignore[arg-type]
"""One type of real numbers, the same of all operands and results that have it."""

VALUE_TYPES: dict[Kind, Any] = {Kind.BOOL: IntegerType, Kind.INT: IndexType, Kind.FLOAT: AnyFloat}
"""The types of what is read from a tensor, by the kind of its elements."""


@irdl_op_definition
class TensorOp(IRDLOperation):
    """A tensor: its role, its element type and, one for each dimension, its extents.

    What a call has is of the role `input`, `output` or `inout`. An inout it gives and kernels write in its place: a
    kernel that does so reads of it no element but the one that it writes. A `workspace` is a `temp` of the spec, or the
    compiler's: one kernel writes it, a later one reads it, and before it holds nothing; its extents may be made of
    parameters and choices, too. A later kernel may read an output as well: in its element type, rounded.
    Of what is `partial` the rows may leave elements unwritten, which are 0, or add to them: it is 0 before. Where the
    rows of requests follow each other `along` an axis, each from an end in a table up to the next one, only what lies
    outside of all `ends` is unwritten, as long as these ascend within the axis.

    spec.tensor @cu "input" "i32" ["B + 1"]
    spec.tensor @o "output" "f32" ["M"] partial ends @cu along 0
    spec.tensor @k_m "workspace" "f32" ["max(0, M - param(window))", "choice(SPLITS)"]
    """

    name = "spec.tensor"
    sym_name = prop_def(SymbolNameConstraint())
    role = prop_def(StringAttr)
    element = prop_def(StringAttr)
    extents = prop_def(ShapeAttr)
    partial = opt_prop_def(UnitAttr)
    ends = opt_prop_def(SymbolRefAttr)
    along = opt_prop_def(IntegerAttr[IndexType])
    traits = traits_def(SymbolOpInterface())
    assembly_format = (
        "$sym_name $role $element $extents (`partial` $partial^)? (`ends` $ends^ `along` $along)? attr-dict"
    )

    def __init__(
        self,
        name: str,
        role: str,
        element: str,
        extents: Sequence[Expression],
        partial: bool = False,
        ends: tuple[str, int] | None = None,
    ) -> None:
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "role": StringAttr(role),
                "element": StringAttr(element),
                "extents": ShapeAttr(tuple(extents)),
                "partial": UnitAttr() if partial else None,
                "ends": None if ends is None else SymbolRefAttr(ends[0]),
                "along": None if ends is None else IntegerAttr(ends[1], index),
            }
        )

    @property
    def shape(self) -> tuple[Expression, ...]:
        """The extents as expressions."""
        return self.extents.data

    @property
    def is_zeroed(self) -> bool:
        """Whether all of it is 0 before kernels write it."""
        return self.partial is not None and self.ends is None

    def verify_(self) -> None:
        if self.role.data not in ("input", "output", "inout", "workspace"):
            raise VerifyException(f"the role of a tensor is input, output, inout or workspace, not {self.role.data}")
        if self.element.data not in STORAGE_KINDS:
            raise VerifyException(f"{self.element.data} is no element type")
        if self.partial is not None and self.role.data in ("input", "inout"):
            raise VerifyException(f"@{self.sym_name.data} is partial, and a call gives it")
        if self.ends is None and self.along is None:
            return
        if self.partial is None or self.ends is None or self.along is None:
            raise VerifyException(f"@{self.sym_name.data} is partial along an axis, outside of ends in a table")
        table = enclosing_tensor(self, self.ends.string_value())
        if table.role.data != "input" or table.element.data not in INT_TYPES or len(table.shape) != 1:
            raise VerifyException(f"@{table.sym_name.data} is no table of ends that a call gives")
        if not 0 <= self.along.value.data < len(self.shape):
            raise VerifyException(f"@{self.sym_name.data} has no axis {self.along.value.data}")


def arguments(module: ModuleOp) -> Arguments[TensorOp]:
    """The tensors of a module in the order in which a call has them; workspaces are none."""
    tensors = (op for op in module.body.block.ops if isinstance(op, TensorOp))
    return Arguments.of(tensors, lambda tensor: tensor.role.data)


Declaration = TypeVar("Declaration", bound=Operation)


def declarations(op: Operation, kind: type[Declaration]) -> Iterator[Declaration]:
    """The declarations of one kind in the module that `op` stands in."""
    while (parent := op.parent_op()) is not None:
        op = parent
    return (other for region in op.regions for other in region.ops if isinstance(other, kind))


def enclosing_tensor(op: Operation, name: str) -> TensorOp:
    """The declaration of a tensor that `op` names; raises VerifyException where there is none."""
    for tensor in declarations(op, TensorOp):
        if tensor.sym_name.data == name:
            return tensor
    raise VerifyException(f"no tensor is called @{name}")


@irdl_op_definition
class ParameterOp(IRDLOperation):
    """A parameter of the spec: its type (index, i1 or floating-point) and, where it has one, its default.

    One that is a `size` is never negative, nor larger than a dim: extents of tensors are made of it.

    spec.parameter @window index = 4096 : index
    spec.parameter @heads index size
    """

    name = "spec.parameter"
    sym_name = prop_def(SymbolNameConstraint())
    type = prop_def(Attribute)
    default = opt_prop_def(Attribute)
    size = opt_prop_def(UnitAttr)
    traits = traits_def(SymbolOpInterface())
    assembly_format = "$sym_name $type (`=` $default^)? (`size` $size^)? attr-dict"

    def __init__(self, name: str, type_: Attribute, default: Attribute | None, size: bool = False) -> None:
        properties = {"sym_name": StringAttr(name), "type": type_, "default": default}
        super().__init__(properties={**properties, "size": UnitAttr() if size else None})

    def verify_(self) -> None:
        if self.size is not None and self.type != index:
            raise VerifyException(f"the parameter {self.sym_name.data} is a size, and no integer")


def verify_access(
    op: Operation, tensor: SymbolRefAttr, indices: Sequence[SSAValue], role: str, type_: Attribute
) -> None:
    """Raises VerifyException unless the tensor is declared, has that role and kind, and an index for each dimension.

    A workspace has either role, and what is written may be read as inputs are. Floats may be written to ROUNDED_INTS.
    """
    name = tensor.string_value()
    declared = enclosing_tensor(op, name)
    if role == "output" and declared.role.data == "input":
        raise VerifyException(f"@{name} is no {role}")
    if len(indices) != len(declared.shape):
        raise VerifyException(f"@{name} has {len(declared.shape)} dimensions, not {len(indices)}")
    kind = STORAGE_KINDS[declared.element.data]
    if role == "output" and declared.element.data in ROUNDED_INTS and isinstance(type_, AnyFloat):
        return
    if not isinstance(type_, VALUE_TYPES[kind]) or (kind is Kind.BOOL and type_ != i1):
        raise VerifyException(f"an element of @{name}, which holds {declared.element.data}, is no {type_}")


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

    def verify_(self) -> None:
        if not any(self.dim.data in tensor.extents.dims for tensor in declarations(self, TensorOp)):
            raise VerifyException(f"no tensor has an extent made of the dim {self.dim.data}")


@irdl_op_definition
class ParamOp(IRDLOperation):
    """The value that a parameter has at a call: index, i1 or floating-point. That of a `size` is never negative."""

    name = "spec.param"
    param = prop_def(StringAttr)
    size = opt_prop_def(UnitAttr)
    result = result_def()
    traits = traits_def(Pure())
    assembly_format = "$param (`size` $size^)? attr-dict `:` type($result)"

    def __init__(self, param: str, type_: Attribute, size: bool = False) -> None:
        properties = {"param": StringAttr(param), "size": UnitAttr() if size else None}
        super().__init__(properties=properties, result_types=[type_])

    def verify_(self) -> None:
        declared = [p for p in declarations(self, ParameterOp) if p.sym_name.data == self.param.data]
        if self.result.type not in [p.type for p in declared]:
            raise VerifyException(f"no parameter is called {self.param.data} and is {self.result.type}")
        if [p.size for p in declared] != [self.size]:
            raise VerifyException(f"{self.param.data} is a size in its declaration or here, and not in the other")


def is_size(op: object) -> bool:
    """Whether it gives an extent as a call has it: a dim, or a parameter that extents are made of."""
    return isinstance(op, DimOp) or (isinstance(op, ParamOp) and op.size is not None)


@irdl_op_definition
class ChoiceOp(IRDLOperation):
    """A size that a launch chooses, as how many rows a tile has: at least 1, and no result depends on it.

    `most`, where it is given, says beyond what a choice is of no use; a launch can compute it. `divides` is a number
    that every choice divides.
    """

    name = "spec.choice"
    choice = prop_def(StringAttr)
    divides = opt_prop_def(IntegerAttr)
    most = opt_operand_def(IndexType)
    result = result_def(IndexType)
    traits = traits_def(Pure())
    assembly_format = "$choice (`up` `to` $most^)? (`divides` $divides^)? attr-dict"

    def __init__(self, choice: str, most: SSAValue | None = None) -> None:
        super().__init__(properties={"choice": StringAttr(choice)}, operands=[most], result_types=[index])


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


@irdl_op_definition
class RandomOp(IRDLOperation):
    """A random number from 0 up to 1, the same wherever it is made of this seed and offset.

    It is 2^-24 times the upper 24 bits of the first word of Philox-4x32-10, whose key is the seed's two words of 32
    bits, the low one first, and whose counter is the offset's two words, 0 and 0.
    """

    name = "spec.random"
    seed = operand_def(IndexType)
    offset = operand_def(IndexType)
    result = result_def(AnyFloat)
    traits = traits_def(Pure())
    assembly_format = "$seed `,` $offset attr-dict `:` type($result)"

    def __init__(self, seed: SSAValue, offset: SSAValue, type_: Attribute) -> None:
        super().__init__(operands=[seed, offset], result_types=[type_])


SPEC = Dialect("spec", [TensorOp, ParameterOp, DimOp, ParamOp, ChoiceOp, AssumeOp, ModOp, ToFloatOp, RandomOp])
