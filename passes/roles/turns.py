"""What the roles of a kernel have in common: numbers, rings, the tiles that they walk, copies of the plain kernel."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from attndsl.ir import tile
from attndsl.ir.analyses.facts import leaves
from attndsl.ir.analyses.role_parts import Box, Roled, size_of_axis
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.keys import conjuncts
from attndsl.ir.rewrite import constant, index_constant, say
from attndsl.ir.rewrite import replace as replace_with
from attndsl.ir.rings import BoxesOp, OutboxOp, RingOp
from attndsl.ir.roles import TurnOp
from attndsl.ir.statements import operations
from attndsl.ir.walks import TurnsOp
from attndsl.ir.xdsl import Operation, SSAValue, StringAttr, arith, i1

SAYING = (tile.NarrowOp, tile.UnsignedOp, tile.KeptOp, tile.LaunchedOp)
"""What names values, of a kernel and so of one made of it."""


@dataclass(frozen=True)
class Filled:
    """Boxes that are copied at once, and the rings that they are copied into, which all have the barriers of the first.

    They are `scored`, multiplied with queries, or `summed` with weights by the consumers of that share of the sums,
    which is 0 where all have all; or both, one after the other.
    """

    boxes: tuple[Box, ...]
    rings: list[RingOp]
    scored: bool
    summed: int | None


@dataclass
class RolesBuilder:
    """Builds one kernel. `copies` holds what stands for the values of the plain one, in the role that is written.

    `counter` is the tensor that counts the tiles that are taken, `used` how many turns tiles before this one have had,
    `made` has all that has stood for a value, `non_negative` integers that were made and are at least 0, and
    `fitted` has what data say in 32 bits.
    """

    plain: tile.KernelOp
    found: Roled
    counter: str
    copies: dict[SSAValue, SSAValue] = field(default_factory=dict)
    made: dict[SSAValue, list[SSAValue]] = field(default_factory=dict)
    numbers: dict[int, SSAValue] = field(default_factory=dict)
    used: SSAValue = field(init=False)
    non_negative: list[SSAValue] = field(default_factory=list)
    fitted: dict[SSAValue, SSAValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.axes = AxesAnalysis()
        self.kernel = tile.KernelOp(self.plain.entry.data, StringAttr("roles"))
        self.kernel.bounds, self.kernel.strided = self.plain.bounds, self.plain.strided
        self.kernel.location = self.plain.location
        self.block = self.kernel.body.block
        self.place = self.plain.location

    def _rings(self, boxes: Sequence[Box], size: int, stages: int, readers: int) -> list[RingOp]:
        """A ring for each of several boxes of so many keys, or rows, all with the barriers of the first."""
        rings: list[RingOp] = []
        for box in boxes:
            beside = rings[0].sym_name.data if rings else None
            sizes, piece = _sizes(box, size), self.found.piece if box.block and self.found.piece < size else None
            nan = not self.found.absent.isdisjoint(conjuncts(box.load.where))
            ring = RingOp(self._name(box, "ring"), box.op.tensor, *sizes, stages, readers, beside, box.end, piece, nan)
            self._add(ring)
            rings.append(ring)
        return rings

    def _filled(self) -> list[Filled]:
        """What is copied for each turn: keys and values, or, where consumers share out sums, each box once.

        What only the first consumer reads comes first: it is the first to be read, and to be copied again.
        """
        found = self.found
        scored, summed = ([each.box for each in products] for products in (found.scoring, found.summing))
        if not found.shares:
            scored = list({box.load: box for box in scored}.values())
            keys, values = (self._turned(boxes, found.consumers) for boxes in (scored, summed))
            return [Filled(tuple(scored), keys, True, None), Filled(tuple(summed), values, False, 0)]
        once = {box.load: box for box in (*scored, *summed)}
        asked = {box.load for box in scored}
        groups: dict[tuple[bool, int | None], list[Box]] = {}
        for load, box in once.items():
            groups.setdefault((load in asked, found.share_of(load)), []).append(box)
        order = sorted(groups.items(), key=lambda each: (not each[0][0], -1 if each[0][1] is None else each[0][1]))
        filled = []
        for (is_scored, share), boxes in order:
            readers = {n for n in (0 if is_scored else None, share) if n is not None}
            filled.append(Filled(tuple(boxes), self._turned(boxes, len(readers)), is_scored, share))
        return filled

    def _turned(self, boxes: Sequence[Box], readers: int) -> list[RingOp]:
        """Rings of boxes of keys."""
        return self._rings(boxes, self.found.tile_keys, self.found.stages, readers)

    def _outbox(self, box: Box, size: int, stages: int) -> OutboxOp:
        """An outbox for boxes of so many rows."""
        outbox = OutboxOp(self._name(box, "outbox"), box.op.tensor, *_sizes(box, size), stages)
        self._add(outbox)
        return outbox

    def _name(self, box: Box, kind: str) -> str:
        """What is new called a memory for boxes of a tensor."""
        taken = {op.sym_name.data for op in self.block.ops if isinstance(op, BoxesOp)}
        name = f"{box.op.tensor.string_value()}{f'_{box.first}' if box.first else ''}_{kind}"
        more = (f"{name}_{n}" for n in itertools.count(2))
        return next(each for each in itertools.chain([name], more) if each not in taken)

    def _visits(self) -> None:
        """How many tiles all roles walk: `full` ones first, where those are apart, then the others."""
        counts = [self._count(loop) for loop in self.found.loops]
        self.full = counts[0] if len(counts) == 2 else None
        self.total = counts[0] if len(counts) == 1 else self._value(arith.AddiOp(counts[0], counts[1]))
        self.visits = self._value(TurnsOp(self.total, self._is_told()), "visits")
        if self.full is not None:
            self.full.name_hint = "full"
        self.non_negative += [self.total, self.visits]

    def _is_told(self) -> bool:
        """Whether a GPU is told that all threads have as many turns: where data say it, or where tiles begin.

        On an H200 packed batches, documents and windows took 0.92 to 0.99 of the time with it, and causal heads of 64
        and ALiBi, whose turns a GPU sees to be alike, 1.03 to 1.08.
        """
        ends = [end for loop in self.found.loops for end in (loop.lb, loop.ub)]
        read = any(isinstance(leaf.owner, tile.LoadOp) for end in ends for leaf in leaves(end))
        return read or constant(self.found.loops[0].lb) is None

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
        self, carried: Sequence[SSAValue], first: SSAValue | None = None
    ) -> tuple[SSAValue, Callable[[Sequence[SSAValue]], list[SSAValue]]]:
        """Begins the loop over all tiles but the first, or from a `first` one on; gives its turn, and what ends it."""
        one = self._number(1)
        loop = tile.LoopOp(one if first is None else first, self.visits, one, carried)
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

    def _turn(self, turn: SSAValue, ring: RingOp) -> tuple[SSAValue, SSAValue]:
        """The stage and the phase that a turn has of a ring, which tiles before this one have `used`."""
        return self._use(self._uses(turn), ring.stages.value.data, ring.tensor.string_value())

    def _uses(self, turn: SSAValue) -> SSAValue:
        """How many turns there were before one, of all tiles."""
        return self.used if constant(turn) == 0 else self._value(arith.AddiOp(self.used, turn))

    def _use(self, use: SSAValue, stages: int, name: str) -> tuple[SSAValue, SSAValue]:
        """The stage and the phase that a use of so many stages has."""
        op = TurnOp(use, stages)
        self._add(op)
        op.stage.name_hint, op.phase.name_hint = f"{name}_stage", f"{name}_phase"
        return op.stage, op.phase

    def _begin(self, turn: SSAValue) -> SSAValue:
        """Where the tile of a turn begins."""
        keys = self.copies[self.found.folded.step]
        starts = []
        loops = self.found.loops[:1] if self.found.goes_on else self.found.loops
        for loop, before in zip(loops, (None, self.full), strict=False):
            assert loop.axis is not None
            within, low = turn, self.copies[loop.lb]
            if before is not None:
                within = self._value(arith.SubiOp(turn, before))
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
        assert self.full is not None
        is_full = self._value(arith.CmpiOp(turn, self.full, "slt"))
        return self._value(arith.SelectOp(is_full, *starts), hint)

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

    def _clone(self, op: Operation) -> None:
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
            if statement is tile.KeptOp:
                values = [value for value in values if value.uses]  # nobody loads what a task does without
            say(self.kernel, statement, dict.fromkeys(v for v in values if v.type != i1 or statement is tile.NarrowOp))


def _sizes(box: Box, size: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Along which axes of its tensor a box lies, and how far: so many keys, or rows, and its features."""
    return (box.along, len(box.sides) - 1), (size, size_of_axis(box.features))
