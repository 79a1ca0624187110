"""Whether the turn over a full tile of keys is that over a mixed one, but for its masks; and which those are."""

from __future__ import annotations

from dataclasses import dataclass, field

from attndsl.ir import tile
from attndsl.ir.analyses.role_parts import NoRoles, Roled
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.keys import conjuncts
from attndsl.ir.xdsl import Block, Operation, SSAValue, arith


@dataclass
class FullAndMixed:
    """Holds that a turn over a full tile is one over a mixed tile without its masks, and finds these."""

    full: tile.LoopOp
    mixed: tile.LoopOp
    found: Roled
    axes: AxesAnalysis
    masks: list[Operation] = field(default_factory=list)
    known: dict[SSAValue, SSAValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.boxes = {box.load for box in self.found.boxes}
        self.moving = {box.load for box in self.found.boxes if box.block}

    def hold(self) -> None:
        """Raises NoRoles where it is not so."""
        full, mixed = self.full.body.block, self.mixed.body.block
        assert self.full.axis is not None and self.mixed.axis is not None
        # A full tile may carry more: what says where the keys of the next one lie.
        self.known.update(zip(mixed.args[1:], full.args[1:], strict=False))
        self.known[self.mixed.axis.start] = self.full.axis.start
        self.known[self.mixed.axis.result] = self.full.axis.result
        outer, its = self.mixed.outer, self.full.outer
        if (outer and outer.extent) is not (its and its.extent):
            raise NoRoles("full tiles are walked in another nest of loops than mixed ones")
        if outer is not None and its is not None:
            self.known[outer.result] = its.result
        pairs = zip(self.mixed.end.values, self.full.end.values, strict=False)
        if not all(self._same(value, other) for value, other in pairs) or not self._adds_alike():
            raise NoRoles("a mixed tile is folded in another way than a full one, and not only masked")

    def _adds_alike(self) -> bool:
        """Whether both add up the same, and in the same places."""
        mixed, full = (
            [op for op in loop.body.block.ops if isinstance(op, tile.StoreOp)] for loop in (self.mixed, self.full)
        )
        if [op.tensor for op in mixed] != [op.tensor for op in full]:
            return False
        mine, others = ([value for op in ops for value in (op.value, *op.indices)] for ops in (mixed, full))
        return all(map(self._same, mine, others))

    def tested(self) -> list[Operation]:
        """The operations of a turn over a mixed tile that only masks need."""
        needed: set[Operation | Block] = {self.mixed.axis, self.mixed.end}  # type: ignore[arg-type]
        needed.update([] if self.mixed.outer is None else [self.mixed.outer])
        needed.update(each.store for each in self.found.adding)
        waiting = [value.owner for op in (self.mixed.axis, self.mixed.end) if op for value in op.operands]
        waiting += [each.dot for each in self.found.adding]
        while waiting:
            op = waiting.pop()
            if isinstance(op, Operation) and op not in needed and op.parent is self.mixed.body.block:
                needed.add(op)
                operands = op.indices if isinstance(op, tile.LoadOp) and op in self.boxes else op.operands
                waiting += [value.owner for n, value in enumerate(operands) if n or op not in self.masks]
        return [op for op in self.mixed.body.block.ops if op not in needed]

    def _same(self, value: SSAValue, other: SSAValue) -> bool:
        """Whether a value of a mixed turn is that of a full one, but for masks."""
        other = self._bare(other)
        if value in self.known:
            return self.known[value] is other
        op, its = value.owner, other.owner
        if isinstance(op, Block) or op.parent is not self.mixed.body.block:
            return value is other
        before = dict(self.known), list(self.masks)
        if type(op) is type(its) and isinstance(its, Operation) and self._equal(op, its):
            self.known[value] = other
            return True
        self.known, self.masks = before
        # A mask is a choice between two values, of which that which is kept has all of its axes.
        widens = isinstance(op, arith.SelectOp) and self.axes(op.lhs) != self.axes(op.result)
        if isinstance(op, arith.SelectOp) and not widens and self._same(op.lhs, other):
            self.masks.append(op)
            self.known[value] = other
            return True
        # That a key lies in the tile is asked together with what a full tile asks for, too.
        if isinstance(op, arith.AndIOp) and any(self._same(operand, other) for operand in op.operands):
            self.known[value] = other
            return True
        return False

    def _bare(self, value: SSAValue) -> SSAValue:
        """What a value is for keys that are there, whose values lie in their tensor."""
        while isinstance(op := value.owner, arith.SelectOp) and not self.found.asked(op.cond):
            value = op.lhs
        return value

    def _equal(self, op: Operation, its: Operation) -> bool:
        if isinstance(op, tile.LoadOp) and isinstance(its, tile.LoadOp) and op in self.moving:
            return op.tensor == its.tensor  # of the keys of a tile, wherever those lie
        if isinstance(op, tile.LoadOp) and isinstance(its, tile.LoadOp) and op in self.boxes:
            pairs = list(zip(op.indices, its.indices, strict=True))
            assert self.mixed.axis is not None
            key = self.mixed.axis.result
            features = {each for each in conjuncts(op.where) if key not in self.axes(each)}
            alike = op.tensor == its.tensor and features == set(conjuncts(its.where))
            return alike and all(self._same(*pair) for pair in pairs)
        if isinstance(op, tile.LoadOp) and isinstance(its, tile.LoadOp):
            # What a full tile asks for is asked of a mixed one, too.
            alike = op.tensor == its.tensor and all(map(self._same, op.indices, its.indices))
            asked, left = list(conjuncts(op.where)), list(conjuncts(its.where))
            found = [next((each for each in asked if self._same(each, other)), None) for other in left]
            if alike and None not in found:
                self.found.asked_of_full[op] = [each for each in asked if each in found]
            return alike and None not in found
        alike = op.properties == its.properties and len(op.operands) == len(its.operands)
        return alike and not op.regions and all(map(self._same, op.operands, its.operands))
