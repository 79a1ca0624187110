"""The role that copies: the first tile of keys and queries, each other tile of keys and values of that before it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from attndsl.ir import spec, tile
from attndsl.ir.analyses.boxes import Side
from attndsl.ir.analyses.role_boxes import left_out_of
from attndsl.ir.analyses.role_parts import Box
from attndsl.ir.gathers import GatherOp, StartsOp
from attndsl.ir.keys import conjuncts
from attndsl.ir.meaning import predicate
from attndsl.ir.rewrite import constant
from attndsl.ir.rings import RingOp
from attndsl.ir.roles import CopyOp, ExpectOp, WaitOp
from attndsl.ir.walks import ProgramsOp, TurnsOp
from attndsl.ir.xdsl import Operation, SSAValue, arith
from attndsl.passes.roles.turns import Filled, RolesBuilder


class CopiesBuilder(RolesBuilder, ABC):
    """Writes what the role that copies does for a tile.

    It fills the rings of all that is `copied`, and those of `queries`; `walked` is how many tiles it has walked before.
    Where keys lie in blocks, `latest` is where the last piece of a tile's keys begins, `earliest` the first one if
    tiles may begin before that, and `some` whether there is a key.
    """

    queries: list[RingOp]
    walked: SSAValue
    latest: SSAValue
    earliest: SSAValue | None
    some: SSAValue
    known: SSAValue | None = None

    def _producer(self) -> None:
        """Keys and queries of the first tile; keys of each other and values of that before it; values of the last.

        Keys go first: of queries a stage is empty only when the tile before has had its last turn, of keys long before.
        What is a key and a value goes with keys.
        """
        found, zero = self.found, self._number(0)
        if found.block:
            self._ends_of_pieces()
        first = [*self.fed, *(each for each in self.copied if each.scored)]
        values = [each for each in self.copied if not each.scored]
        if found.rotates:
            self._fill(zero, first)
        else:
            self._fill_turn(zero)
        if self.queries:
            phase = self._query_phase()
            for part in range(found.row_parts):
                rows = self._first_row(part)
                starts = [self._places(box, rows) for box in found.queries]
                self._copy(self.queries, found.queries, starts, rows, self._number(part), phase)
        if not found.rotates:
            turn, done = self._turns([])
            self._fill_turn(turn)
            done([])
            return
        self._fill_beside(zero)
        if not first and not values and not self.copied_beside:
            return
        turn, done = self._turns([])
        self._fill(turn, first)
        self._fill_beside(turn)
        if not values:
            done([])
            return
        before = self._value(arith.SubiOp(turn, self._number(1)), "before")
        self._fill(before, values)
        done([])
        last = self._value(arith.SubiOp(self.visits, self._number(1)), "last")
        self._fill(last, values)

    def _fill(self, turn: SSAValue, filled: Sequence[Filled[RingOp, Box]]) -> SSAValue | None:
        """Copies some of what a turn takes, into a stage that it gives; nothing into none."""
        if not filled:
            return None
        first = self._begin(turn)
        stage, phase = self._turn(turn, filled[0].rings[0])
        outer, fitted = dict(self.copies), dict(self.fitted)
        if self.found.block and self.found.piece == self.found.tile_keys:
            self._known(first)
        places = [[self._places(box, first) for box in each.tiles] for each in filled]
        for each, starts in zip(filled, places, strict=True):
            self._copy(each.rings, each.tiles, starts, first, stage, phase)
        self.copies, self.fitted = outer, fitted
        return stage

    @abstractmethod
    def _fill_turn(self, turn: SSAValue) -> None:
        """All that a turn of several scores takes."""

    def _fill_beside(self, turn: SSAValue) -> None:
        """Copies what a turn takes beside keys and values, for each consumer by itself."""
        for filled in self.copied_beside:
            first = self._begin(turn)
            for n in range(self.found.row_parts):
                stage, phase = self._own_turn(turn, self._number(n), filled.rings[0])
                rows = self._first_row(n)
                starts = [
                    [
                        self._fitting(self._start(side, rows if at == box.along else first))
                        for at, side in enumerate(box.sides)
                    ]
                    for box in filled.tiles
                ]
                self._copy(filled.rings, filled.tiles, starts, first, stage, phase)

    def _first_row(self, part: int) -> SSAValue:
        """The first row of a consumer."""
        rows = self.copies[self.found.rows.result]
        if part == 0:
            return rows
        first = self._value(arith.AddiOp(rows, self._number(part * self.found.part_rows)))
        self.non_negative.append(first)
        return first

    def _query_phase(self) -> SSAValue:
        """The phase of a tile's queries: each consumer has a stage of its own, which is used once a tile."""
        return self._use(self.walked, 1, self.queries[0].tensor.string_value())[1]

    def _places(self, box: Box, first: SSAValue) -> list[SSAValue] | None:
        """Where a box begins whose axis does at `first`; None where its keys lie apart.

        What data say of that is read before a stage is waited for: to read it takes as long as to copy a box.
        """
        self.place = box.load.location
        if not box.block:
            starts = self._corner(box, first)
            asked = box in self.found.fed or box in self.found.queries
            return [self._fitting(start) for start in starts] if asked else starts
        if self.found.piece < self.found.tile_keys:
            return None
        return [self._fitting(self._start(side, None)) for side in box.sides]

    def _copy(
        self,
        rings: Sequence[RingOp],
        boxes: Sequence[Box],
        starts: Sequence[list[SSAValue] | None],
        first: SSAValue,
        stage: SSAValue,
        phase: SSAValue,
    ) -> None:
        """Fills a stage with the tile whose axis begins at `first`, once it is empty, all its boxes at once."""
        name = rings[0].sym_name.data
        self.place = boxes[0].load.location
        free = self._value(arith.SubiOp(self._number(1), phase))
        self._add(WaitOp("empty", name, stage, free))
        self._add(ExpectOp(name, stage, sum(ring.bytes for ring in rings)))
        for ring, box, start in zip(rings, boxes, starts, strict=True):
            self.place = box.load.location
            if start is None:
                self._gather(ring, box, first, stage)
            else:
                self._add(CopyOp(ring.sym_name.data, stage, start))

    def _ends_of_pieces(self) -> None:
        """Where the last piece of a tile's keys begins, and the first one: pieces outside of these are copies of them.

        What says where a piece lies need not be there beyond the last key, and what is there before the first one of a
        tile that begins before its keys may have been left since.
        """
        last, piece = self.found.folded, self._number(self.found.piece)
        end, left_out = self.copies[last.ub], left_out_of(last)
        if left_out is not None:
            end = self._value(arith.AddiOp(end, self.copies[left_out]))
        reached = self._value(
            arith.AddiOp(self._value(arith.MaxSIOp(end, self._number(0))), self._number(self.found.piece - 1))
        )
        count = self._value(arith.FloorDivSIOp(reached, piece))
        pieces = self._value(TurnsOp(count), "pieces")
        before = self._value(arith.SubiOp(pieces, self._number(1)))
        self.latest = self._value(arith.MuliOp(before, piece), "latest")
        self.some = self._value(arith.CmpiOp(self.total, self._number(0), "sgt"), "some")
        first = _begins_before(last if left_out is not None else self.found.loops[0])
        self.earliest = None
        if first is not None:
            whole = self._value(arith.FloorDivSIOp(self.copies[first], piece))
            self.earliest = self._value(arith.MuliOp(whole, piece), "earliest")
        self.non_negative += [reached, count, pieces, before, self.latest]

    def _gather(self, ring: RingOp, box: Box, first: SSAValue, stage: SSAValue) -> None:
        """Fills a stage with a tile whose keys lie apart, piece by piece."""
        axis = self.found.folded.axis
        assert axis is not None
        gather = GatherOp(ring.sym_name.data, stage, first)
        self._add(gather)
        outer, copies, fitted, self.block = self.block, dict(self.copies), dict(self.fitted), gather.starts.block
        key = self.block.args[0]
        key.name_hint = f"{axis.variable.data}_next"
        self.non_negative.append(key)
        self._known(key)
        self._add(StartsOp([self._fitting(self._start(side, None)) for side in box.sides]))
        self.block, self.copies, self.fitted = outer, copies, fitted

    def _known(self, key: SSAValue) -> None:
        """Lets the axis of keys begin at a key, or at the nearest one of whose place data tell."""
        axis = self.found.folded.axis
        assert axis is not None
        self.known = self._value(arith.MinSIOp(key, self.latest), axis.variable.data)
        if self.earliest is not None:
            self.known = self._value(arith.MaxSIOp(self.known, self.earliest), axis.variable.data)
        self.copies |= dict.fromkeys((axis.start, axis.result), self.known)
        self.non_negative.append(self.known)

    def _fitting(self, start: SSAValue) -> SSAValue:
        """Where a piece begins, in 32 bits, as places of boxes are: what lies outside of a tensor stays there.

        A key whose place is known fits, and so does what is computed of that and of no data.
        """
        waiting, read = [start], False
        while waiting and not read:
            op = (value := waiting.pop()).owner
            if value is not self.known and isinstance(op, Operation) and not isinstance(op, ProgramsOp):
                read = isinstance(op, tile.LoadOp)
                waiting += op.operands
        if not read:
            return start
        if start not in self.fitted:
            longest = max(self.found.piece, self.found.part_rows)
            least = self._value(arith.MaxSIOp(start, self._number(-longest)))
            self.fitted[start] = self._value(arith.MinSIOp(least, self._number(2**31 - 1)))
        return self.fitted[start]

    def _corner(self, box: Box, first: SSAValue) -> list[SSAValue]:
        """Where a box begins along each axis of its tensor, whose keys, or rows, begin at `first`."""
        if box.heads is None:
            return [self._start(side, first if n == box.along else None) for n, side in enumerate(box.sides)]
        pack = self.copies[box.heads.pack]
        place, head = self._value(arith.FloorDivSIOp(first, pack)), self._value(spec.ModOp(first, pack))
        self.non_negative += [place, head]
        self.short += [place, head]
        starts = list[SSAValue]()
        for n, side in enumerate(box.sides):
            if n == box.heads.across:
                starts.append(self._value(arith.AddiOp(self._start(side, None), head)))
            elif n == box.along:
                before = {value: count for value, count in side.start.items() if value is not side.axis}
                added = self._start(Side(before, None), None) if before else None
                starts.append(place if added is None else self._value(arith.AddiOp(added, place)))
            else:
                starts.append(self._start(side, None))
        return starts

    def _start(self, side: Side, first: SSAValue | None) -> SSAValue:
        """Where a side of a box begins, whose axis begins at `first` if that is given, and else where it does."""
        axis = None if side.axis is None else side.axis.owner
        known, terms = 0, list[SSAValue]()
        for value, count in side.start.items():
            own = first if first is not None and isinstance(axis, tile.RangeOp) and value is axis.start else None
            own = self._index(value) if own is None else own
            if len(side.start) == count == 1:
                return own
            if (number := constant(own)) is not None:
                known += int(number) * count
            else:
                terms.append(own if count == 1 else self._value(arith.MuliOp(own, self._number(count))))
        if known or not terms:
            terms.append(self._number(known))
        total, *rest = terms
        for term in rest:
            total = self._value(arith.AddiOp(total, term))
        return total

    def _index(self, value: SSAValue) -> SSAValue:
        """An index that is the same for a whole tile, in the role that is written."""
        if value not in self.copies:
            op = value.owner
            assert isinstance(op, Operation)
            for operand in op.indices if isinstance(op, tile.LoadOp) else op.operands:
                self._index(operand)
            if isinstance(op, tile.LoadOp):
                self._read(op)
            else:
                self._clone(op)
        return self.copies[value]

    def _read(self, load: tile.LoadOp) -> None:
        """Reads what says where keys lie, which need not be there where there is no key."""
        where = self.some
        for condition in conjuncts(load.where):
            if not self._is_before_end(condition):
                where = self._value(arith.AndIOp(where, self._index(condition)))
        indices = [self.copies[index] for index in load.indices]
        self._stands(load.result, self._value(tile.LoadOp(load.tensor, indices, where, load.result.type)))

    def _is_before_end(self, condition: SSAValue) -> bool:
        """Whether a condition is that a key lies before the last one's end: no piece begins behind it."""
        test, loop = condition.owner, self.found.folded
        if not isinstance(test, arith.CmpiOp) or predicate(test) != "sgt" or loop.axis is None:
            return False
        end = test.lhs.owner.lhs if isinstance(test.lhs.owner, arith.MaxSIOp) else test.lhs
        return end is loop.ub and test.rhs is loop.axis.result


def _begins_before(loop: tile.LoopOp) -> SSAValue | None:
    """The first key of a loop that begins at the last multiple of its tiles before that; None of others."""
    whole = loop.lb.owner
    tiles = whole.lhs.owner if isinstance(whole, arith.MuliOp) and whole.rhs is loop.step else None
    return tiles.lhs if isinstance(tiles, arith.FloorDivSIOp) and tiles.rhs is loop.step else None
