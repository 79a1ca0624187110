"""Greedy rewriting with xDSL's walker, keeping source locations, and the small tools that passes share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TypeVar

from attndsl.ir import tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.dead import is_dead, remove_dead
from attndsl.ir.hints import hint
from attndsl.ir.statements import operations
from attndsl.ir.streams import Terms
from attndsl.ir.xdsl import (
    AnyFloat,
    Attribute,
    Block,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    IRDLOperation,
    IsTerminator,
    ModuleOp,
    Operation,
    PatternRewriter,
    PatternRewriterListener,
    PatternRewriteWalker,
    Region,
    RewritePattern,
    SSAValue,
    UnknownLoc,
    arith,
    i1,
    index,
)

__all__ = [
    "Row", "attribute", "constant", "constant_op", "copied", "copy_before", "guarded", "index_constant",
    "insert_before", "number_in", "remove_dead", "replace", "rewrite", "say", "sort_block", "uniform",
]  # fmt: skip


Copied = TypeVar("Copied", bound=Operation)

Row = tuple[Iterable[type[Operation]], RewritePattern]
"""Types of operations, and a pattern that may match them."""


class _Table(RewritePattern):
    """Erases what is dead; tries, in their order, the patterns of an operation's type until one matches.

    What a rewrite makes inherits the place in the source of what it rewrites.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self.patterns: dict[type[Operation], list[RewritePattern]] = {}
        for kinds, pattern in rows:
            for kind in dict.fromkeys(kinds):
                self.patterns.setdefault(kind, []).append(pattern)
        self.location = UnknownLoc()
        self.has_changed = False

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if is_dead(op):
            rewriter.erase(op)
            self.has_changed = True
            return
        self.location = op.location  # type: ignore[assignment]
        for pattern in self.patterns.get(type(op), ()):
            pattern.match_and_rewrite(op, rewriter)
            if rewriter.has_done_action:
                self.has_changed = True
                return

    def inserted(self, op: Operation) -> None:
        if isinstance(op.location, UnknownLoc):
            op.location = self.location


def rewrite(module: ModuleOp, rows: Iterable[Row], after_change: Callable[[], None] = lambda: None) -> bool:
    """Applies patterns until none matches; removes what is dead on the way. True where anything changed.

    `after_change` is called after each walk of the module but the last, which changes nothing.
    """

    def walked(region: Region, listener: PatternRewriterListener) -> bool:
        if table.has_changed:
            table.has_changed = False
            after_change()
        return False

    table = _Table(rows)
    listener = PatternRewriterListener(operation_insertion_handler=[table.inserted])
    return PatternRewriteWalker(table, listener=listener, post_walk_func=walked).rewrite_module(module)


def insert_before(anchor: Operation, op: Operation, name: str | None = None) -> SSAValue:
    """Puts `op` before `anchor`, with its place in the source, and gives its first result."""
    op.location = anchor.location
    block = anchor.parent
    assert block is not None
    block.insert_op_before(op, anchor)
    op.results[0].name_hint = hint(name)
    return op.results[0]


def copied(op: Copied, copies: dict[SSAValue, SSAValue] | None = None) -> Copied:
    """An operation like another, places in the source and names included, in no block yet; `copies` gets its values."""
    copy = op.clone(copies)
    for old, new in zip(op.walk(), copy.walk(), strict=True):
        new.location = old.location
    return copy


def copy_before(anchor: Operation, value: SSAValue, copies: dict[SSAValue, SSAValue]) -> SSAValue:
    """Computes an integer of dims, parameters and numbers once more, before `anchor`, by what `copies` has of it.

    What stands before it already is not copied.
    """
    op = value.owner
    if value not in copies:
        assert isinstance(op, Operation)
        if op.parent is anchor.parent and op is not anchor and op.is_before_in_block(anchor):
            return value
        for operand in op.operands:
            copy_before(anchor, operand, copies)
        copies[value] = insert_before(anchor, op.clone(copies), value.name_hint)
    return copies[value]


def copy_at(
    value: SSAValue, copies: dict[SSAValue, SSAValue], axis: SSAValue, axes: AxesAnalysis, anchor: Operation
) -> SSAValue:
    """Computes a number at one place of an axis, before `anchor`: once more what varies along it, by what `copies` has.

    `copies` begins with what the axis is there.
    """
    op = value.owner
    if value not in copies:
        if axis not in axes(value) or not isinstance(op, Operation):
            return value
        there = {operand: copy_at(operand, copies, axis, axes, anchor) for operand in op.operands}
        copies[value] = insert_before(anchor, op.clone(there))
    return copies[value]


