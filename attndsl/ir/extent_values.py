"""The extents of tensors as values that a kernel computes, and reads that are inside of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attndsl.checking.symbolic import Expression
from attndsl.checking.typed import Kind
from attndsl.ir import attn, spec
from attndsl.ir.build import OPERATIONS
from attndsl.ir.keys import conjunction, conjuncts, made_of
from attndsl.ir.rewrite import constant_op, guarded, index_constant, insert_before, replace
from attndsl.ir.xdsl import Block, Operation, SSAValue, arith, i1, index


def extents_before(anchor: Operation, tensor: spec.TensorOp) -> list[SSAValue]:
    """The extents of a tensor, computed before `anchor`."""
    builder = _Before(anchor, {op.sym_name.data: op for op in spec.declarations(tensor, spec.ParameterOp)})
    return [builder.expression(extent) for extent in tensor.shape]


def guard_reads(block: Block, variables: Iterable[SSAValue], module: Operation) -> None:
    """Lets reads of a kernel take place inside of tensors alone, where they rest on variables that go farther now.

    What was proved of a place holds for the values that its variables had. `module` is any operation of the module.
    """
    moved = {variable.owner for variable in variables}
    for read in [op for op in block.ops if isinstance(op, attn.ReadOp)] if moved else []:
        if moved.isdisjoint(made_of(read.indices)):
            continue
        conditions = conjuncts(read.where)
        zero = insert_before(read, index_constant(0))
        extents = extents_before(read, spec.enclosing_tensor(module, read.tensor.string_value()))
        for place, extent in zip(read.indices, extents, strict=True):
            conditions.append(insert_before(read, arith.CmpiOp(zero, place, "sle")))
            conditions.append(insert_before(read, arith.CmpiOp(place, extent, "slt")))
        where = conjunction(conditions, read)
        replace(read, [insert_before(read, guarded(read, where), read.result.name_hint)])


class _Before:
    """What `OPERATIONS` asks of a builder, of integers and truth values."""

    def __init__(self, anchor: Operation, parameters: Mapping[str, spec.ParameterOp]) -> None:
        self.anchor = anchor
        self.parameters = parameters

    def expression(self, expression: Expression) -> SSAValue:
        match expression:
            case bool():
                return self.constant(Kind.BOOL, expression)
            case int():
                return self.constant(Kind.INT, expression)
            case ("dim", str(name)):
                return self.value(spec.DimOp(name), name)
            case ("param", str(name)):
                declared = self.parameters[name]
                return self.value(spec.ParamOp(name, declared.type, declared.size is not None), name)
            case (str(operator), *operands):
                return OPERATIONS[operator](self, *map(self.expression, operands))
        raise AssertionError(f"no extent is made of {expression!r}")

    def value(self, op: Operation, name: str | None = None) -> SSAValue:
        return insert_before(self.anchor, op, name)

    def number(self, value: int) -> SSAValue:
        return self.constant(Kind.INT, value)

    def constant(self, kind: Kind, value: int | bool) -> SSAValue:
        return self.value(constant_op(value, i1 if kind is Kind.BOOL else index))

    def select(self, condition: SSAValue, then: SSAValue, otherwise: SSAValue) -> SSAValue:
        return self.value(arith.SelectOp(condition, then, otherwise))

    def negate(self, value: SSAValue) -> SSAValue:
        return self.value(arith.XOrIOp(value, self.constant(Kind.BOOL, True)))
