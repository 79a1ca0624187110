"""What follows the loops of a role: sums that are right are stored, or else their tile is computed again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from attndsl.ir import tile
from attndsl.ir.analyses.role_boxes import Put
from attndsl.ir.analyses.role_parts import Roled
from attndsl.ir.analyses.role_shares import goes_on, states_of
from attndsl.ir.rewrite import constant
from attndsl.ir.rings import OutboxOp
from attndsl.ir.roles import PutOp
from attndsl.ir.statements import operations
from attndsl.ir.walks import RunOp, TaskOp
from attndsl.ir.xdsl import Block, Operation, Region, SSAValue, arith, scf
from attndsl.passes.roles.shares import Carried, SharesBuilder
from attndsl.passes.roles.turns import is_read

AGAIN = "again"
"""The task of computing a tile again, key by key, where some sum of it is not finite."""


class EndingsBuilder(SharesBuilder, ABC):
    """Writes what a role does after its loops, with tile `number`, and rows that begin at `own`."""

    again: scf.IfOp | None
    number: SSAValue
    part: SSAValue
    own: SSAValue
    outboxes: dict[tile.StoreOp, tuple[Put, OutboxOp]]

    def _finish(self, state: Carried) -> None:
        """What follows the loops; a program whose rows see no key goes on with what they began with.

        So it does with sums that are another's: nothing rests on them that is stored.
        """
        mine = self._mine()
        some = self._value(arith.CmpiOp(self.total, self._number(0), "sgt"), "some") if self._forgets() else None
        for n, (result, value, start) in enumerate(zip(self.found.folded.results, state, self.started, strict=True)):
            chosen = value if n in mine else start
            if some is not None and n in mine:
                chosen = self._value(arith.SelectOp(some, value, start), result.name_hint)
            self.copies[self.found.folded.results[n]] = chosen
        if self.again is None:
            self._end(self.after)
            return
        at = self.after.index(self.again)
        self._end(self.after[:at])
        outer, kept, right, wrong = self.block, dict(self.copies), Block(), Block()
        self.block = right
        self._stands_for(self.again, self.again.true_region.block)
        self._end(self.after[at + 1 :], finite=True)
        self._add(scf.YieldOp())
        self.place, self.block = self.again.location, wrong
        self._add(RunOp(AGAIN, self.number))
        self._add(scf.YieldOp())
        self.block, self.copies = outer, kept
        self._add(scf.IfOp(self.copies[self.again.cond], [], Region(right), Region(wrong)))

    def _forgets(self) -> bool:
        """Whether a program whose rows see no key has to leave what it made of its one tile.

        Not where a mixed tile gives keys behind the last one no weight: one of these alone changes nothing, but for
        NaN, which is looked for. On an H200 the sums of keys and values took 0.97 of the time without the choice.
        """
        loops = self.found.loops
        return self.again is None or len(loops) == 1 or any(map(is_read, loops))

    def _end(self, ops: Sequence[Operation], finite: bool = False) -> None:
        """What follows the loops, but for stores and tests of another's sums; where all sums are known to be finite."""
        for op in ops:
            self.place = op.location
            if isinstance(op, tile.StoreOp) and self.stores[op] != self.share:
                continue
            if self._tests(op) and len(mine := [v for v in op.operands if self._is_mine(v)]) == 1:
                self._stands(op.results[0], self.copies[mine[0]])
                continue
            if finite and isinstance(op, arith.SelectOp) and (factor := self._factor_of(op)) is not None:
                self._choose_factor(op, factor)
            elif isinstance(op, tile.StoreOp) and op in self.outboxes:
                self._put(op, *self.outboxes[op])
            else:
                self._clone(op)

    def _factor_of(self, op: arith.SelectOp) -> SSAValue | None:
        """The factor of a sum that is chosen unless its row has no weights, where it is one of the row alone."""
        product, sums = op.rhs.owner, [self.copies[each] for each in self.found.folded.results]
        if not isinstance(product, arith.MulfOp) or constant(op.lhs) != 0 or self.copies.get(product.lhs) not in sums:
            return None
        return product.rhs if self.axes(product.rhs) | self.axes(op.cond) < self.axes(op.result) else None

    def _choose_factor(self, op: arith.SelectOp, factor: SSAValue) -> None:
        """Chooses 0 for a factor, and not for each product with it: a sum that is finite is 0 with that, too.

        On an H200 windows and documents took 0.99 of the time, causal heads 0.99 to 1.00.
        """
        product = op.rhs.owner
        assert isinstance(product, arith.MulfOp)
        chosen = self._value(arith.SelectOp(self.copies[op.cond], self.copies[op.lhs], self.copies[factor]))
        self._stands(op.result, self._value(arith.MulfOp(self.copies[product.lhs], chosen)))

    def _tests(self, op: Operation) -> bool:
        """Whether an operation adds up what is NaN where some sum is not finite, of which each role tests its own."""
        return self.again is not None and isinstance(op, arith.AddfOp) and self._leads_to(op, self.again.cond)

    def _is_mine(self, value: SSAValue) -> bool:
        """Whether a value rests on no sums, or on some that the role has."""
        rests = states_of([value], self.found)
        return not rests or not rests.isdisjoint(self._mine())

    def _stands_for(self, choice: scf.IfOp, branch: Block) -> None:
        """One branch of a choice, in its place."""
        for op in branch.ops:
            if not isinstance(op, scf.YieldOp):
                self._clone(op)
        assert branch.last_op is not None
        for result, value in zip(choice.results, branch.last_op.operands, strict=True):
            self._stands(result, self.copies[value])

    def _again(self, part: SSAValue) -> None:
        """What is done for a tile whose rows met NaN, of which nothing is stored: it is computed again, key by key.

        Beside the sums of the loop it would have no registers, and cost time though it is hardly ever done: with a
        function of its own, latent attention took 0.80 to 0.97 of the time on an H200, windows, softcap and ALiBi 0.92
        to 0.96, causal heads 0.95 to 1.04.
        """
        assert self.again is not None
        outer, kept, task = self.block, dict(self.copies), TaskOp(AGAIN)
        self._add(task)
        self.block = task.body.block
        self.block.args[0].name_hint = "number"
        self._tile(self.block.args[0])
        self._rows(part)
        before = self.after[: self.after.index(self.again)]
        for op in _without(self.found.folded.results, self.after, self.again):
            self.place = op.location
            if op is self.again:
                self._stands_for(self.again, self.again.false_region.block)
            elif not isinstance(op, tile.StoreOp) or (op not in before and self.stores[op] == self.share):
                self._clone(op)
        self.place = self.found.folded.location
        self.block, self.copies = outer, kept

    def _put(self, store: tile.StoreOp, put: Put, outbox: OutboxOp) -> None:
        """Leaves what is stored to be copied: each consumer has a stage of its own."""
        start, most = [self._fitting(place) for place in self._corner(put.box, self.own)], None
        axes = [self.copies[self.found.row_axis.result], self.copies[put.box.features]]
        if put.end is not None:
            there = self._value(arith.SubiOp(self.copies[put.end.row], self.own))
            rows = self._value(arith.MinSIOp(there, self._number(self.found.part_rows)))
            most = rows, self.copies[put.end.place]
        self._add(PutOp(outbox.sym_name.data, self.part, self.copies[store.value], axes, start, most=most))

    @abstractmethod
    def _tile(self, number: SSAValue) -> None:
        """What rests on which tile it is, of all that rows and keys share."""


def slow_of(found: Roled, after: Sequence[Operation]) -> scf.IfOp | None:
    """The choice to compute a tile again, key by key, where that may be done instead of all that rests on its sums.

    None where something beside it rests on what it is made of.
    """
    choices = [op for op in after if isinstance(op, scf.IfOp)]
    if len(choices) != 1 or not goes_on(choices[0]):
        return None
    left = _without(found.folded.results, after, choices[0])
    stored = sum(isinstance(op, tile.StoreOp) for op in left)
    return choices[0] if stored == sum(isinstance(op, tile.StoreOp) for op in after) else None


def _without(results: Sequence[SSAValue], after: Sequence[Operation], slow: scf.IfOp) -> list[Operation]:
    """What follows a loop, without all that rests on its results but through a choice."""
    rests, kept = set(results), list[Operation]()
    for op in after:
        if op is slow or rests.isdisjoint(value for each in (op, *operations(op)) for value in each.operands):
            kept.append(op)
        else:
            rests.update(op.results)
    return kept
