"""The roles of a program, interpreted: coroutines, and barriers that mean what those of a GPU mean.

Whatever order roles run in, none that they do not wait for is promised. So a grid is run twice: once by one program,
whose role that copies is as far ahead as it can be and whose copies land as late as they can, and once the other way
round, by three at most, the last before the others. What would be a race, or would never end, on a GPU raises
RolesFail, which names the ring and the stage.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol, TypeVar

import numpy as np

from attndsl.ir import gathers, roles, tile, walks
from attndsl.ir.arrays import NamedArray, rounded, sum_along
from attndsl.ir.meaning import Array
from attndsl.ir.rings import (
    BARRIERS,
    Barred,
    BoxesOp,
    ExchangeOp,
    Holder,
    OutboxOp,
    RelayOp,
    RingOp,
    barred,
    barriers_of,
    completes,
    filled_with,
)
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import Block, Operation, SSAValue, scf
from attndsl.storage import as_stored, decode


class Runs(Protocol):
    """A run of a module, as far as roles know it: `attndsl.ir.interpret` has it."""

    values: dict[SSAValue, NamedArray]
    arrays: dict[str, Array]

    def scalar(self, value: SSAValue) -> int:
        """An integer that is the same for a whole tile."""

    def run(self, op: Operation) -> None:
        """Runs an operation that is no role's."""


Places = tuple[np.ndarray[Any, Any], ...]

Held = TypeVar("Held", RingOp, OutboxOp, RelayOp)


class RolesFail(RuntimeError):
    """What roles do is a race, or never ends, or they do not do the same number of times."""


@dataclass
class _Barrier:
    """A barrier: a phase ends when so many have arrived and all bytes that were announced have landed."""

    count: int
    phases: int = 0
    arrived: int = 0
    missing: int = 0

    def arrive(self, announced: int = 0) -> bool:
        """Gives whether that ends a phase."""
        self.arrived += 1
        self.missing += announced
        return self._turn()

    def land(self, count: int) -> bool:
        """Gives whether that ends a phase."""
        self.missing -= count
        return self._turn()

    def has_ended(self, phase: int) -> bool:
        """Whether the phase of this parity is over; two that are apart by two are one to a barrier."""
        return self.phases % 2 != phase

    def _turn(self) -> bool:
        ends = self.arrived == self.count and self.missing == 0
        if ends:
            self.phases, self.arrived = self.phases + 1, 0
        return ends


@dataclass(eq=False)
class _Stage:
    """One stage of a ring or a board: what lies in it, how many have still to release it, and who has."""

    name: str
    full: _Barrier
    empty: _Barrier
    boxes: dict[str, Array] = field(default_factory=dict)
    fills: int = 0
    landing: set[str] = field(default_factory=set)
    unread: int = 0
    released: set[str] = field(default_factory=set)
    reading: list[_Product] = field(default_factory=list)
    handed: set[str] = field(default_factory=set)

    def fill(self) -> None:
        """Begins a use: what is full is read by as many as release it."""
        self.unread, self.released = self.empty.count, set()


@dataclass(eq=False)
class _Product:
    op: roles.ProductOp
    stages: list[_Stage]
    lhs: NamedArray
    rhs: NamedArray
    onto: NamedArray | _Product | None
    result: NamedArray | None = None


@dataclass
class _Copy:
    stage: _Stage
    ring: str
    box: Array
    bytes: int


