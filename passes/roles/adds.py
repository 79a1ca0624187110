"""What consumers add up of all their rows: each hands on what it has made of its own, and multiplies a part for all.

As of gradients: those of keys and values are sums of a consumer's own rows, and stay in its registers; what a turn adds
to the gradients of queries is a sum over the rows of all. Each makes as many of its features as the other, or as many
of its keys, and lets them be added while it goes on.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass

from attndsl.ir import tile
from attndsl.ir.analyses.role_parts import EXCHANGED_STAGES, AddedUp, size_of_axis
from attndsl.ir.rewrite import constant
from attndsl.ir.rings import ExchangeOp, OutboxOp
from attndsl.ir.roles import HandOp, ProductOp, PutOp, ReleaseOp, ViewOp, WaitOp
from attndsl.ir.xdsl import SSAValue, arith, f32
from attndsl.passes.roles.endings import EndingsBuilder


@dataclass(frozen=True)
class Exchanged:
    """The memory of what is added up: what consumers hand on to all, by turns, and what waits to be added."""

    exchange: ExchangeOp
    outbox: OutboxOp


@dataclass(frozen=True)
class OwnPart:
    """What of it a consumer makes: from `first` on of the axis that is cut, along `features`, of all `queries`."""

    first: SSAValue
    features: SSAValue
    queries: tuple[ViewOp, ...]


class AddsBuilder(EndingsBuilder, ABC):
    """Writes what exchanges and adds; `all_rows` are the axes of the rows of all consumers."""

    exchanges: dict[tile.DotOp, Exchanged]
    parts: dict[tile.DotOp, OwnPart]
    all_rows: list[SSAValue]

    def _exchanges(self) -> None:
        """Shared memory for what is exchanged, and for what waits to be added."""
        found, parts = self.found, self.found.row_parts
        self.exchanges = {}
        for each in found.adding:
            rounded, target, cuts_keys = each.dot.rounded, each.target, found.cuts_keys
            assert rounded is not None
            sizes, name = [found.part_rows, found.tile_keys], each.left.name_hint or "exchanged"
            exchange = ExchangeOp(self._free(name), rounded.data, sizes, EXCHANGED_STAGES, parts)
            self._add(exchange)
            keys, features = found.tile_keys, size_of_axis(each.features)
            lengths = (keys // parts, features) if cuts_keys else (keys, features // parts)
            axes = (target.along, len(target.sides) - 1)
            outbox = OutboxOp(self._name(target, "outbox"), target.op.tensor, axes, lengths, parts)
            self._add(outbox)
            self.exchanges[each.dot] = Exchanged(exchange, outbox)

    def _see_all(self) -> None:
        """The rows of all consumers, and their queries, which stay where they are."""
        found, self.all_rows, self.parts = self.found, [], {}
        if not found.adding:
            return
        self.place = found.adding[0].dot.location
        size = self._number(found.part_rows)
        for part in range(found.row_parts):
            first = self._first_row(part)
            rows = tile.RangeOp(
                found.row_axis.variable.data, first, self._value(arith.AddiOp(first, size), "end"), size
            )
            self.all_rows.append(self._value(rows, found.row_axis.result.name_hint))
            self._add(WaitOp("full", self.queries[0].sym_name.data, self._number(part), self._query_phase()))
        for each in found.adding:
            self.parts[each.dot] = self._part(each)

    def _release_all(self) -> None:
        """Releases the queries of all consumers."""
        for part in range(self.found.row_parts):
            self._add(ReleaseOp(self.queries[0].sym_name.data, self._number(part)))

    def _part(self, each: AddedUp) -> OwnPart:
        """What a consumer adds of a product of all."""
        found = self.found
        width = (found.tile_keys if found.cuts_keys else size_of_axis(each.features)) // found.row_parts
        first = self._value(arith.MuliOp(self.part, self._number(width)), "first")
        self.non_negative.append(first)
        features, cut = self.copies[each.features], None
        if not found.cuts_keys:
            features, cut = self._cut(each.features, self._number(0), first, width), (first, 1)
        ring = next(ring for ring, box in zip(self.queries, found.queries, strict=True) if box is each.box)
        views = [
            ViewOp(ring.sym_name.data, self._number(n), [rows, features], f32, cut)
            for n, rows in enumerate(self.all_rows)
        ]
        for view in views:
            self._value(view, each.box.value.name_hint)
        return OwnPart(first, features, tuple(views))

    def _cut(self, axis: SSAValue, start: SSAValue, first: SSAValue, width: int) -> SSAValue:
        """The axis of a part of what lies along another one, which begins at `start`."""
        assert isinstance(axis.owner, tile.RangeOp)
        begins = first if start is self._number(0) else self._value(arith.AddiOp(start, first))
        end, name = self._value(arith.AddiOp(begins, self._number(width))), axis.owner.variable.data
        return self._value(tile.RangeOp(name, begins, end, self._number(width)), axis.name_hint)

    def _exchange(self, each: AddedUp, turn: SSAValue, key: SSAValue) -> tuple[SSAValue, SSAValue]:
        """Hands on what a consumer has made in a turn; gives the stage that all do that in, and its phase."""
        name, rows = self.exchanges[each.dot].exchange.sym_name.data, self.copies[self.found.row_axis.result]
        self.place = each.dot.location
        stage, phase = self._use(self._uses(turn), EXCHANGED_STAGES, name)
        self._add(HandOp(name, stage, self.copies[each.left], [rows, key], self.part))
        return stage, phase

    def _seen_of_all(self, each: AddedUp, stage: SSAValue, phase: SSAValue, key: SSAValue) -> list[ViewOp]:
        """What all consumers have handed on, or what one takes of that."""
        name, part, views = self.exchanges[each.dot].exchange.sym_name.data, self.parts[each.dot], list[ViewOp]()
        self.place = each.dot.location
        self._add(WaitOp("full", name, stage, phase))
        cut = (part.first, 1) if self.found.cuts_keys else None
        for n, rows in enumerate(self.all_rows):
            views.append(ViewOp(name, stage, [rows, key], f32, cut, self._number(n)))
            self._value(views[-1], each.left.name_hint)
        return views

    def _products_of_all(self, each: AddedUp, views: Sequence[ViewOp]) -> list[ProductOp]:
        """The products that make a consumer's part, each onto the one before."""
        products = list[ProductOp]()
        for rows, left, right in zip(self.all_rows, views, self.parts[each.dot].queries, strict=True):
            before = products[-1].result if products else None
            products.append(ProductOp(left.result, right.result, rows, before))
            self._value(products[-1], "adding")
        return products

    def _put_up(self, each: AddedUp, value: SSAValue, key: SSAValue) -> None:
        """Lets a consumer's part be added to its tensor."""
        target, part = each.target, self.parts[each.dot]
        axis = self.found.folded.axis
        assert axis is not None
        start = self._corner(target, self.copies[axis.start])
        at = target.along if self.found.cuts_keys else len(target.sides) - 1
        start[at] = part.first if constant(start[at]) == 0 else self._value(arith.AddiOp(start[at], part.first))
        name = self.exchanges[each.dot].outbox.sym_name.data
        self._add(PutOp(name, self.part, value, [key, part.features], start, adds=True))