def terms_before(anchor: Operation, type_: Attribute) -> Terms[SSAValue]:
    """Formulas of a type as operations before `anchor`; each number is made once."""
    known: dict[float, SSAValue] = {}

    def apply(op: type[Operation], *made_of: object) -> SSAValue:
        return insert_before(anchor, op(*made_of))

    def number(value: float) -> SSAValue:
        if value not in known:
            known[value] = insert_before(anchor, constant_op(value, type_))
        return known[value]

    return Terms(apply, number)


def replace(op: Operation, values: Iterable[SSAValue]) -> None:
    """Lets `values` stand for the results of `op`, and removes it."""
    for old, new in zip(op.results, values, strict=True):
        if new.name_hint is None:
            new.name_hint = old.name_hint
        old.replace_all_uses_with(new)
    op.detach()
    op.erase()


def guarded(op: Operation, where: SSAValue | None) -> Operation:
    """A copy of an operation, in no block yet, whose operand `where` is another, or left out."""
    assert isinstance(op, IRDLOperation)
    definition = op.get_irdl_definition()
    operands = [where if name == "where" else getattr(op, name) for name, _ in definition.operands]
    results = [getattr(op, name) for name, _ in definition.results]
    types = [r.type if isinstance(r, SSAValue) else [each.type for each in r] for r in results]
    properties = {name: value for name, value in op.properties.items() if name != "operandSegmentSizes"}
    copy = type(op).build(operands=operands, result_types=types, properties=properties)
    copy.location = op.location
    return copy


def sort_block(block: Block) -> None:
    """Puts definitions before uses, and otherwise leaves the order as it was."""
    order: list[Operation] = []
    state: dict[Operation, bool] = {}
    for root in list(block.ops):
        stack = [root]
        while stack:
            op = stack[-1]
            if state.get(op):
                stack.pop()
                continue
            state[op] = False
            waiting = [
                operand.owner
                for operand in op.operands
                if isinstance(operand.owner, Operation)
                and operand.owner.parent is block
                and not state.get(operand.owner)
            ]
            if waiting:
                assert not any(state.get(other) is False and other in stack for other in waiting), "a cycle"
                stack.extend(waiting)
                continue
            state[op] = True
            order.append(op)
            stack.pop()
    for op in order:
        op.detach()
    block.add_ops(order)


def say(kernel: Operation, statement: type[tile.ValuesOp], values: Iterable[SSAValue]) -> None:
    """Lets a kernel's statements of one kind name these values: one at the end of each block that computes some."""
    for op in operations(kernel):
        if type(op) is statement:
            replace(op, [])
    named: dict[Block, list[SSAValue]] = {}
    for value in values:
        block = value.owner.parent if isinstance(value.owner, Operation) else value.owner
        assert block is not None
        named.setdefault(block, []).append(value)
    for block, found in named.items():
        last = block.last_op
        assert last is not None
        said = statement(found)
        said.location = last.location
        if last.has_trait(IsTerminator):
            block.insert_op_before(said, last)
        else:
            block.insert_op_after(said, last)


def constant(value: SSAValue) -> int | float | bool | None:
    """The number that a value is known to be, or None."""
    owner = value.owner
    # Asked of nearly every value: that of a type's own class is the quickest question.
    return number_in(owner.value) if type(owner) is arith.ConstantOp else None


def uniform(value: SSAValue) -> int | float | bool | None:
    """The number that a value is known to be at every place of its tile, or None."""
    return constant(value.owner.value if isinstance(value.owner, tile.BroadcastOp) else value)


def attribute(value: int | float | bool, type_: Attribute) -> IntegerAttr | FloatAttr:
    """A number as an attribute of a type: index, i1 or floating-point, of which those too large are infinities."""
    if isinstance(type_, AnyFloat):
        try:
            return FloatAttr(float(value), type_)
        except OverflowError:
            return FloatAttr(math.inf if value > 0 else -math.inf, type_)
    assert isinstance(type_, (IndexType, IntegerType))
    return IntegerAttr(int(value), type_)


def constant_op(value: int | float | bool, type_: Attribute) -> arith.ConstantOp:
    """A number as an operation."""
    return arith.ConstantOp(attribute(value, type_))


def number_in(attribute: Attribute) -> int | float | bool:
    """The number in an attribute."""
    if type(attribute) is FloatAttr:
        return attribute.value.data
    assert type(attribute) is IntegerAttr
    return bool(attribute.value.data) if attribute.type == i1 else attribute.value.data


def index_constant(value: int) -> arith.ConstantOp:
    """An integer as an operation."""
    return constant_op(value, index)
