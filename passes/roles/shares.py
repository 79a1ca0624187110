"""What consumers do with a tile that has landed, and how those that share out sums hand on what of a row all need."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from attndsl.ir import tile
from attndsl.ir.analyses.role_parts import Box, Loaded, Summed
from attndsl.ir.analyses.role_shares import handed_on, stores_of
from attndsl.ir.rings import RelayOp, RingOp
from attndsl.ir.roles import AwaitOp, ClearOp, HandOp, ProductOp, ReleaseOp, ViewOp, WaitOp
from attndsl.ir.xdsl import Operation, SSAValue, arith, f32
from attndsl.passes.roles.loads import LoadsBuilder
from attndsl.passes.roles.turns import Filled

WEIGHTS, ENDS = "weights", "ends"
"""What is handed on in each turn, and after the last one."""

Carried = list[SSAValue]


class SharesBuilder(LoadsBuilder, ABC):
    """Writes what reads stages. `share` is that of the sums which the role has, `stores` whose each store is."""

    share: int
    stores: dict[tile.StoreOp, int]
    places: SSAValue
    started: Carried
    after: list[Operation]

    def _relays(self) -> None:
        """Shared memory for what the first consumer hands on, one stage each: all others are as far as it is."""
        found = self.found
        self.stores = stores_of(found)
        self.factors: list[SSAValue] = []
        self.ends: list[int] = []
        if not found.shares:
            return
        readers = len(found.shares) - 1
        rounded = found.summing[0].dot.rounded
        assert rounded is not None
        self._add(RelayOp(WEIGHTS, rounded.data, [found.part_rows, found.tile_keys], 1, readers))
        others = [each for share in found.shares[1:] for each in share]
        self.factors = list(dict.fromkeys(each.factor for each in others if each.factor is not None))
        for n in range(len(self.factors)):
            self._add(RelayOp(f"factor_{n}", "f32", [found.part_rows], 1, readers, WEIGHTS))
        self.ends = handed_on(found)
        for n in self.ends:
            beside = None if n == self.ends[-1] else _end(self.ends[-1])
            self._add(RelayOp(_end(n), "f32", [found.part_rows], 1, readers, beside))

    def _sums(self) -> tuple[Summed, ...]:
        """The sums that the role has."""
        return self.found.shares[self.share] if self.found.shares else self.found.summing

    def _mine(self) -> set[int]:
        """Which of the values that a loop carries the role has."""
        return {each.state for each in self._sums()}.union(self.found.kept)

    def _owned(self, state: Carried) -> Carried:
        """What the role carries of all that a loop does."""
        mine = self._mine()
        return [value for n, value in enumerate(state) if n in mine]

    def _whole(self, carried: Sequence[SSAValue]) -> Carried:
        """All that a loop carries, of what the role does: sums that are another's are as they began."""
        mine, own = self._mine(), iter(carried)
        return [next(own) if n in mine else start for n, start in enumerate(self.started)]

    def _weigh(
        self, turn: SSAValue, weights: SSAValue, state: Carried, is_last: bool = False
    ) -> tuple[Carried, list[ViewOp]]:
        """Begins the products of weights with the tile of values of a turn; gives them, and a view of each stage."""
        self.place = self.found.summing[0].dot.location
        mine = [each for each in self.filled if each.summed == self.share]
        stage, phase = self._turn(turn, mine[0].rings[0])
        begun, done = dict[int, SSAValue](), list[ViewOp]()
        for filled in mine:
            self._add(WaitOp("full", filled.rings[0].sym_name.data, stage, phase))
            # The last key's tile is the last one, or else mixed, and cleared in its own turn.
            ends_here = is_last and self.mixed is None
            ended = [each for each in self._ended(filled) if ends_here or not self.found.is_last(each[1])]
            self._clear(turn, ended, stage)
            views = self._views(filled.rings, filled.tiles, stage, self.places)
            done.append(views[0])
            for view, box in zip(views, filled.tiles, strict=True):
                for each in self._sums():
                    if each.box.value is box.value:
                        op = ProductOp(weights, view.result, self.places, state[each.state])
                        begun[each.state] = self._value(op, "weighing")
        return [begun[each.state] for each in self._sums()], done

    def _clear_own(self, turn: SSAValue, full: bool | None = None) -> None:
        """Clears values of a mixed tile behind the last key in its own turn: the next one may have a full tile."""
        for filled in self.filled if self.mixed is not None else ():
            ended = [each for each in self._ended(filled) if self.found.is_last(each[1])]
            if filled.summed == self.share and ended:
                stage, phase = self._turn(turn, filled.rings[0])
                self._add(WaitOp("full", filled.rings[0].sym_name.data, stage, phase))
                self._clear(turn, ended, stage, full)

    def _ended(self, filled: Filled[RingOp | RelayOp, Box | Loaded]) -> list[tuple[RingOp | RelayOp, SSAValue]]:
        """Rings whose values end where keys do, and where that is: of what lies behind them memory may hold NaN."""
        ends = self.found.ends
        pairs = zip(filled.rings, filled.tiles, strict=True)
        return [(ring, ends[box.load]) for ring, box in pairs if isinstance(box, Box) and box.load in ends]

    def _clear(
        self,
        turn: SSAValue,
        ended: Sequence[tuple[RingOp | RelayOp, SSAValue]],
        stage: SSAValue,
        full: bool | None = None,
    ) -> None:
        """Clears the values of a turn behind the last key."""
        if ended:
            kept, first = dict(self.copies), self._begin(turn, full)
            self.copies = kept
            for ring, end in ended:
                count = self._value(arith.SubiOp(self.copies[end], first))
                self._add(ClearOp(ring.sym_name.data, stage, count))

    def _release(self, views: Sequence[ViewOp]) -> None:
        for view in views:
            self._add(ReleaseOp(view.ring.string_value(), view.stage))

    def _await(self, sums: Carried, state: Carried, beside: int = 0) -> None:
        """Takes sums that are under way to what is carried; so many products that began after them run on."""
        for value, product in zip(sums, self._sums(), strict=True):
            state[product.state] = self._value(AwaitOp(value, beside), "sums")

    def _scale(self, state: Carried) -> None:
        """Multiplies sums with the factor that a turn has for them."""
        for product in self._sums():
            if product.factor is not None:
                value = arith.MulfOp(state[product.state], self.copies[product.factor])
                state[product.state] = self._value(value)

    # --- what is handed on

    def _hand(self, turn: SSAValue, weights: SSAValue) -> None:
        """Hands on the weights of a turn, and the factors of sums."""
        if not self.found.shares:
            return
        stage, phase = self._use(self._uses(turn), 1, WEIGHTS)
        self._add(WaitOp("empty", WEIGHTS, stage, self._value(arith.SubiOp(self._number(1), phase))))
        rows, axis = self.copies[self.found.row_axis.result], self.found.folded.axis
        assert axis is not None
        for n, factor in enumerate(self.factors):
            self._add(HandOp(f"factor_{n}", stage, self.copies[factor], [rows]))
        self._add(HandOp(WEIGHTS, stage, weights, [rows, self.copies[axis.result]]))

    def _hand_on(self, state: Carried) -> None:
        """Hands on what others need of a row after the last turn."""
        if not self.ends:
            return
        stage, phase = self._use(self.walked, 1, ENDS)
        self._add(WaitOp("empty", _end(self.ends[-1]), stage, self._value(arith.SubiOp(self._number(1), phase))))
        for n in self.ends:
            self._add(HandOp(_end(n), stage, state[n], [self.copies[self.found.row_axis.result]]))

    def _follow(self, part: SSAValue) -> None:
        """Multiplies weights that are handed on with the values of a share of the sums."""
        self._rows(part)
        zero, keys = self._number(0), self._number(self.found.tile_keys)
        rows = self.copies[self.found.row_axis.result]
        self.places = self._value(tile.RangeOp("place", zero, keys, keys), "place")
        sums = [each.state for each in self._sums()]
        turn, done = self._turns([self.started[n] for n in sums], zero)
        state = list(self.started)
        for n, argument in zip(sums, self.block.args[1:], strict=True):
            state[n] = argument
        stage, phase = self._use(self._uses(turn), 1, WEIGHTS)
        self._add(WaitOp("full", WEIGHTS, stage, phase))
        for n, factor in enumerate(self.factors):
            self.copies[factor] = self._seen(f"factor_{n}", stage, [rows], factor)
        self._scale(state)
        weights = self._seen(WEIGHTS, stage, [rows, self.places], self.found.summing[0].left)
        begun, views = self._weigh(turn, weights, state)
        self._await(begun, state)
        self._release(views)
        self._add(ReleaseOp(WEIGHTS, stage))
        ended = done([state[n] for n in sums])
        state = list(self.started)
        for n, value in zip(sums, ended, strict=True):
            state[n] = value
        if self.ends:
            stage, phase = self._use(self.walked, 1, ENDS)
            self._add(WaitOp("full", _end(self.ends[-1]), stage, phase))
            for n in self.ends:
                state[n] = self._seen(_end(n), stage, [rows], self.found.folded.results[n])
        self._finish(state)
        if self.ends:
            self._add(ReleaseOp(_end(self.ends[-1]), stage))

    def _seen(self, relay: str, stage: SSAValue, axes: Sequence[SSAValue], of: SSAValue) -> SSAValue:
        """What lies in a stage of a relay, which is full."""
        return self._value(ViewOp(relay, stage, axes, f32), of.name_hint)

    @abstractmethod
    def _finish(self, state: Carried) -> None:
        """What follows the loops."""


def _end(state: int) -> str:
    """The relay of a value that a loop ends with."""
    return f"{ENDS}_{state}"
