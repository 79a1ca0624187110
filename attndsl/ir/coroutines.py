"""The roles of a program, interpreted: coroutines, and barriers that mean what those of a GPU mean.

Whatever order roles run in, none that they do not wait for is promised. So a program is run twice: once what copies is
as far ahead as it can be and copies land as late as they can, once the other way round. What would be a race, or would
never end, on a GPU raises RolesFail, which names the ring and the stage.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from attndsl.ir import roles, tile
from attndsl.ir.arrays import NamedArray, rounded, sum_along
from attndsl.ir.meaning import Array
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import Block, Operation, SSAValue


class Runs(Protocol):
    """A run of a module, as far as roles know it: `attndsl.ir.interpret` has it."""

    values: dict[SSAValue, NamedArray]
    arrays: dict[str, Array]

    def scalar(self, value: SSAValue) -> int:
        """An integer that is the same for a whole tile."""

    def run(self, op: Operation) -> None:
        """Runs an operation that is no role's."""


class RolesFail(RuntimeError):
    """What roles do is a race, or never ends, or they do not do the same number of times."""


@dataclass
class _Barrier:
    """A barrier: a phase ends when so many have arrived and all bytes that were announced have landed."""

    count: int
    phases: int = 0
    arrived: int = 0
    missing: int = 0

    def arrive(self, announced: int = 0) -> None:
        self.arrived += 1
        self.missing += announced
        self._turn()

    def land(self, count: int) -> None:
        self.missing -= count
        self._turn()

    def has_ended(self, phase: int) -> bool:
        """Whether the phase of this parity is over; two that are apart by two are one to a barrier."""
        return self.phases % 2 != phase

    def _turn(self) -> None:
        if self.arrived == self.count and self.missing == 0:
            self.phases, self.arrived = self.phases + 1, 0


@dataclass(eq=False)
class _Stage:
    """One stage of a ring: what lies in it, and who has still to read it."""

    name: str
    full: _Barrier
    empty: _Barrier
    boxes: dict[str, Array] = field(default_factory=dict)
    fills: int = 0
    landing: set[str] = field(default_factory=set)
    readers: set[str] = field(default_factory=set)
    reading: list[_Product] = field(default_factory=list)


