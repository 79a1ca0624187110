"""Turns of several scores: consumers begin and end all products of a turn within it, in the order that scores come in.

As of gradients: a turn makes scores and the cotangents of weights, folds each as soon as it is there, and begins the
sums of what it has made of them while the next product is under way. No sum runs on under the next turn: while one
consumer folds, the matrix unit is another's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from attndsl.ir.analyses.role_parts import AddedUp, Multiplied, Scored, Summed
from attndsl.ir.roles import AlongOp, AwaitOp, OperandOp, ProductOp, ReleaseOp, ViewOp, WaitOp
from attndsl.ir.xdsl import Block, LocationAttr, Operation, SSAValue, arith
from attndsl.passes.roles.adds import AddsBuilder
from attndsl.passes.roles.shares import Carried


class TurnedBuilder(AddsBuilder, ABC):
    """Writes the loops of consumers whose turns have several tiles of scores, or of weights."""

    asked: list[SSAValue]
    ahead: bool

    def _fold_turns(self) -> Carried:
        """The loop over mixed tiles, and that over full ones; gives what they end with."""
        state, zero = list(self.started), self._number(0)
        carried = [*state, _Turn(self, zero).scores()] if self.ahead else state
        if self.mixed is None:
            carried = self._loop_of_turns(carried, zero, self.visits, None)
        else:
            carried = self._loop_of_turns(carried, zero, self.mixed, False)
            carried = self._loop_of_turns(carried, self.mixed, self.visits, True)
        return carried[: len(state)]

    def _loop_of_turns(self, carried: Carried, first: SSAValue, end: SSAValue, full: bool | None) -> Carried:
        turn, done = self._turns(carried, first, end)
        return done(_Turn(self, turn).write(list(self.block.args[1:]), full))

    @abstractmethod
    def _folded(self) -> list[Operation]:
        """The operations of a turn between its products."""

    @abstractmethod
    def _fold_one(self, op: Operation, turn: SSAValue, full: bool | None, views: Mapping[SSAValue, ViewOp]) -> None:
        """One of these operations."""


class _Turn:
    """One turn, as it is written: `begun` are its products in order, of which so many are `complete`."""

    def __init__(self, kernel: TurnedBuilder, turn: SSAValue) -> None:
        self.kernel, self.found, self.turn = kernel, kernel.found, turn
        self.begun: list[tuple[Multiplied, SSAValue]] = []
        self.complete = 0
        self.seen: dict[tuple[SSAValue, SSAValue], ViewOp] = {}
        (self.filled,) = kernel.copied
        self.stages: dict[SSAValue, SSAValue] = {}
        self.weights: dict[SSAValue, SSAValue] = {}
        self.made = set[SSAValue](self.found.scores)
        self.adding: list[tuple[AddedUp, int, list[ViewOp], SSAValue]] = []

    def scores(self) -> SSAValue:
        """The first scores of the turn, which is that before all others, along places."""
        first = self.found.scores[0]
        self._score([each for each in self.found.scoring if each.score is first], self.turn, self.kernel.places)
        return self._await(len(self.begun) - 1, "scores")

    def write(self, carried: Carried, full: bool | None) -> Carried:
        """The turn, of which may be known whether its tile is `full`; gives what it carries on."""
        kernel, found, loop = self.kernel, self.found, self.found.folded
        self.key, self.state = kernel._axis(self.turn, full), carried[: len(kernel.started)]
        kernel.copies.update(zip(loop.body.block.args[1:], self.state, strict=True))
        unknown, given = list(found.scores), carried[len(self.state) :]
        early = [each for each in found.scoring if given and each.score is unknown[0]]
        self._score([each for each in found.scoring if not given or each.score is not unknown[0]], self.turn, self.key)
        views, waiting = kernel._views_beside(self.turn, self.key, self._full(self.turn)), kernel._folded()
        while unknown:
            score = unknown.pop(0)
            kernel.place = self._line(score)
            if early and score is found.scores[0]:
                kernel.copies[score] = kernel._value(AlongOp(given[0], kernel.places, self.key), "scores")
            else:
                last = max(n for n, (each, _) in enumerate(self.begun) if _is_of(each, score))
                kernel.copies[score] = self._finish(last, "scores")
            self._sum(unknown)
            rests = self._resting(unknown)
            for op in [op for op in waiting if op not in rests]:
                waiting.remove(op)
                kernel._fold_one(op, self.turn, full, views)
                self.made.update(op.results)
                self._sum(unknown)
        if early:
            self._score(early, self._next(), kernel.places)
        self._add_up()
        begun = len(found.products) + len(found.adding) * found.row_parts
        assert len(self.begun) == begun, "each product is begun once in a turn"
        for n, (each, _) in enumerate(self.begun):
            kernel.place = each.dot.location
            if isinstance(each, Summed):
                self.state[each.state] = self._finish(n, "sums")
        for added, last, seen, key in self.adding:
            value = self._await(last, "added")
            kernel._release(seen[:1])
            kernel._put_up(added, value, key)
        later = [self._finish(len(self.begun) - 1, "scores")] if early else []
        ended = [kernel.copies[v] if n in found.kept else self.state[n] for n, v in enumerate(loop.end.values)]
        return [*ended, *later]

    def _add_up(self) -> None:
        """Hands on what is added up of all rows, and begins the products that this consumer makes of what all have."""
        kernel, keys = self.kernel, self.kernel.found.tile_keys // self.kernel.found.row_parts
        for each in kernel.found.adding:
            stage, phase = kernel._exchange(each, self.turn, self.key)
            axis, key = kernel.found.folded.axis, self.key
            assert axis is not None
            if kernel.found.cuts_keys:
                key = kernel._cut(axis.result, kernel.copies[axis.start], kernel.parts[each.dot].first, keys)
            views = kernel._seen_of_all(each, stage, phase, key)
            for product in kernel._products_of_all(each, views):
                self.begun.append((each, product.result))
            self.adding.append((each, len(self.begun) - 1, views, key))

    def _line(self, score: SSAValue) -> LocationAttr:
        """The line of the spec that says a score."""
        return next(each.dot.location for each in self.found.scoring if each.score is score)

    def _next(self) -> SSAValue:
        """The turn after this one; the last one makes its own scores again, which nobody takes."""
        kernel, one = self.kernel, self.kernel._number(1)
        kernel.place = self.found.folded.location
        after, last = arith.AddiOp(self.turn, one), arith.SubiOp(kernel.visits, one)
        found = kernel._value(arith.MinSIOp(kernel._value(after), kernel._value(last)), "after")
        kernel.non_negative += [after.result, last.result, found]
        return found

    def _resting(self, scores: Sequence[SSAValue]) -> set[Operation]:
        """The operations of a turn that rest on some scores."""
        rests, found = set(scores), set[Operation]()
        for op in self.found.folded.body.block.ops:
            if not rests.isdisjoint(op.operands):
                found.add(op)
                rests.update(op.results)
        return found

    def _score(self, products: Sequence[Scored], turn: SSAValue, along: SSAValue) -> None:
        """Begins products of queries with tiles of keys of a turn, `along` an axis of keys or of places."""
        asked = {each.dot: queries for queries, each in zip(self.kernel.asked, self.found.scoring, strict=True)}
        for product in products:
            before = [value for other, value in self.begun if _is_of(other, product.score)]
            view, over = self._see(product, turn, along), self.kernel.copies[product.dot.over]
            self._begin(product, ProductOp(asked[product.dot], view, over, before[-1] if before else None))

    def _sum(self, unknown: Sequence[SSAValue]) -> None:
        """Begins all sums of weights that are there."""
        kernel, begun = self.kernel, [product.dot for product, _ in self.begun]
        rests = {result for op in self._resting(unknown) for result in op.results}.union(unknown)
        for product in (each for each in self.found.summing if each.dot not in begun):
            given = [product.left] if product.factor is None else [product.left, product.factor]
            if not all(map(self._is_there, given)) or not rests.isdisjoint(given):
                continue
            rounded = product.dot.rounded
            assert rounded is not None
            kernel.place = product.dot.location
            if product.left not in self.weights:
                weights = OperandOp(kernel.copies[product.left], rounded.data)
                self.weights[product.left] = kernel._value(weights, product.left.name_hint)
            onto = self.state[product.state]
            if product.factor is not None:
                onto = kernel._value(arith.MulfOp(onto, kernel.copies[product.factor]))
            self._begin(
                product, ProductOp(self.weights[product.left], self._see(product, self.turn, self.key), self.key, onto)
            )

    def _is_there(self, value: SSAValue) -> bool:
        """Whether a value is made, in this turn or before it."""
        owner = value.owner
        return value in self.made or isinstance(owner, Block) or owner.parent is not self.found.folded.body.block

    def _see(self, product: Multiplied, turn: SSAValue, along: SSAValue) -> SSAValue:
        """The tile of a turn that a product takes, once it has landed."""
        kernel, value = self.kernel, product.box.value
        if (value, turn) not in self.seen:
            kernel.place = product.dot.location
            stage = self._full(turn)
            copied = zip(self.filled.rings, self.filled.tiles, strict=True)
            ring, box = next(each for each in copied if each[1].value is value)
            (self.seen[value, turn],) = kernel._views([ring], [box], stage, along)
        return self.seen[value, turn].result

    def _full(self, turn: SSAValue) -> SSAValue:
        """The stage of a turn, once all that it takes is there."""
        ring = self.filled.rings[0]
        if turn not in self.stages:
            self.stages[turn], phase = self.kernel._turn(turn, ring)
            self.kernel._add(WaitOp("full", ring.sym_name.data, self.stages[turn], phase))
        return self.stages[turn]

    def _begin(self, product: Multiplied, op: ProductOp) -> None:
        self.kernel.place = product.dot.location
        self.begun.append((product, self.kernel._value(op, "scoring" if isinstance(product, Scored) else "weighing")))

    def _await(self, number: int, name: str) -> SSAValue:
        """Waits for a product, and with it for all before."""
        return self.kernel._value(AwaitOp(self.begun[number][1], len(self.begun) - 1 - number), name)

    def _finish(self, number: int, name: str) -> SSAValue:
        """Waits for a product, and releases what this turn takes if none reads it any more."""
        result = self._await(number, name)
        before, self.complete = self.complete, max(self.complete, number + 1)
        place = {product.dot: n for n, (product, _) in enumerate(self.begun)}
        last = max(place.get(each.dot, len(place)) for each in self.found.products)
        if before <= last < self.complete:
            self.kernel._add(ReleaseOp(self.filled.rings[0].sym_name.data, self.stages[self.turn]))
        return result


def _is_of(product: Multiplied, score: SSAValue) -> bool:
    return isinstance(product, Scored) and product.score is score
