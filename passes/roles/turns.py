"""What the roles of a kernel have in common: numbers, rings, the tiles that they walk, copies of the plain kernel."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from attndsl.ir import tile
from attndsl.ir.analyses.facts import leaves
from attndsl.ir.analyses.role_parts import Box, Loaded, Roled, element_of, size_of_axis
from attndsl.ir.analyses.stored import read_of
from attndsl.ir.analyses.widths import Widths
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.keys import conjuncts
from attndsl.ir.rewrite import constant, index_constant, say
from attndsl.ir.rewrite import replace as replace_with
from attndsl.ir.rings import Holder, OutboxOp, RelayOp, RingOp
from attndsl.ir.roles import TurnOp
from attndsl.ir.statements import operations
from attndsl.ir.walks import TurnsOp
from attndsl.ir.xdsl import Operation, SSAValue, StringAttr, SymbolRefAttr, arith, i1

SAYING = (tile.NarrowOp, tile.UnsignedOp, tile.KeptOp, tile.LaunchedOp)
"""What names values, of a kernel and so of one made of it."""


Ring = TypeVar("Ring", bound=RingOp | RelayOp, covariant=True)
Tile = TypeVar("Tile", bound=Box | Loaded, covariant=True)


@dataclass(frozen=True)
class Filled(Generic[Ring, Tile]):
    """Tiles that are filled at once, and the rings or relays that they lie in, all with the barriers of the first.

    They are `scored`, multiplied with queries, or `summed` with weights by the consumers of that share of the sums,
    which is 0 where all have all; or both, one after the other.
    """

    tiles: tuple[Tile, ...]
    rings: tuple[Ring, ...]
    scored: bool
    summed: int | None


@dataclass(frozen=True)
class OneValue:
    """The tiles of keys that one value of an outer variable has: `full` ones, if those are apart, and others.

    Turns are divided by these to tell the value, and so they are one at least where no tile is there.
    """

    full: SSAValue | None
    others: SSAValue


@dataclass
class RolesBuilder:
    """Builds one kernel. `copies` holds what stands for the values of the plain one, in the role that is written.

    `counter` is the tensor that counts the tiles that are taken, `used` how many turns tiles before this one have had,
    `made` has all that has stood for a value, `non_negative` integers that were made and are at least 0, `short` some
    that need no more bits than indices, and `fitted` has what data say in 32 bits. Of keys and values, one role copies
    what is `copied`, and another hands on what is `handed`, and so it is with what a turn reads `beside` those; the one
    that hands on is `fed` by the other. `lows` are where the loops of a tile of rows begin, `full_tiles` how many of
    these are full, of loops in a nest those of `each` value of the outer variable.
    """

    plain: tile.KernelOp
    found: Roled
    counter: str
    copies: dict[SSAValue, SSAValue] = field(default_factory=dict)
    made: dict[SSAValue, list[SSAValue]] = field(default_factory=dict)
    numbers: dict[int, SSAValue] = field(default_factory=dict)
    used: SSAValue = field(init=False)
    non_negative: list[SSAValue] = field(default_factory=list)
    short: list[SSAValue] = field(default_factory=list)
    fitted: dict[SSAValue, SSAValue] = field(default_factory=dict)
    copied: list[Filled[RingOp, Box]] = field(default_factory=list)
    handed: list[Filled[RelayOp, Loaded]] = field(default_factory=list)
    copied_beside: list[Filled[RingOp, Box]] = field(default_factory=list)
    handed_beside: list[Filled[RelayOp, Loaded]] = field(default_factory=list)
    lows: list[SSAValue] = field(default_factory=list)
    full_tiles: SSAValue | None = None
    each: OneValue | None = None
    fed: list[Filled[RingOp, Box]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.axes, self.widths = AxesAnalysis(), Widths()
        self.kernel = tile.KernelOp(self.plain.entry.data, StringAttr("wide" if self.found.is_wide else "roles"))
        self.kernel.bounds, self.kernel.strided = self.plain.bounds, self.plain.strided
        self.kernel.location, self.kernel.instead = self.plain.location, self.plain.instead
        self.block = self.kernel.body.block
        self.place = self.plain.location

    @property
    def filled(self) -> list[Filled[RingOp | RelayOp, Box | Loaded]]:
        """All that is filled for each turn."""
        return [*self.copied, *self.handed]

    def _rings(
        self, boxes: Sequence[Box], size: int, stages: int, readers: int, keys: int | None = None
    ) -> list[RingOp]:
        """A ring for each of several boxes of so many keys, or rows, all with the barriers of the first.

        They have features, or so many `keys`.
        """
        rings: list[RingOp] = []
        for box in boxes:
            beside = rings[0].sym_name.data if rings else None
            sizes, piece = _sizes(box, size, keys), self.found.piece if box.block and self.found.piece < size else None
            nan = not self.found.absent.isdisjoint(conjuncts(box.load.where))
            name, heads = self._name(box, "ring"), self._heads(box)
            ring = RingOp(name, box.op.tensor, *sizes, stages, readers, beside, box.end, piece, nan, heads)
            self._add(ring)
            rings.append(ring)
        return rings

    def _fillings(self) -> None:
        """Makes memory for what is filled for each turn: keys and values, each once where consumers share out sums.

        What only the first consumer reads comes first: it is the first to be read, and to be copied again. In a turn of
        several scores all that is copied is one filling: it waits once, and releases once.
        """
        found = self.found
        if not found.rotates:
            together = tuple(each for each in found.tiles if isinstance(each, Box))
            rings = self._rings(together, found.tile_keys, found.stages, found.consumers)
            self.copied.append(Filled(together, tuple(rings), True, 0))
            return
        scored, summed = ([each.box for each in products] for products in (found.scoring, found.summing))
        asked = {each.value for each in scored}
        groups: dict[tuple[bool, int | None], list[Box | Loaded]] = {}
        for n, each in enumerate((*scored, *summed)):
            if found.shares:
                group = each.value in asked, found.share_of(each.value)
            else:
                group = (True, None) if n < len(scored) else (False, 0)
            tiles = groups.setdefault(group, [])
            if all(each.value is not other.value for other in tiles):
                tiles.append(each)
        order = sorted(groups.items(), key=lambda each: (not each[0][0], -1 if each[0][1] is None else each[0][1]))
        for (is_scored, share), tiles in order:
            readers = found.consumers
            if found.shares:
                readers = len({n for n in (0 if is_scored else None, share) if n is not None})
            if boxes := tuple(each for each in tiles if isinstance(each, Box)):
                rings = self._rings(boxes, found.tile_keys, found.stages, readers)
                self.copied.append(Filled(boxes, tuple(rings), is_scored, share))
            if others := tuple(each for each in tiles if isinstance(each, Loaded)):
                relays = self._relays_of(others, readers)
                self.handed.append(Filled(others, tuple(relays), is_scored, share))
        for box in found.fed:
            self.fed.append(Filled((box,), tuple(self._rings([box], found.tile_keys, found.stages, 1)), False, None))

    def _fillings_beside(self) -> None:
        """Makes memory for what a turn reads beside keys and values: each consumer has stages of its own.

        Numbers that the role that copies hands on are one for all, and lie beside what it copies.
        """
        found, row = self.found, self.found.row_axis.result
        stages, readers = (
            (found.row_parts * found.beside_stages, 1) if found.rotates else (found.stages, found.consumers)
        )
        if boxes := tuple(each for each in found.beside if isinstance(each, Box)):
            rings = self._rings(boxes, found.part_rows, stages, 1, found.tile_keys)
            self.copied_beside.append(Filled(boxes, tuple(rings), False, None))
        if others := tuple(each for each in found.beside if isinstance(each, Loaded)):
            relays: list[RelayOp] = []
            copied = () if found.rotates else self.copied[0].rings
            for each in others:
                sizes = [*([found.part_rows] if row in self.axes(each.value) else []), found.tile_keys]
                element = element_of(each.value) if found.rotates else "f32"
                relays.append(self._relay(each.value, element, sizes, stages, readers, [*copied, *relays]))
            self.handed_beside.append(Filled(others, tuple(relays), False, None))

    def _own_turn(self, turn: SSAValue, part: SSAValue, ring: RingOp | RelayOp) -> tuple[SSAValue, SSAValue]:
        """The stage that a consumer's turn has where each has stages of its own, and its phase."""
        parts, stages = self.found.row_parts, self.found.beside_stages
        stage, phase = self._use(self._uses(turn), stages, _called(ring))
        if stages == 1:
            return part, phase
        whole = self._value(arith.MuliOp(stage, self._number(parts)))
        self.non_negative.append(whole)
        return self._value(arith.AddiOp(whole, part)), phase

    def _relays_of(self, tiles: Sequence[Loaded], readers: int) -> list[RelayOp]:
        """A relay for each of several tiles of keys that are loaded, all with the barriers of the first."""
        rounded = self.found.scoring[0].dot.rounded
        assert rounded is not None
        relays: list[RelayOp] = []
        for each in tiles:
            sizes = [self.found.tile_keys, size_of_axis(each.features)]
            relays.append(self._relay(each.value, rounded.data, sizes, self.found.stages, readers, relays))
        return relays

    def _relay(
        self,
        value: SSAValue,
        element: str,
        sizes: list[int],
        stages: int,
        readers: int,
        others: Sequence[RingOp | RelayOp],
    ) -> RelayOp:
        """A relay of what is loaded, beside the first of others."""
        beside = others[0].sym_name.data if others else None
        relay = RelayOp(self._free(f"{value.name_hint or 'tile'}_relay"), element, sizes, stages, readers, beside)
        self._add(relay)
        return relay

    def _outbox(self, box: Box, size: int, stages: int, within: RingOp | None = None) -> OutboxOp:
        """An outbox for boxes of so many rows, which may lie within a ring."""
        ring = None if within is None else SymbolRefAttr(within.sym_name)
        given = (self._name(box, "outbox"), box.op.tensor, *_sizes(box, size), stages, self._heads(box))
        outbox = OutboxOp(*given, within=ring)
        self._add(outbox)
        return outbox

    def _heads(self, box: Box) -> tuple[int, SSAValue] | None:
        """Across which axis how many heads of packed rows lie."""
        return None if box.heads is None else (box.heads.across, self.copies[box.heads.pack])

    def _name(self, box: Box, kind: str) -> str:
        """What is new called a memory for boxes of a tensor."""
        return self._free(f"{box.op.tensor.string_value()}{f'_{box.first}' if box.first else ''}_{kind}")

    def _free(self, name: str) -> str:
        """A name for a memory, which no other has."""
        taken = {op.sym_name.data for op in self.block.ops if isinstance(op, Holder)}
        more = (f"{name}_{n}" for n in itertools.count(2))
        return next(each for each in itertools.chain([name], more) if each not in taken)

    def _visits(self) -> None:
        """How many tiles all roles walk: `mixed` ones first, where those are apart, then `full` ones.

        So the first tile, whose turn is apart anyway, is most often all that is masked, and a loop over full ones asks
        nothing: on an H200 causal heads of 64 took 0.94 to 0.97 of the time, of 128 0.98 to 1.01. One that sees no key
        is mixed.
        """
        counts = [self._count(loop) for loop in self.found.loops]
        self.full: SSAValue | None = counts[0] if len(counts) == 2 else None
        self.total = counts[0] if len(counts) == 1 else self._value(arith.AddiOp(counts[0], counts[1]))
        if self.full is not None and self.found.goes_on:
            self.full = self._full_of(self.full)
        if self.full is not None:
            self.full = self._value(TurnsOp(self.full, any=True), "full")
            self.non_negative.append(self.full)
        self.full_tiles = self.full
        self.lows = [self._low(loop) for loop in self.found.loops]
        if self.found.folded.outer is not None:
            self._nest(self.copies[self.found.folded.outer.extent])
        # On an H200 packed batches, documents and windows took 0.92 to 0.99 of the time where a GPU is told that all
        # threads have as many turns, and causal heads of 64 and ALiBi, whose turns it sees to be alike, 1.03 to 1.08.
        is_told = self.found.is_told or constant(self.found.loops[0].lb) is None
        self.visits = self._value(TurnsOp(self.total, is_told), "visits")
        self.mixed: SSAValue | None = None
        if self.full is not None:
            self.mixed = self._value(arith.SubiOp(self.visits, self.full), "mixed")
            self.masked = self._value(TurnsOp(self.mixed, is_told), "masked")
            self.full.name_hint = "full"
            self.non_negative += [self.mixed, self.masked]
        self.non_negative += [self.total, self.visits]

    def _full_of(self, count: SSAValue) -> SSAValue:
        """How many tiles are full of so many: none for rows that end before their tile, of which some are left out."""
        ends = [each.end for each in self.found.adding if each.end is not None]
        if not ends:
            return count
        first, size = self.copies[self.found.rows.result], self._number(self.found.tile_rows)
        last = self._value(arith.AddiOp(first, size))
        whole = self._value(arith.CmpiOp(last, self.copies[ends[0]], "sle"), "whole")
        full = self._value(arith.SelectOp(whole, count, self._number(0)))
        self.non_negative += [last, full]
        return full

    def _nest(self, extent: SSAValue) -> None:
        """Counts the tiles of all values of an outer variable; where that has none, the one tile is behind all keys."""
        zero, one = self._number(0), self._number(1)
        times = self._value(arith.MaxSIOp(extent, zero))
        others = self.total
        if self.full is not None:
            others = self._value(arith.SubiOp(self.total, self.full))
            walked = self._value(arith.MuliOp(times, self.full))
            self.full = self._value(TurnsOp(walked, any=True))
            self.non_negative += [walked, self.full]
        counts = [count for count in (self.full_tiles, others) if count is not None]
        *full, others = (self._value(arith.MaxSIOp(count, one), "each") for count in counts)
        self.each = OneValue(full[0] if full else None, others)
        self.total = self._value(arith.MuliOp(times, self.total))
        some = self._value(arith.CmpiOp(times, zero, "sgt"))
        end = self.copies[self.found.folded.ub]
        self.lows = [self._value(arith.SelectOp(some, low, end)) for low in self.lows]
        self.non_negative += [times, *counts, *full, others]

    def _low(self, loop: tile.LoopOp) -> SSAValue:
        """Where a loop begins; at 0 where no key is there: data may say that keys begin behind all that there are."""
        low = self.copies[loop.lb]
        if not is_read(loop):
            return low
        some = self._value(arith.CmpiOp(self.total, self._number(0), "sgt"))
        chosen = self._value(arith.SelectOp(some, low, self._number(0)))
        if any(
            loop.lb is value for op in operations(self.plain) if isinstance(op, tile.UnsignedOp) for value in op.values
        ):
            self.non_negative.append(chosen)
        return chosen

    def _count(self, loop: tile.LoopOp) -> SSAValue:
        """How many tiles a loop walks."""
        if (whole := self.found.whole(loop)) is not None:
            return self.copies[whole]
        span = self.copies[loop.ub]
        if constant(loop.lb) != 0:
            span = self._value(arith.SubiOp(span, self.copies[loop.lb]))
        span = self._value(arith.MaxSIOp(span, self._number(0)))
        keys = self.copies[loop.step]
        reached = self._value(arith.AddiOp(span, self._number(self.found.tile_keys - 1)))
        count = self._value(arith.FloorDivSIOp(reached, keys))
        self.non_negative += [reached, count]
        return count

    def _turns(
        self, carried: Sequence[SSAValue], first: SSAValue | None = None, end: SSAValue | None = None
    ) -> tuple[SSAValue, Callable[[Sequence[SSAValue]], list[SSAValue]]]:
        """Begins the loop over all tiles but the first, or from a `first` one on; gives its turn, and what ends it."""
        one = self._number(1)
        loop = tile.LoopOp(one if first is None else first, self.visits if end is None else end, one, carried)
        self._add(loop)
        outer, copies = self.block, dict(self.copies)
        self.block = loop.body.block
        turn = self.block.args[0]
        turn.name_hint = "turn"
        for value, argument, result in zip(carried, self.block.args[1:], loop.results, strict=True):
            argument.name_hint = result.name_hint = value.name_hint

        def done(values: Sequence[SSAValue]) -> list[SSAValue]:
            self._add(tile.YieldOp(*values))
            self.block, self.copies = outer, copies
            return list(loop.results)

        return turn, done

    def _turn(self, turn: SSAValue, ring: RingOp | RelayOp) -> tuple[SSAValue, SSAValue]:
        """The stage and the phase that a turn has of a ring, which tiles before this one have `used`."""
        return self._use(self._uses(turn), ring.stages.value.data, _called(ring))

    def _uses(self, turn: SSAValue) -> SSAValue:
        """How many turns there were before one, of all tiles."""
        return self.used if constant(turn) == 0 else self._value(arith.AddiOp(self.used, turn))

    def _use(self, use: SSAValue, stages: int, name: str) -> tuple[SSAValue, SSAValue]:
        """The stage and the phase that a use of so many stages has."""
        op = TurnOp(use, stages)
        self._add(op)
        op.stage.name_hint, op.phase.name_hint = f"{name}_stage", f"{name}_phase"
        return op.stage, op.phase

    def _begin(self, turn: SSAValue, full: bool | None = None) -> SSAValue:
        """Where the tile of a turn begins, of which may be known whether it is `full`."""
        keys = self.copies[self.found.folded.step]
        starts, inner = [], self._inner(turn, full)
        loops = self.found.loops[:1] if self.found.goes_on else self.found.loops
        if len(loops) == 2 and full is not None:
            loops = loops[:1] if full else loops[1:]
        for loop in loops:
            assert loop.axis is not None
            low = self.lows[self.found.loops.index(loop)]
            within = self._within(turn, loop, full, inner)
            if constant(within) != 0:
                way = self._value(arith.MuliOp(within, keys))
                low = way if constant(low) == 0 else self._value(arith.AddiOp(low, way))
            self.copies[loop.body.block.args[0]] = low
            for op in loop.body.block.ops:
                if op is loop.axis:
                    break
                if op is loop.axis.start.owner or self._leads_to(op, loop.axis.start):
                    self._clone(op)
            starts.append(self.copies[loop.axis.start])
        axis = self.found.folded.axis
        assert axis is not None
        hint = f"{axis.variable.data}0"
        if len(starts) == 1:
            if constant(turn) is None:
                starts[0].name_hint = hint
            return starts[0]
        return self._value(arith.SelectOp(self._is_full(turn), *starts), hint)

    def _is_full(self, turn: SSAValue) -> SSAValue:
        """Whether the tile of a turn is full."""
        assert self.mixed is not None
        return self._value(arith.CmpiOp(turn, self.mixed, "sge"), "is_full")

    def _inner(self, turn: SSAValue, full: bool | None) -> SSAValue | None:
        """Which turn it is of one value of an outer variable, which has that value from then on; None without one.

        All values have their mixed tiles first, one after the other, and then their full ones.
        """
        outer = self.found.folded.outer
        if self.each is None or outer is None:
            return None
        value, inner = self._number(0), turn
        if constant(turn) != 0:
            counted, count = turn, self.each.others
            if self.each.full is not None and full is not False:
                counted, count = self._behind_mixed(turn), self.each.full
                if full is None:
                    pairs = (counted, turn), (count, self.each.others)
                    is_full = self._is_full(turn)
                    counted, count = (self._value(arith.SelectOp(is_full, *pair)) for pair in pairs)
            value = self._value(arith.FloorDivSIOp(counted, count), outer.result.name_hint)
            before = self._value(arith.MuliOp(value, count))
            inner = self._value(arith.SubiOp(counted, before))
            self.non_negative += [counted, count, value, before, inner]
        for loop in self.found.loops:
            assert loop.outer is not None, "loops over full and over mixed tiles are in alike nests"
            self.copies[loop.outer.result] = value
        return inner

    def _within(self, turn: SSAValue, loop: tile.LoopOp, full: bool | None, inner: SSAValue | None) -> SSAValue:
        """Which tile of a loop a turn has; where the mixed tiles go on behind the full ones, which of all tiles.

        In a nest that is an `inner` turn of one value of the outer variable.
        """
        if self.mixed is None or self.full_tiles is None:
            return turn if inner is None else inner
        whole = inner
        if whole is None and (full is not False if self.found.goes_on else loop is self.found.loops[0]):
            whole = self._behind_mixed(turn)
        own = turn if inner is None else inner
        if not self.found.goes_on:
            return own if whole is None else whole
        if full and whole is not None:
            return whole
        mixed = self.full_tiles if constant(own) == 0 else self._value(arith.AddiOp(own, self.full_tiles))
        if full is False or whole is None:
            return mixed
        return self._value(arith.SelectOp(self._is_full(turn), whole, mixed))

    def _behind_mixed(self, turn: SSAValue) -> SSAValue:
        """How many turns lie between the last mixed tile and a full one; of the first turn, none."""
        assert self.mixed is not None
        return turn if constant(turn) == 0 else self._value(arith.SubiOp(turn, self.mixed))

    def _leads_to(self, op: Operation, value: SSAValue) -> bool:
        """Whether a value is computed of what an operation gives."""
        stack = [value]
        while stack:
            owner = stack.pop().owner
            if owner is op:
                return True
            if isinstance(owner, Operation) and owner.parent is op.parent:
                stack += owner.operands
        return False

    def _add(self, op: Operation) -> None:
        if op.location != self.place:
            op.location = self.place
        self.block.add_op(op)

    def _value(self, op: Operation, name: str | None = None) -> SSAValue:
        self._add(op)
        op.results[0].name_hint = name
        return op.results[0]

    def _number(self, value: int) -> SSAValue:
        """A number, which all roles know."""
        if value not in self.numbers:
            op, first = index_constant(value), self.kernel.body.block.first_op
            op.location = self.place
            if first is None:
                self.kernel.body.block.add_op(op)
            else:
                self.kernel.body.block.insert_op_before(op, first)
            self.numbers[value] = op.result
        return self.numbers[value]

    def _stands(self, old: SSAValue, new: SSAValue) -> None:
        """Lets a value stand for another one, and what is said of that hold of it."""
        if new.name_hint is None:
            new.name_hint = old.name_hint
        self.copies[old] = new
        self.made.setdefault(old, []).append(new)

    def _place(self, op: tile.PlaceOp) -> None:
        """An index along rows: how far these are from their start is less for a role that starts further down."""
        axis, first = self.copies[self.found.row_axis.result].owner, self.copies[self.found.rows.result]
        assert isinstance(axis, tile.RangeOp)
        shared = {self.copies[value]: count for value, count in op.counted.items()}
        shared |= {axis.start: shared.get(axis.start, 0) + 1, first: shared.get(first, 0) - 1}
        shared = {value: count for value, count in shared.items() if count}
        axes, near = ([self.copies[value] for value in values] for values in (op.axes, op.near))
        self._stands(op.result, self._value(tile.PlaceOp(shared, axes, near)))

    def _clone(self, op: Operation) -> None:
        if isinstance(op, tile.PlaceOp) and self.found.row_axis.result in op.axes:
            self._place(op)
            return
        copy = op.clone(self.copies)
        for old, new in zip([op, *operations(op)], [copy, *operations(copy)], strict=True):
            new.location = old.location
            for was, now in zip(old.results, new.results, strict=True):
                self._stands(was, now)
        self.block.add_op(copy)

    def _say(self) -> None:
        """What the plain kernel says of values, it says of those that stand for them."""
        for op in list(operations(self.kernel)):
            if isinstance(op, SAYING):
                replace_with(op, [])
        for statement in SAYING:
            said = [value for op in operations(self.plain) if type(op) is statement for value in op.operands]
            values = [new for old in dict.fromkeys(said) for new in self.made.get(old, ())]
            values = [value for value in values if not isinstance(value.owner, tile.ProgramOp)]  # nobody has one
            if statement is tile.UnsignedOp:
                values += self.non_negative
            if statement is tile.NarrowOp:
                values += self.short
            if statement is tile.KeptOp:
                # Nobody loads what a task does without, nor what is copied for it.
                values = [value for value in values if value.uses and read_of(value) is not None]
            say(self.kernel, statement, dict.fromkeys(v for v in values if v.type != i1 or statement is tile.NarrowOp))


def is_read(loop: tile.LoopOp) -> bool:
    """Whether data say where a loop begins."""
    return any(isinstance(leaf.owner, tile.LoadOp) for leaf in leaves(loop.lb))


def _sizes(box: Box, size: int, keys: int | None = None) -> tuple[tuple[int, int], tuple[int, int]]:
    """Along which axes of its tensor a box lies, and how far: so many keys, or rows, and its features, or `keys`."""
    return (box.along, len(box.sides) - 1), (size, size_of_axis(box.features) if keys is None else keys)


def _called(ring: RingOp | RelayOp) -> str:
    """What the stages and phases of a ring are called after."""
    return ring.tensor.string_value() if isinstance(ring, RingOp) else ring.sym_name.data.removesuffix("_relay")