class _Program:
    """The rings of one program of so many, and the copies that are under way."""

    def __init__(self, run: Runs, kernel: tile.KernelOp, copies_first: bool, number: int, programs: int) -> None:
        self.grid, self.number, self.programs = Grid.of(run, kernel), number, programs
        self.copies_first = copies_first
        self.copies: list[_Copy] = []
        self.stages: dict[tuple[str, int], _Stage] = {}
        self.ends = set[str]()  # stages of a board that hold the number at which there is no tile
        # Once for a program: to look for them in the kernel at each use was a tenth of all time.
        self.holders = {op.sym_name.data: op for op in kernel.body.block.ops if isinstance(op, Holder)}
        self.filled_with = {name: filled_with(op) for name, op in self.holders.items() if isinstance(op, Barred)}
        handed = [op for op in self.holders.values() if isinstance(op, RelayOp | ExchangeOp)]
        self.completing = {op for op in handed if completes(op)}
        for holder in (op for op in self.holders.values() if isinstance(op, Barred) and barred(op)):
            name = holder.sym_name.data
            for n in range(holder.stages.value.data):
                counts = {"empty": holder.among.value.data} if isinstance(holder, ExchangeOp) else {"empty": 1}
                full, empty = (_Barrier({**counts, **barriers_of(holder)}[barrier]) for barrier in BARRIERS)
                self.stages[name, n] = _Stage(f"stage {n} of @{name}", full, empty)
        self.roles: list[_Role] = []
        for op in (op for op in kernel.body.block.ops if isinstance(op, roles.RoleOp)):
            for n in range(op.count.value.data if isinstance(op, roles.ConsumersOp) else 1):
                consumers = sum(isinstance(role.op, roles.ConsumersOp) for role in self.roles)
                name = f"consumer {consumers}" if isinstance(op, roles.ConsumersOp) else f"the {op.name[6:]}"
                self.roles.append(_Role(run, self, name, op, n))

    def walk(self) -> Iterator[None]:
        """Runs all roles to their ends, a step at a time. Raises RolesFail.

        The first that can go on does: a role is as far behind those before it as what they wait for allows.
        """
        order = sorted(self.roles, key=lambda role: isinstance(role.op, roles.ConsumersOp) == self.copies_first)
        running = {role: role.steps() for role in order}
        while running:
            moved = False
            for role, steps in list(running.items()):
                before = role.done
                if next(steps, role) is role:
                    del running[role]
                moved = role.done > before or role not in running
                if moved:
                    break
            if not moved and not self.land():
                waiting = "; ".join(f"{role.name} waits until {role.waits_for}" for role in running)
                raise RolesFail(f"nothing goes on: {waiting}")
            yield
        while self.land():
            pass
        for stage in self.stages.values():
            if stage.unread and stage.name not in self.ends:
                raise RolesFail(
                    f"roles walk different numbers of tiles: {stage.name} was filled {stage.fills} times, "
                    f"and {stage.unread} of its readers have not released it"
                )

    def land(self) -> bool:
        """Lets the copy land that is longest under way; whether there was one."""
        if not self.copies:
            return False
        landed = self.copies.pop(0)
        stage = landed.stage
        stage.boxes[landed.ring] = landed.box
        stage.landing.remove(landed.ring)
        if stage.full.land(landed.bytes):
            stage.fill()
        return True


