"""Conditions on a row and a key, turned into conditions on the key alone: of some row of a tile, or of every row.

For *some* row a condition is relaxed: true wherever a row of the tile makes it true. For *every* row it is tightened:
false wherever a row makes it false. An analysis of a loop over keys in `tile`. What it computes of rows stands before
the loop, the rest where it is told.
"""

from __future__ import annotations

from collections.abc import Iterator

from attndsl.ir import tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.keys import conjunction
from attndsl.ir.materialise import materialise
from attndsl.ir.meaning import TURNED, predicate
from attndsl.ir.polynomial import Facts, add
from attndsl.ir.rewrite import insert_before
from attndsl.ir.xdsl import Block, Operation, SSAValue, arith, index


def computed_in(loop: tile.LoopOp, *values: SSAValue) -> list[Operation]:
    """What the body of a loop computes for values, in order; the axes that start with the loop's variable left out."""
    body = loop.body.block
    found: set[Operation] = set()
    stack = [value.owner for value in values]
    while stack:
        op = stack.pop()
        if isinstance(op, Operation) and op.parent is body and op not in found and not isinstance(op, tile.RangeOp):
            found.add(op)
            stack.extend(operand.owner for operand in op.operands)
    return [op for op in body.ops if op in found]


class Relaxation:
    """Relaxes conditions in a loop over keys, whose axis is `key`; what it computes of keys stands before `anchor`.

    With `every` it tightens them.
    """

    def __init__(self, loop: tile.LoopOp, key: SSAValue, anchor: Operation, facts: Facts, every: bool = False) -> None:
        self.loop, self.key, self.anchor, self.every = loop, key, anchor, every
        self.facts = facts
        self.axes = AxesAnalysis()
        self.known: dict[SSAValue, SSAValue | None] = {}
        loads = [op for op in loop.body.block.ops if isinstance(op, tile.LoadOp)]
        self.places = set(computed_in(loop, *(place for load in loads for place in load.indices)))

    def of(self, condition: SSAValue) -> SSAValue | None:
        """The condition on the key; None where nothing, or nothing of use, can be said of it."""
        if condition not in self.known:
            self.known[condition] = self._of(condition)
        return self.known[condition]

    def _of(self, condition: SSAValue) -> SSAValue | None:
        if self.rests_on_key(condition):
            return None if self.only_places(condition) else condition
        op = condition.owner
        match op:
            case arith.AndIOp() | arith.OrIOp():
                left, right = map(self.of, op.operands)
                if left is not None and right is not None:
                    return insert_before(self.anchor, type(op)(left, right))
                # To leave out a part of a conjunction relaxes it, one of a disjunction tightens it.
                if isinstance(op, arith.OrIOp) == self.every:
                    return right if left is None else left
            case arith.CmpiOp() if op.lhs.type == index:
                return conjunction(list(self.comparisons(op)), self.anchor)
        return None

    def rests_on_key(self, value: SSAValue) -> bool:
        """Whether a value varies with the key, and no part of it with anything else: it costs next to nothing."""
        ops = computed_in(self.loop, value)
        arguments = {v for op in ops for v in op.operands if isinstance(v.owner, Block)}
        if any(op.regions or isinstance(op, tile.OuterLoopOp) for op in ops) or not arguments.isdisjoint(
            self.loop.body.block.args
        ):
            return False
        return self.axes(value) == {self.key} and all(self.axes(v) <= {self.key} for op in ops for v in op.results)

    def only_places(self, condition: SSAValue) -> bool:
        """Whether a condition reads data, but only such as say where other data are."""
        read = [op for op in computed_in(self.loop, condition) if isinstance(op, tile.LoadOp)]
        return bool(read) and self.places.issuperset(read)

    def comparisons(self, op: arith.CmpiOp) -> Iterator[SSAValue]:
        """What holds of the key where a comparison holds for the rows, brought to the form `rows ? keys`."""
        slack, relation = add(self.facts.of(op.lhs, free=True), self.facts.of(op.rhs, free=True), -1), predicate(op)
        keys = {m: -c for m, c in slack.items() if any(self.key in self.axes(v) for v in m)}
        rows = {m: c for m, c in slack.items() if m not in keys}
        if any(self.loop.is_ancestor(v.owner) for m in rows for v in m):
            return
        if sum(keys.values()) < 0:
            keys, rows, relation = add({}, keys, -1), add({}, rows, -1), TURNED[relation]
        key = materialise(keys, self.anchor)
        if not self.rests_on_key(key):
            return
        row = materialise(rows, self.loop)
        # Some row is at most the key where the least is, and every row where the largest is.
        low, high = (tile.MaxOp, tile.MinOp) if self.every else (tile.MinOp, tile.MaxOp)
        if relation in ("eq", "sle", "slt"):
            at_most = "slt" if relation == "slt" else "sle"
            yield insert_before(self.anchor, arith.CmpiOp(self.over_rows(low, row), key, at_most))
        if relation in ("eq", "sge", "sgt"):
            at_least = "sgt" if relation == "sgt" else "sge"
            yield insert_before(self.anchor, arith.CmpiOp(self.over_rows(high, row), key, at_least))

    def over_rows(self, extreme: type[tile.MinOp | tile.MaxOp], value: SSAValue) -> SSAValue:
        """The least or the largest of the tile's rows."""
        for axis in self.axes(value):
            value = insert_before(self.loop, extreme(value, axis), "least" if extreme is tile.MinOp else "most")
        return value
