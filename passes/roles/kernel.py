"""A kernel whose warps have roles: what stands before them, the role that copies, and those that fold.

The turn of those that fold is that of the plain kernel, rotated. Of its body, scores are one product, S is all from
them to weights, and sums are the other product. The first tile has scores and S, each other tile scores, then the sums
of the tile before, which run on under its S, and at the end stand the sums of the last tile.
"""

from __future__ import annotations

from collections.abc import Sequence

from attndsl.ir import spec, tile
from attndsl.ir.analyses.roled import Box, Multiplied
from attndsl.ir.rewrite import constant
from attndsl.ir.roles import (
    AwaitOp,
    ConsumersOp,
    CopyOp,
    ExpectOp,
    OperandOp,
    ProducerOp,
    ProductOp,
    ReleaseOp,
    RingOp,
    ViewOp,
    WaitOp,
)
from attndsl.ir.xdsl import Block, Operation, Region, SSAValue, arith, scf
from attndsl.passes.roles.turns import RolesBuilder

PRODUCER_REGISTERS, CONSUMER_REGISTERS = 24, 240
"""A thread's: two groups of consumers leave the one warp that copies as few as there can be."""

Carried = list[SSAValue]


class RolesKernel(RolesBuilder):
    """Writes the kernel."""

    def write(self) -> None:
        """The kernel's body."""
        found, last = self.found, self.found.folded
        before, after = self._around()
        rowwise = [op for op in before if not self._is_shared(op)]
        for op in before:
            if self._is_shared(op):
                self._shared(op)
        self.place = last.location
        self._visits()
        self.rings = self._rings(found.scoring), self._rings(found.summing)
        first = self.copies[found.rows.result]
        producer, outer = ProducerOp(PRODUCER_REGISTERS), self.block
        self._add(producer)
        self.block = producer.body.block
        kept = dict(self.copies)
        self._producer()
        self.copies, self.block = kept, outer
        consumers = ConsumersOp(found.consumers, CONSUMER_REGISTERS, first, found.part_rows)
        self._add(consumers)
        self.block = consumers.body.block
        self._consumers(first, rowwise, after)
        self._say()

    def _around(self) -> tuple[list[Operation], list[Operation]]:
        """The operations before and after the loops."""
        ops = [op for op in self.plain.body.block.ops if not isinstance(op, tile.STATEMENTS)]
        loops = [n for n, op in enumerate(ops) if op in self.found.loops]
        between = [op for op in ops[loops[0] : loops[-1]] if op not in self.found.loops]
        return [*ops[: loops[0]], *between], ops[loops[-1] + 1 :]

    def _is_shared(self, op: Operation) -> bool:
        """Whether an operation computes what is the same for all rows and keys of a program."""
        return not any(self.axes(result) for result in op.results)

    def _shared(self, op: Operation) -> None:
        if isinstance(op, spec.ChoiceOp):
            sizes = {self.found.rows.step: self.found.tile_rows, self.found.folded.step: self.found.tile_keys}
            self.copies[op.result] = self._number(sizes[op.result])
            return
        self._clone(op)

    def _producer(self) -> None:
        """Keys of the first tile; keys of each other and values of that before it; values of the last one."""
        keys, values = self.rings
        zero = self._number(0)
        self._copy(keys, self.found.scoring, zero, zero, zero)
        turn, done = self._turns([])
        self._copy(keys, self.found.scoring, turn, *self._turn(turn, keys[0]))
        before = self._value(arith.SubiOp(turn, self._number(1)), "before")
        self._copy(values, self.found.summing, before, *self._turn(before, values[0]))
        done([])
        last = self._value(arith.SubiOp(self.visits, self._number(1)), "last")
        self._copy(values, self.found.summing, last, *self._turn(last, values[0]))

    def _copy(
        self, rings: list[RingOp], products: Sequence[Multiplied], turn: SSAValue, stage: SSAValue, phase: SSAValue
    ) -> None:
        """Fills a stage with the tile of a turn, once it is empty, all its boxes at once."""
        name = rings[0].sym_name.data
        self.place = products[0].box.load.location
        one = self._number(1)
        self._add(WaitOp("empty", name, stage, one if constant(phase) == 0 else self._value(arith.SubiOp(one, phase))))
        self._add(ExpectOp(name, stage, sum(ring.bytes for ring in rings)))
        keys = self._begin(turn)
        for ring, box in zip(rings, (product.box for product in products), strict=True):
            self.place = box.load.location
            others = list(enumerate(box.load.indices))[:-1]
            start = [keys if n == box.keys_along else self._index(value) for n, value in others]
            self._add(CopyOp(ring.sym_name.data, stage, [*start, self._first(box)]))

    def _first(self, box: Box) -> SSAValue:
        """The first of the features of a box."""
        first = self._number(box.first)
        for value, count in box.moved:
            way = self._index(value)
            if count != 1:
                way = self._value(arith.MuliOp(way, self._number(count)))
            first = way if constant(first) == 0 else self._value(arith.AddiOp(first, way))
        return first

    def _index(self, value: SSAValue) -> SSAValue:
        """An index that is the same for a whole tile, in the role that is written."""
        if value not in self.copies:
            assert isinstance(value.owner, Operation)
            for operand in value.owner.operands:
                self._index(operand)
            self._clone(value.owner)
        return self.copies[value]

    def _consumers(self, first: SSAValue, rowwise: list[Operation], after: list[Operation]) -> None:
        own = self.block.args[0]
        own.name_hint = "first"
        for op in rowwise:
            self.place = op.location
            if op is self.found.row_axis:
                self._row_axis(self.found.row_axis, own)
            elif isinstance(op, tile.PlaceOp) and self.found.row_axis.result in op.axes:
                # How far an axis is from its start is less for a role that starts further down.
                shared = {self.copies[value]: count for value, count in op.counted.items()}
                shared |= {own: shared.get(own, 0) + 1, first: shared.get(first, 0) - 1}
                shared = {value: count for value, count in shared.items() if count}
                axes, near = ([self.copies[value] for value in values] for values in (op.axes, op.near))
                self._stands(op.result, self._value(tile.PlaceOp(shared, axes, near)))
            else:
                self._clone(op)
        self.started = [self.copies[value] for value in self.found.loops[0].iter_args]
        zero = self._number(0)
        keys = self._number(self.found.tile_keys)
        self.places = self._value(tile.RangeOp("place", zero, keys, keys), "place")
        self.queries = [self._queries(product) for product in self.found.scoring]
        pending, view = self._score(zero, zero, zero)
        scores = self._value(AwaitOp(pending, 0), "scores")
        self._release(view)
        carried, weights = self._fold(zero, scores, self.started)
        self._scale(carried)
        turn, done = self._turns([*carried, self._weights(weights)])
        state: Carried = list(self.block.args[1:])
        weights = state.pop()
        pending, view = self._score(turn, *self._turn(turn, self.rings[0][0]))
        before = self._value(arith.SubiOp(turn, self._number(1)), "before")
        sums, values = self._weigh(before, weights, state)
        scores = self._value(AwaitOp(pending, len(sums)), "scores")
        self._release(view)
        state, weights = self._fold(turn, scores, state)
        self._await(sums, state)
        self._release(values)
        self._scale(state)
        *state, weights = done([*state, self._weights(weights)])
        last = self._value(arith.SubiOp(self.visits, self._number(1)), "last")
        sums, values = self._weigh(last, weights, state)
        self._await(sums, state)
        self._release(values)
        self._finish(state, after)

    def _queries(self, product: Multiplied) -> SSAValue:
        """The queries that a product of scores takes."""
        rounded, left = product.dot.rounded, product.left
        assert rounded is not None
        return self._value(OperandOp(self.copies[left], rounded.data, shared=True), left.name_hint)

    def _row_axis(self, axis: tile.RangeOp, first: SSAValue) -> None:
        rows = self._number(self.found.part_rows)
        end = self._value(arith.AddiOp(first, rows), f"{axis.variable.data}_end")
        self._stands(axis.result, self._value(tile.RangeOp(axis.variable.data, first, end, rows)))

    def _score(self, turn: SSAValue, stage: SSAValue, phase: SSAValue) -> tuple[SSAValue, ViewOp]:
        """Begins the products of queries with a tile of keys, whose axis stands for that of keys from then on."""
        axis = self.found.folded.axis
        assert axis is not None
        self.place = self.found.scoring[0].dot.location
        first = self._begin(turn)
        keys = self._number(self.found.tile_keys)
        end = self._value(arith.AddiOp(first, keys), f"{axis.variable.data}_end")
        self._stands(axis.start, first)
        self._stands(axis.result, self._value(tile.RangeOp(axis.variable.data, first, end, keys)))
        key = self.copies[axis.result]
        views = self._views(self.rings[0], self.found.scoring, stage, phase, key)
        pending: SSAValue | None = None
        for queries, product, view in zip(self.queries, self.found.scoring, views, strict=True):
            over = self.copies[product.dot.over]
            pending = self._value(ProductOp(queries, view.result, over, pending), "scoring")
        assert pending is not None
        return pending, views[0]

    def _weigh(self, turn: SSAValue, weights: SSAValue, state: Carried) -> tuple[Carried, ViewOp]:
        """Begins the products of weights with the tile of values of a turn before."""
        summing = self.found.summing
        self.place = summing[0].dot.location
        views = self._views(self.rings[1], summing, *self._turn(turn, self.rings[1][0]), self.places)
        pairs = zip(views, summing, strict=True)
        begun = [ProductOp(weights, view.result, self.places, state[product.state]) for view, product in pairs]
        return [self._value(op, "weighing") for op in begun], views[0]

    def _views(
        self, rings: list[RingOp], products: Sequence[Multiplied], stage: SSAValue, phase: SSAValue, key: SSAValue
    ) -> list[ViewOp]:
        """What lies in a stage, once it is full."""
        self._add(WaitOp("full", rings[0].sym_name.data, stage, phase))
        views = []
        for ring, box in zip(rings, (product.box for product in products), strict=True):
            view = ViewOp(ring.sym_name.data, stage, [key, self.copies[box.features]], box.load.result.type)
            self._add(view)
            view.result.name_hint = box.load.result.name_hint
            views.append(view)
        return views

    def _release(self, view: ViewOp) -> None:
        self._add(ReleaseOp(view.ring.string_value(), view.stage))

    def _await(self, sums: Carried, state: Carried) -> None:
        """Takes sums that are under way to what is carried."""
        for value, product in zip(sums, self.found.summing, strict=True):
            state[product.state] = self._value(AwaitOp(value, 0), "sums")

    def _scale(self, state: Carried) -> None:
        """Multiplies sums with the factor that a turn has for them."""
        for product in self.found.summing:
            if product.factor is not None:
                value = arith.MulfOp(state[product.state], self.copies[product.factor])
                state[product.state] = self._value(value)

    def _fold(self, turn: SSAValue, scores: SSAValue, carried: Sequence[SSAValue]) -> tuple[Carried, SSAValue]:
        """From scores to what is carried, and weights; sums are left as they are."""
        found, loop = self.found, self.found.folded
        assert loop.axis is not None
        outer = {id(op) for op in (loop.axis, loop.end, *found.joined)}
        for each in found.products:
            outer |= {id(each.dot), id(each.box.load)}
        for each in found.summing:
            outer |= {id(each.added), *(id(value.owner) for value in each.added.operands)}
        self.copies[found.score] = scores
        self.copies.update(zip(loop.body.block.args[1:], carried, strict=True))
        begins = self._before_axis()
        for op in loop.body.block.ops:
            if id(op) in outer or op in begins or op in found.tested or isinstance(op, tile.STATEMENTS):
                continue
            if op in found.masks:
                assert isinstance(op, arith.SelectOp)
                self._mask(op, turn)
            else:
                self._clone(op)
        sums = {each.state for each in found.summing}
        ended = [carried[n] if n in sums else self.copies[value] for n, value in enumerate(loop.end.values)]
        return ended, self.copies[found.summing[0].left]

    def _before_axis(self) -> set[Operation]:
        """The operations of a turn that say where its tile begins, and ends."""
        loop = self.found.folded
        assert loop.axis is not None
        variable, body = loop.body.block.args[0], list(loop.body.block.ops)
        found: set[Operation] = set()
        for op in body:
            made = [v for v in op.operands if v is variable or v.owner in found or v is loop.axis.start]
            if made and op.results and not any(self.axes(result) for result in op.results):
                found.add(op)
        return found

    def _mask(self, op: arith.SelectOp, turn: SSAValue) -> None:
        """A mask, of tiles that are not full."""
        assert self.full is not None
        self.place = op.location
        is_full = self._value(arith.CmpiOp(turn, self.full, "slt"), "is_full")
        kept, masked = Block(), Block()
        outer, copies = self.block, dict(self.copies)
        kept.add_op(scf.YieldOp(self.copies[op.lhs]))
        self.block = masked
        waiting = [op.cond]
        needed: set[Operation] = set()
        while waiting:
            owner = waiting.pop().owner
            if isinstance(owner, Operation) and owner in self.found.tested and owner not in needed:
                needed.add(owner)
                waiting += owner.operands
        for each in self.found.folded.body.block.ops:
            if each in needed and each.results[0] not in self.copies:
                self._clone(each)
        self._clone(op)
        masked.add_op(scf.YieldOp(self.copies[op.result]))
        self.block, self.copies = outer, copies
        choice = scf.IfOp(is_full, [op.result.type], Region(kept), Region(masked))
        self._add(choice)
        choice.results[0].name_hint = op.result.name_hint
        self.copies[op.result] = choice.results[0]

    def _weights(self, weights: SSAValue) -> SSAValue:
        rounded, axis = self.found.summing[0].dot.rounded, self.found.folded.axis
        assert rounded is not None and axis is not None
        return self._value(OperandOp(weights, rounded.data, self.copies[axis.result], self.places), weights.name_hint)

    def _finish(self, state: Carried, after: list[Operation]) -> None:
        """What follows the loops; a program whose rows see no key goes on with what they began with."""
        some = self._value(arith.CmpiOp(self.total, self._number(0), "sgt"), "some")
        for n, (result, value, start) in enumerate(zip(self.found.folded.results, state, self.started, strict=True)):
            chosen = self._value(arith.SelectOp(some, value, start), result.name_hint)
            self.copies[self.found.folded.results[n]] = chosen
        for op in after:
            self.place = op.location
            self._clone(op)