@dataclass(frozen=True)
class Grid:
    """What programs a kernel would have: the values of each program variable, in the order in which they start."""

    values: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, run: Runs, kernel: tile.KernelOp) -> Grid:
        """The grid of a call."""
        found = []
        for op in (op for op in kernel.body.block.ops if isinstance(op, tile.ProgramOp)):
            values = range(0, run.scalar(op.extent), run.scalar(op.step))
            found.append(tuple(reversed(values) if op.descending is not None else values))
        return cls(tuple(found))

    @property
    def size(self) -> int:
        """How many programs there would be."""
        return math.prod(map(len, self.values))

    def in_section(self, number: int, many: int) -> int:
        """The number of the tile that is taken in place of one, where so many places go together."""
        tiles = len(self.values[-1])
        if number >= self.size:
            return number
        section, within = divmod(number, many * tiles)
        several = min(many, self.size // tiles - section * many)
        return (section * many + within % several) * tiles + within // several

    def place(self, number: int) -> tuple[int, ...]:
        """The values of the program variables in the program of a number: its digits."""
        digits = []
        for values in reversed(self.values):
            number, digit = divmod(number, len(values))
            digits.append(values[digit])
        return tuple(reversed(digits))


class _Role:
    """One role: a run of its own, which shares the tensors."""

    def __init__(self, run: Runs, program: _Program, name: str, op: roles.RoleOp, number: int) -> None:
        self.run = copy.copy(run)
        self.run.values = dict(run.values)
        self.program, self.name, self.op = program, name, op
        self.products: list[_Product] = []
        self.made: dict[SSAValue, _Product] = {}
        self.views: dict[SSAValue, _Stage] = {}
        self.done = 0
        self.waits_for = ""
        if isinstance(op, roles.ConsumersOp):
            self.gives(op.body.block.args[0], number)

    def steps(self) -> Iterator[None]:
        """Goes on until something has to be waited for, again and again."""
        yield from self.block(self.op.body.block)

    def block(self, block: Block) -> Iterator[None]:
        for op in block.ops:
            kind: type[Operation] = type(op)
            does, waits, lets_others_on = _deed_of(kind)
            if does is not None:
                does(self, op)
            elif waits is not None:
                yield from waits(self, op)
            else:
                self.run.run(op)
            self.done += 1
            if lets_others_on:
                yield  # who waits for it may go on at once, and what this role has under way goes on beside that

    def until(self, op: roles.WaitOp) -> Iterator[None]:
        stage = self.stage(op)
        barrier, phase = stage.full if op.barrier.data == "full" else stage.empty, self.run.scalar(op.phase)
        self.waits_for = f"{stage.name} is {op.barrier.data}"
        while not barrier.has_ended(phase):
            yield

    def task(self, op: walks.RunOp) -> Iterator[None]:
        task = op.declaration.body.block
        self.gives(task.args[0], self.run.scalar(op.number))
        yield from self.block(task)

    def choice(self, op: scf.IfOp) -> Iterator[None]:
        if op.results:
            self.run.run(op)
            return
        chosen = op.true_region if self.run.scalar(op.cond) else op.false_region
        yield from self.block(chosen.block)

    def loop(self, op: tile.LoopOp) -> Iterator[None]:
        run, block = self.run, op.body.block
        if not any(each.name.startswith("roles.") for each in operations(op)):
            run.run(op)
            return
        carried = [run.values[value] for value in op.iter_args]
        for n in range(run.scalar(op.lb), run.scalar(op.ub), run.scalar(op.step)):
            run.values[block.args[0]] = NamedArray(np.int64(n))  # type: ignore[arg-type]
            run.values.update(zip(block.args[1:], carried, strict=True))
            yield from self.block(block)
            carried = [run.values[value] for value in op.end.values]
        run.values.update(zip(op.results, carried, strict=True))

    def walk(self, op: walks.WalkOp) -> Iterator[None]:
        """One tile after another, as long as there is one."""
        run, takes, does = self.run, op.take.block, op.body.block
        carried = [run.values[value] for value in op.start]
        for walked in itertools.count():
            if walked > self.program.grid.size:
                raise RolesFail(f"{self.name} walks more tiles than there are")
            run.values.update(zip(takes.args, carried, strict=True))
            yield from self.block(takes)
            number, carried = run.values[op.goes.number], [run.values[value] for value in op.goes.values]
            if int(number.array) >= self.program.grid.size:
                self.program.ends.update(
                    self.stage(each).name for each in takes.ops if isinstance(each, walks.NumberOp)
                )
                return
            run.values.update(zip(does.args, [number, *carried], strict=True))
            yield from self.block(does)
            carried = [run.values[value] for value in op.carries.values]

    def gives(self, value: SSAValue, number: int) -> None:
        """Lets an integer have a value."""
        self.run.values[value] = NamedArray(np.int64(number))  # type: ignore[arg-type]

    def take(self, op: walks.TakeOp) -> None:
        program, walked = self.program, self.run.scalar(op.walked)
        tiles, programs, few = program.grid.size, program.programs, walks.FEW_TILES * program.programs
        if walked == 0:
            number = program.number
        elif tiles > few:
            counter = self.run.arrays[op.counter.string_value()]
            number = programs + int(counter)
            counter += 1
        else:
            number = few - 1 - program.number if walked == 1 else tiles
        self.gives(op.result, number)

    def post(self, op: walks.PostOp) -> None:
        stage, name = self.stage(op), op.ring.string_value()
        self.is_free(stage, name)
        stage.boxes[name], stage.fills = np.int64(self.run.scalar(op.number)), stage.fills + 1  # type: ignore[assignment]
        stage.fill()
        stage.full.arrive()

    def share(self, op: walks.ShareOp) -> None:
        self.gives(op.result, self.run.scalar(op.first) + self.run.scalar(op.part) * op.rows.value.data)

    def section(self, op: walks.SectionOp) -> None:
        self.gives(op.result, self.program.grid.in_section(self.run.scalar(op.number), self.run.scalar(op.many)))

    def programs(self, op: walks.ProgramsOp) -> None:
        for variable, place in zip(op.values, self.program.grid.place(self.run.scalar(op.number)), strict=True):
            self.gives(variable, place)

    def turn(self, op: roles.TurnOp) -> None:
        turn, stages = self.run.scalar(op.turn), op.stages.value.data
        self.gives(op.stage, turn % stages)
        self.gives(op.phase, turn // stages % 2)

    def expect(self, op: roles.ExpectOp) -> None:
        stage = self.stage(op)
        stage.fills += 1
        stage.full.arrive(op.count.value.data)

    def operand(self, op: roles.OperandOp) -> None:
        value = self.run.values[op.value]
        axes = tuple(op.new if axis is op.old and op.new else axis for axis in value.axes)
        self.run.values[op.result] = NamedArray(rounded(value.array, op.element.data), axes)

    def along(self, op: roles.AlongOp) -> None:
        value = self.run.values[op.value]
        axes = tuple(op.new if axis is op.old else axis for axis in value.axes)
        self.run.values[op.result] = NamedArray(value.array, axes)

    def release(self, op: roles.ReleaseOp) -> None:
        stage = self.stage(op)
        if not stage.unread or self.name in stage.released:
            raise RolesFail(f"{self.name} releases {stage.name}, which it has not, or no more, to read")
        if any(made in self.products for made in stage.reading):
            raise RolesFail(f"{self.name} releases {stage.name}, which a product that is under way reads")
        stage.unread -= 1
        stage.released.add(self.name)
        stage.empty.arrive()

    def find(self, op: walks.SeekOp) -> None:
        for result, sought in zip(op.results, self.seek(op), strict=True):
            self.gives(result, sought)

    def seek(self, op: walks.SeekOp) -> tuple[int, int, int]:
        """The number of the tile of a rank, and the place where it was found, ahead of which lie so many tiles."""
        run, grid, outer = self.run, self.program.grid, op.ends.block.args
        first, last = grid.values[: len(outer)], grid.values[-1]
        beside = math.prod(map(len, grid.values[len(outer) : -1]))
        rank, place, ahead = map(run.scalar, (op.rank, op.place, op.ahead))
        for values in itertools.islice(itertools.product(*first), place, None):
            for argument, value in zip(outer, values, strict=True):
                self.gives(argument, value)
            for each in op.ends.block.ops:
                if not isinstance(each, walks.EndsOp):
                    run.run(each)
            end = run.scalar(op.end)
            there = [n for n, value in enumerate(last) if value < end]
            if rank < ahead + beside * len(there):
                if beside * len(there) <= op.abreast.value.data:
                    digit, more = divmod(rank - ahead, beside)
                else:
                    more, digit = divmod(rank - ahead, len(there))
                return (place * beside + more) * len(last) + there[digit], place, ahead
            place, ahead = place + 1, ahead + beside * len(there)
        return grid.size, place, ahead

    def stage(self, op: roles.StageOp) -> _Stage:
        name, n = self.program.filled_with[op.ring.string_value()], self.run.scalar(op.stage)
        if (name, n) not in self.program.stages:
            raise RolesFail(f"{self.name} means stage {n} of @{name}, which has none of that number")
        return self.program.stages[name, n]

    def held(self, op: roles.StageOp, kind: type[Held]) -> Held:
        """What has the stage that an operation is about."""
        holder = self.program.holders[op.ring.string_value()]
        assert isinstance(holder, kind)
        return holder

    def box(
        self, boxes: BoxesOp, lengths: Mapping[int, int], start: Sequence[SSAValue]
    ) -> tuple[list[int], Places, Places]:
        """How long a box is along each axis of its tensor, which places of it lie in the tensor, and where there."""
        shape = self.run.arrays[boxes.tensor.string_value()].shape
        sizes = [lengths.get(axis, 1) for axis in range(len(shape))]
        first = [self.run.scalar(value) for value in start]
        if any(not -(2**31) <= at < 2**31 for at in first):
            raise RolesFail(f"{self.name} means a box of {boxes.tensor.string_value()} whose place has no 32 bits")
        places = [np.arange(at, at + size) for at, size in zip(first, sizes, strict=True)]
        ends = list(shape)
        if isinstance(boxes, RingOp) and boxes.end is not None:
            ends[-1] = min(ends[-1], boxes.end.value.data)
        inside = [(place >= 0) & (place < end) for place, end in zip(places, ends, strict=True)]
        return sizes, np.ix_(*inside), np.ix_(*(p[i] for p, i in zip(places, inside, strict=True)))

    def put(self, op: roles.PutOp) -> None:
        boxes = self.held(op, OutboxOp)
        if not 0 <= self.run.scalar(op.stage) < boxes.stages.value.data:
            raise RolesFail(f"{self.name} means a stage that @{boxes.sym_name.data} has not")
        if boxes.within is not None:
            self.cover(op, boxes.within.string_value())
        sizes, inside, places = self.box(boxes, self.copied(boxes), op.start)
        element = boxes.declaration.element.data
        tile_ = np.broadcast_to(self.run.values[op.value].along(tuple(op.axes)), list(boxes.box.values()))
        array = self.run.arrays[boxes.tensor.string_value()]
        kept = np.full(tile_.shape, True)
        if op.rows is not None and op.below is not None:
            kept[max(0, self.run.scalar(op.rows)) :] = False
            if self.run.scalar(op.below) != array.shape[next(iter(boxes.box))]:
                raise RolesFail(f"{self.name} takes {boxes.tensor.string_value()} to end elsewhere than it does")

        def as_it_lies(tile: Array) -> Array:
            laid_out = tile.reshape([sizes[axis] for axis in boxes.order])
            return laid_out.transpose(np.argsort(boxes.order))[inside]

        stored, before = as_it_lies(decode(as_stored(tile_, element), element)), array[places]
        array[places] = np.where(as_it_lies(kept), stored if op.adds is None else before + stored, before)

    def copied(self, boxes: BoxesOp) -> Mapping[int, int]:
        """How long a box of some rows, or of a piece of keys, is along each axis."""
        if boxes.pack is None:
            return boxes.pieces if isinstance(boxes, RingOp) else boxes.box
        pack, rows = self.run.scalar(boxes.pack), next(iter(boxes.box.values()))
        if pack < 1 or (pack % rows and rows % pack):
            raise RolesFail(f"{self.name} means {rows} rows of {pack} heads, which are no box")
        return boxes.copied_of(pack)

    def cover(self, op: roles.PutOp, ring: str) -> None:
        """Takes the stage of a ring for what is put there. Raises RolesFail where it is not this role's to take."""
        stage = self.program.stages[self.program.filled_with[ring], self.run.scalar(op.stage)]
        if ring not in stage.boxes or stage.landing or self.name in stage.released or stage.reading:
            raise RolesFail(f"{self.name} puts something into {stage.name}, which it has not, or no more, to itself")
        del stage.boxes[ring]

    def hand(self, op: roles.HandOp) -> None:
        relay, stage, name = self.program.holders[op.ring.string_value()], self.stage(op), self.lies_as(op)
        assert isinstance(relay, RelayOp | ExchangeOp)
        self.is_free(stage, name)
        tile_ = np.broadcast_to(self.run.values[op.value].along(tuple(op.axes)), relay.shape)
        stage.boxes[name] = rounded(tile_, relay.element.data)
        if isinstance(relay, ExchangeOp):
            stage.handed.add(name)
            if len(stage.handed) < relay.among.value.data:
                stage.full.arrive()
                return
            stage.handed.clear()
        stage.fills += barred(relay)
        if relay in self.program.completing and stage.full.arrive():
            stage.fill()

    def lies_as(self, op: roles.HandOp | roles.ViewOp | roles.ClearOp | walks.NumberOp) -> str:
        """What a stage holds under, of an exchange by whose tile it is."""
        name, part = op.ring.string_value(), getattr(op, "part", None)
        return name if part is None else f"{name} of consumer {self.run.scalar(part)}"

    def piece(self, ring: RingOp, start: Sequence[SSAValue]) -> Array:
        """A box of the tensor of a ring."""
        tensor = self.run.arrays[ring.tensor.string_value()]
        sizes, inside, places = self.box(ring, self.copied(ring), start)
        box = np.full(sizes, 0 if ring.nan is None else np.nan, tensor.dtype)
        box[inside] = tensor[places]
        return box.transpose(ring.order).reshape(list(ring.pieces.values()))

    def gathered(self, op: gathers.GatherOp) -> Iterator[Array]:
        """The pieces of a tile, in order."""
        ring, first = self.held(op, RingOp), self.run.scalar(op.first)
        (rows, piece), _ = ring.pieces.items()
        for before in range(0, ring.box[rows], piece):
            self.gives(op.starts.block.args[0], first + before)
            for each in op.starts.block.ops:
                if not isinstance(each, gathers.StartsOp):
                    self.run.run(each)
            yield self.piece(ring, op.start)

    def copy(self, op: roles.CopyOp | gathers.GatherOp, pieces: Sequence[Array]) -> None:
        stage, ring, name = self.stage(op), self.held(op, RingOp), op.ring.string_value()
        self.is_free(stage, name)
        stage.landing.add(name)
        self.program.copies.append(_Copy(stage, name, np.concatenate(pieces), ring.bytes))
        if not self.program.copies_first:
            self.program.land()

    def is_free(self, stage: _Stage, name: str) -> None:
        """Raises RolesFail where a stage is still read, or filled, whose box of a ring is filled."""
        if stage.reading or stage.unread or name in stage.landing:
            by = "a reader" if stage.unread else "a product that is under way" if stage.reading else "a copy"
            raise RolesFail(f"{stage.name} is filled again while {by} still has it")

    def clear(self, op: roles.ClearOp) -> None:
        if any(made in self.products for made in self.stage(op).reading):
            raise RolesFail(f"{self.name} clears {self.stage(op).name} while a product that is under way reads it")
        cleared = self.readable(op).copy()
        cleared[max(0, self.run.scalar(op.count)) :] = 0
        self.stage(op).boxes[op.ring.string_value()] = cleared

    def readable(self, op: walks.NumberOp | roles.ViewOp | roles.ClearOp) -> Array:
        """What lies in a stage. Raises RolesFail where that is not this role's to read."""
        stage = self.stage(op)
        box = stage.boxes.get(self.lies_as(op))
        if box is None or stage.landing or stage.handed:
            raise RolesFail(f"{self.name} reads {stage.name} before the copy into it has landed")
        if self.name in stage.released:
            raise RolesFail(f"{self.name} reads {stage.name}, which it has released")
        return box

    def view(self, op: roles.ViewOp) -> None:
        found = self.readable(op)
        if op.first is not None and op.along is not None:
            axis, first = op.along.value.data, self.run.scalar(op.first)
            found = found.take(range(first, first + op.lengths[axis]), axis)
        self.run.values[op.result] = NamedArray(found, tuple(op.axes))
        self.views[op.result] = self.stage(op)

    def product(self, op: roles.ProductOp) -> None:
        onto = None if op.onto is None else self.made.get(op.onto) or self.run.values[op.onto]
        stages = [self.views[value] for value in (op.lhs, op.rhs) if value in self.views]
        made = _Product(op, stages, self.run.values[op.lhs], self.run.values[op.rhs], onto)
        for stage in stages:
            if self.name in stage.released:
                raise RolesFail(f"{self.name} multiplies with {stage.name}, which it has released")
            stage.reading.append(made)
        self.products.append(made)
        self.made[op.result] = made

    def wait(self, op: roles.AwaitOp) -> None:
        for made in self.products[: max(0, len(self.products) - op.pending.value.data)]:
            made.result = _multiplied(made)
            for stage in made.stages:
                stage.reading.remove(made)
            self.products.remove(made)
        result = self.made[op.product].result
        if result is None:
            raise RolesFail(
                f"{self.name} takes a product with {self.made[op.product].stages[-1].name} that is under way"
            )
        self.run.values[op.result] = result


def _multiplied(made: _Product) -> NamedArray:
    values = [made.lhs, made.rhs]
    axes = tuple(dict.fromkeys(itertools.chain.from_iterable(value.axes for value in values)))
    left, right = (value.along(axes) for value in values)
    position = axes.index(made.op.over)
    rest = axes[:position] + axes[position + 1 :]
    total = sum_along(left * right, position)
    onto = made.onto.result if isinstance(made.onto, _Product) else made.onto
    return NamedArray(total if onto is None else total + onto.along(rest), rest)


_Does = Callable[[_Role, Any], object]
_Waits = Callable[[_Role, Any], Iterator[None]]

_DOES: Mapping[type[Operation], _Does] = {
    walks.GoOp: lambda role, op: None,
    walks.NextOp: lambda role, op: None,
    walks.TaskOp: lambda role, op: None,
    walks.TakeOp: _Role.take,
    walks.SeekOp: _Role.find,
    walks.PostOp: _Role.post,
    walks.NumberOp: lambda role, op: role.gives(op.result, int(role.readable(op))),
    walks.TurnsOp: lambda role, op: role.gives(op.result, max(op.any is None, role.run.scalar(op.tiles))),
    walks.ShareOp: _Role.share,
    walks.SectionOp: _Role.section,
    walks.ProgramsOp: _Role.programs,
    roles.TurnOp: _Role.turn,
    roles.ExpectOp: _Role.expect,
    roles.CopyOp: lambda role, op: role.copy(op, [role.piece(role.held(op, RingOp), op.start)]),
    gathers.GatherOp: lambda role, op: role.copy(op, list(role.gathered(op))),
    roles.PutOp: _Role.put,
    roles.HandOp: _Role.hand,
    roles.ClearOp: _Role.clear,
    roles.ViewOp: _Role.view,
    roles.OperandOp: _Role.operand,
    roles.AlongOp: _Role.along,
    roles.ProductOp: _Role.product,
    roles.AwaitOp: _Role.wait,
    roles.ReleaseOp: _Role.release,
    roles.PassOp: lambda role, op: role.stage(op).full.arrive(),
}
"""What each operation of roles does that waits for nothing; all that stand in no table mean the same anywhere."""

_WAITS: Mapping[type[Operation], _Waits] = {
    roles.WaitOp: _Role.until,
    walks.WalkOp: _Role.walk,
    walks.RunOp: _Role.task,
    scf.IfOp: _Role.choice,
    tile.LoopOp: _Role.loop,
}
"""What each operation does that may wait, or hold what does."""

_LETS_OTHERS_ON = (roles.ReleaseOp, roles.PassOp)


@cache
def _deed_of(kind: type[Operation]) -> tuple[_Does | None, _Waits | None, bool]:
    """What an operation of a type does. Looked up, for a `match` over all takes longer than what most compute."""
    return _DOES.get(kind), _WAITS.get(kind), kind in _LETS_OTHERS_ON


def run_roles(run: Runs, kernel: tile.KernelOp) -> None:
    """Runs the programs of a kernel, both ways, from the same tensors. Raises RolesFail."""
    written = {op.tensor.string_value() for op in operations(kernel) if isinstance(op, tile.StoreOp)}
    written |= {op.outbox.tensor.string_value() for op in operations(kernel) if isinstance(op, roles.PutOp)}
    before = {name: run.arrays[name].copy() for name in written}
    for copies_first, programs in ((True, 1), (False, max(1, min(3, Grid.of(run, kernel).size)))):
        for name, array in before.items():
            run.arrays[name][...] = array
        for op in operations(kernel):
            if isinstance(op, walks.TakeOp):
                run.arrays[op.counter.string_value()][...] = 0
        beside = [_Program(run, kernel, copies_first, n, programs).walk() for n in reversed(range(programs))]
        while beside:
            beside = [program for program in beside if next(program, program) is not program]