@dataclass(eq=False)
class _Product:
    op: roles.ProductOp
    stage: _Stage
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
    """The rings of one program, and the copies that are under way."""

    def __init__(self, run: Runs, kernel: tile.KernelOp, copies_first: bool) -> None:
        self.copies_first = copies_first
        self.copies: list[_Copy] = []
        self.stages: dict[tuple[str, int], _Stage] = {}
        rings = [op for op in kernel.body.block.ops if isinstance(op, roles.RingOp)]
        self.filled_with = {ring.sym_name.data: ring.filled_with for ring in rings}
        for ring in (ring for ring in rings if ring.beside is None):
            name = ring.sym_name.data
            for n in range(ring.stages.value.data):
                barriers = _Barrier(1), _Barrier(ring.readers.value.data)
                self.stages[name, n] = _Stage(f"stage {n} of @{name}", *barriers)
        self.roles = [
            _Role(run, self, f"consumer {n}" if isinstance(op, roles.ConsumersOp) else "the producer", op, n)
            for op in kernel.body.block.ops
            if isinstance(op, roles.RoleOp)
            for n in range(op.count.value.data if isinstance(op, roles.ConsumersOp) else 1)
        ]
        self.readers = {role.name for role in self.roles if isinstance(role.op, roles.ConsumersOp)}

    def walk(self) -> None:
        """Runs all roles to their ends. Raises RolesFail."""
        order = sorted(self.roles, key=lambda role: (role.name in self.readers) == self.copies_first)
        running = {role: role.steps() for role in order}
        while running:
            moved = False
            for role, steps in list(running.items()):
                before = role.done
                if next(steps, role) is role:
                    del running[role]
                moved |= role.done > before or role not in running
            if not moved and not self.land():
                waiting = "; ".join(f"{role.name} waits until {role.waits_for}" for role in running)
                raise RolesFail(f"nothing goes on: {waiting}")
        while self.land():
            pass
        for stage in self.stages.values():
            if stage.readers:
                raise RolesFail(
                    f"roles walk different numbers of tiles: {stage.name} was filled {stage.fills} times, "
                    f"and {', '.join(sorted(stage.readers))} has not released it"
                )

    def land(self) -> bool:
        """Lets the copy land that is longest under way; whether there was one."""
        if not self.copies:
            return False
        landed = self.copies.pop(0)
        stage = landed.stage
        stage.boxes[landed.ring] = landed.box
        stage.landing.remove(landed.ring)
        stage.full.land(landed.bytes)
        if stage.full.missing == 0:
            stage.readers = set(self.readers)
        return True


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
            first = run.scalar(op.first) + number * op.step.value.data
            self.run.values[op.body.block.args[0]] = NamedArray(np.int64(first))  # type: ignore[arg-type]

    def steps(self) -> Iterator[None]:
        """Goes on until something has to be waited for, again and again."""
        yield from self.block(self.op.body.block)

    def block(self, block: Block) -> Iterator[None]:
        for op in block.ops:
            if isinstance(op, roles.WaitOp):
                stage = self.stage(op)
                barrier = stage.full if op.barrier.data == "full" else stage.empty
                self.waits_for = f"{stage.name} is {op.barrier.data}"
                while not barrier.has_ended(self.run.scalar(op.phase)):
                    yield
            elif isinstance(op, tile.LoopOp) and any(op.name.startswith("roles.") for op in operations(op)):
                yield from self.loop(op)
            else:
                self.step(op)
            self.done += 1
            if isinstance(op, roles.ReleaseOp):
                yield  # who waits for it may go on at once, and what this role has under way goes on beside that

    def loop(self, op: tile.LoopOp) -> Iterator[None]:
        run, block = self.run, op.body.block
        carried = [run.values[value] for value in op.iter_args]
        for n in range(run.scalar(op.lb), run.scalar(op.ub), run.scalar(op.step)):
            run.values[block.args[0]] = NamedArray(np.int64(n))  # type: ignore[arg-type]
            run.values.update(zip(block.args[1:], carried, strict=True))
            yield from self.block(block)
            carried = [run.values[value] for value in op.end.values]
        run.values.update(zip(op.results, carried, strict=True))

    def step(self, op: Operation) -> None:
        run = self.run
        match op:
            case roles.TurnOp():
                turn, stages = run.scalar(op.turn), op.stages.value.data
                run.values[op.stage] = NamedArray(np.int64(turn % stages))  # type: ignore[arg-type]
                run.values[op.phase] = NamedArray(np.int64(turn // stages % 2))  # type: ignore[arg-type]
            case roles.ExpectOp():
                stage = self.stage(op)
                stage.fills += 1
                stage.full.arrive(op.count.value.data)
            case roles.CopyOp():
                self.copy(op)
            case roles.ViewOp():
                self.view(op)
            case roles.OperandOp():
                value = run.values[op.value]
                axes = tuple(op.new if axis is op.old and op.new else axis for axis in value.axes)
                run.values[op.result] = NamedArray(rounded(value.array, op.element.data), axes)
            case roles.ProductOp():
                self.product(op)
            case roles.AwaitOp():
                self.wait(op)
            case roles.ReleaseOp():
                stage = self.stage(op)
                if self.name not in stage.readers:
                    raise RolesFail(f"{self.name} releases {stage.name}, which it has not, or no more, to read")
                stage.readers.remove(self.name)
                stage.empty.arrive()
            case _:
                run.run(op)

    def stage(self, op: roles.StageOp) -> _Stage:
        name, n = self.program.filled_with[op.ring.string_value()], self.run.scalar(op.stage)
        if (name, n) not in self.program.stages:
            raise RolesFail(f"{self.name} means stage {n} of @{name}, which has none of that number")
        return self.program.stages[name, n]

    def copy(self, op: roles.CopyOp) -> None:
        stage, ring, name = self.stage(op), op.declaration, op.ring.string_value()
        if stage.reading or stage.readers or name in stage.landing:
            by = ", ".join(sorted(stage.readers)) or ("a product that is under way" if stage.reading else "a copy")
            raise RolesFail(f"{stage.name} is filled again while {by} still has it")
        tensor = self.run.arrays[ring.tensor.string_value()]
        start = [self.run.scalar(value) for value in op.start]
        sizes = [ring.box.get(axis, 1) for axis in range(tensor.ndim)]
        places = [np.arange(at, at + size) for at, size in zip(start, sizes, strict=True)]
        ends = list(tensor.shape)
        if ring.end is not None:
            ends[-1] = min(ends[-1], ring.end.value.data)
        inside = [(place >= 0) & (place < end) for place, end in zip(places, ends, strict=True)]
        box = np.zeros(sizes, tensor.dtype)
        box[np.ix_(*inside)] = tensor[np.ix_(*(p[i] for p, i in zip(places, inside, strict=True)))]
        stage.landing.add(name)
        self.program.copies.append(_Copy(stage, name, box.reshape(list(ring.box.values())), ring.bytes))
        if not self.program.copies_first:
            self.program.land()

    def view(self, op: roles.ViewOp) -> None:
        stage, box = self.stage(op), self.stage(op).boxes.get(op.ring.string_value())
        if box is None or stage.landing:
            raise RolesFail(f"{self.name} reads {stage.name} before the copy into it has landed")
        if self.name not in stage.readers:
            raise RolesFail(f"{self.name} reads {stage.name}, which it has released")
        self.views[op.result] = stage
        self.run.values[op.result] = NamedArray(box, tuple(op.axes))

    def product(self, op: roles.ProductOp) -> None:
        onto = None if op.onto is None else self.made.get(op.onto) or self.run.values[op.onto]
        stage = self.views[op.rhs]
        made = _Product(op, stage, self.run.values[op.lhs], self.run.values[op.rhs], onto)
        stage.reading.append(made)
        self.products.append(made)
        self.made[op.result] = made

    def wait(self, op: roles.AwaitOp) -> None:
        for made in self.products[: max(0, len(self.products) - op.pending.value.data)]:
            made.result = _multiplied(made)
            made.stage.reading.remove(made)
            self.products.remove(made)
        result = self.made[op.product].result
        if result is None:
            raise RolesFail(f"{self.name} takes a product with {self.made[op.product].stage.name} that is under way")
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


def run_roles(run: Runs, kernel: tile.KernelOp) -> None:
    """Runs the roles of a program, both ways. Raises RolesFail."""
    for copies_first in (True, False):
        _Program(run, kernel, copies_first).walk()
