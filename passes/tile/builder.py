"""Building `tile` operations: where they come from, the axes they get, and the small compositions that recur."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from attndsl.ir import spec, tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.hints import hint
from attndsl.ir.rewrite import constant_op
from attndsl.ir.streams import Terms
from attndsl.ir.xdsl import Attribute, Block, LocationAttr, Operation, SSAValue, UnknownLoc, arith, index


@dataclass(frozen=True)
class TileBuilder:
    """Adds operations to blocks of one kernel, whose own block is `outermost`; `location` is where they come from."""

    outermost: Block
    location: LocationAttr = field(default_factory=UnknownLoc)
    axes: AxesAnalysis = field(default_factory=AxesAnalysis)
    _constants: dict[tuple[Attribute, float], SSAValue] = field(default_factory=dict)
    _choices: dict[str, SSAValue] = field(default_factory=dict)

    def of(self, op: Operation) -> TileBuilder:
        """The same builder, for what is made of another operation of the source."""
        return replace(self, location=op.location)

    def place(self, op: Operation, block: Block) -> None:
        """Puts an operation at the end of a block."""
        op.location = self.location
        block.add_op(op)

    def add(self, op: Operation, block: Block, name: str | None = None) -> SSAValue:
        """Puts an operation at the end of a block, and gives its first result."""
        self.place(op, block)
        op.results[0].name_hint = hint(name)
        return op.results[0]

    def constant(self, value: float, type_: Attribute) -> SSAValue:
        """A number, made once, in the outermost block."""
        if (type_, value) not in self._constants:
            self._constants[type_, value] = self.add(constant_op(value, type_), self.outermost)
        return self._constants[type_, value]

    def terms(self, block: Block, type_: Attribute) -> Terms[SSAValue]:
        """Formulas of a type, as operations at the end of a block."""
        return Terms(lambda op, *made_of: self.add(op(*made_of), block), lambda value: self.constant(value, type_))

    def number(self, value: int) -> SSAValue:
        """An integer."""
        return self.constant(value, index)

    def size(self, known: int, choice: str) -> SSAValue:
        """A size of tiles: a number, or, where that is 0, what a launch chooses."""
        if known:
            return self.number(known)
        if choice not in self._choices:
            self._choices[choice] = self.add(spec.ChoiceOp(choice), self.outermost, choice)
        return self._choices[choice]

    def along(self, value: SSAValue, axis: SSAValue, block: Block) -> SSAValue:
        """The value, broadcast along an axis where it does not vary along it."""
        return value if axis in self.axes(value) else self.add(tile.BroadcastOp(value, [axis]), block)

    def product(self, factors: Iterable[SSAValue], block: Block) -> SSAValue | None:
        """The product of floating-point values, None where there are none."""
        result: SSAValue | None = None
        for factor in factors:
            result = factor if result is None else self.add(arith.MulfOp(result, factor), block)
        return result

    def conjunction(self, conditions: Iterable[SSAValue], block: Block) -> SSAValue | None:
        """The condition that all hold, None where there are none."""
        result: SSAValue | None = None
        for condition in conditions:
            result = condition if result is None else self.add(arith.AndIOp(result, condition), block)
        return result

    def select(self, where: Iterable[SSAValue], value: SSAValue, block: Block, otherwise: float = 0.0) -> SSAValue:
        """The value where all conditions hold, `otherwise` elsewhere."""
        condition = self.conjunction(where, block)
        if condition is None:
            return value
        other = self.constant(otherwise, value.type)
        return self.add(arith.SelectOp(condition, value, other), block, value.name_hint)

    def loop_block(self, starts: Sequence[SSAValue]) -> Block:
        """The body, still empty, of a loop that carries what it starts from."""
        block = Block(arg_types=[index, *(start.type for start in starts)])
        self.axes.know(block.args[0], frozenset())
        for argument, start in zip(block.args[1:], starts, strict=True):
            self.axes.know(argument, self.axes(start))
            argument.name_hint = start.name_hint
        return block


def order_of(axis: SSAValue) -> int:
    """The place of an axis among the operations of its block."""
    assert isinstance(axis.owner, Operation)
    block = axis.owner.parent
    assert block is not None
    return block.get_operation_index(axis.owner)
