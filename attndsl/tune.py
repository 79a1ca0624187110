"""Schedules tried on the GPU that is to run them, to find one faster than what the tables choose: `attndsl tune`.

The tables are the cost model's, and good; this looks at its neighbours, and at other forms of the kernels where warps
may have roles. A schedule is timed in turns with the tables' choice, on copies of the same inputs, once its outputs
agree with those of that choice.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from attndsl.bench.contest import TOLERANCE, Contestant, Inputs, Refused, contest, lent
from attndsl.bench.timing import Clock
from attndsl.calling import Arguments
from attndsl.choices import KEYS, ROLES, ROWS, SPLITS, WIDE_ROWS
from attndsl.ir.context import parse_module
from attndsl.ir.machines import DEFAULT, MACHINES
from attndsl.op.gpu import GpuCalls
from attndsl.op.op import Op
from attndsl.op.plan import Launches, Plan, first_call
from attndsl.op.torch_tensors import check
from attndsl.passes.assign_schedules import candidates

GAIN = 0.03
"""The part of the tables' time that a schedule must save, twice, to be kept: less is noise."""

Schedule = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Trial:
    """A schedule that was tried: its seconds, and those of the tables' choice in the same turns; or why it has none.

    `splits` is how many splits the keys are cut into with it, which the generated code computes at each call.
    """

    schedule: Schedule
    splits: int
    seconds: float | None = None
    tables: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float:
        """Its time over that of the tables' choice, infinite where it was not timed."""
        return math.inf if self.seconds is None or self.tables is None else self.seconds / self.tables


class Tuning:
    """The search for a call's schedule; `inputs` are those of the spec, in order, on the current GPU."""

    def __init__(self, op: Op, inputs: Inputs, params: Mapping[str, Any], clock: Clock) -> None:
        self._inputs, self._signature = inputs, op.signature
        self._clock = clock
        self._params = params
        calls, device = GpuCalls(op.binding), next(iter(inputs.values())).device
        self._bound = check(op.signature, list(inputs.values()), params)
        self._program = calls.program(self._bound, device)
        self._outputs = calls.outputs(list(inputs.values()), self._bound, self._program.artifact.cleared)
        self._spills = math.inf
        plan, written = self._first_call({})
        self._spills = _spills(plan)
        self._plans = {_key({}): plan}
        names = [*self._outputs, *(op.signature.inputs[number].name for number in op.signature.in_place)]
        self._wanted = {name: tensor.double() for name, tensor in zip(names, written, strict=True)}
        elements = {*self._bound.types.values(), *op.binding.output_elements(self._bound)} & TOLERANCE.keys()
        self._element = max(elements, key=TOLERANCE.__getitem__, default="f32")
        self.tables, self.splits = self._chosen({})
        self._plain, _ = self._chosen({ROLES: 0})

    def schedules(self) -> list[Schedule]:
        """What to try: what is kept, other forms, then the neighbours of the tables' choice, the nearest first."""
        artifact = self._program.artifact
        found = candidates(parse_module(artifact.ir["tile"]), MACHINES[artifact.machine or DEFAULT])
        near = sorted(found, key=lambda schedule: _distance(schedule, self._plain))
        kept = self._program.tuned.get(self._bound.dims)
        forms = [schedule for schedule in self._forms() if schedule != kept]
        rest = (schedule for schedule in near if schedule not in (kept, self._plain) and not self._emptier(schedule))
        return [*([kept] if kept else []), *forms, *rest]

    def trials(self, schedules: Iterable[Schedule], seconds: float) -> Iterator[Trial]:
        """Tries schedules; begins none after so many seconds."""
        end = time.monotonic() + seconds
        for schedule in schedules:
            if time.monotonic() > end:
                return
            yield self.trial(schedule)

    def trial(self, schedule: Schedule) -> Trial:
        """A schedule, checked and timed."""
        contestants = [
            Contestant("tables", partial(self._bind, {})),
            Contestant("schedule", partial(self._bind, schedule)),
        ]
        found = contest(contestants, self._inputs, self._wanted, self._element, self._clock)
        _, splits = self._chosen(schedule)
        tables, own = found["tables"], found["schedule"]
        return Trial(schedule, splits, own.seconds, tables.seconds, own.note.partition(": ")[2])

    def best(self, trials: Iterable[Trial]) -> Trial | None:
        """The fastest of some trials, tried once more; None where it saves too little at either time.

        Of many times the least is partly luck, which does not last.
        """
        fastest = min(trials, key=lambda trial: trial.ratio, default=None)
        if fastest is None or fastest.ratio > 1 - GAIN:
            return None
        again = self.trial(fastest.schedule)
        return again if again.ratio <= 1 - GAIN else None

    def keep(self, best: Trial | None) -> None:
        """Keeps a schedule for later calls like this one, or that the tables are to choose."""
        self._program.tuned.put(self._bound.dims, best.schedule if best else {})

    def _bind(self, schedule: Schedule, inputs: Inputs) -> Callable[[], list[torch.Tensor]]:
        key = _key(schedule)
        if key not in self._plans:
            self._plans[key], _ = self._first_call(schedule)
        given, written = lent(self._signature, inputs)
        call = partial(self._plans[key], list(given.values()))
        return (lambda: [*call(), *written]) if written else call

    def _first_call(self, schedule: Schedule) -> tuple[Plan, list[torch.Tensor]]:
        """How to call with a schedule, and what that writes. Raises what shows that it does not fit the device."""
        launches = partial(self._program.launches, schedule=schedule)
        cleared = self._program.artifact.cleared
        given, written = lent(self._signature, self._inputs)
        plan, outputs = first_call(launches, given, self._outputs, self._bound.params, cleared)
        if ROLES not in schedule and (spills := _spills(plan)) > self._spills:  # another form has another slow path
            raise Refused(f"it spills {spills} registers a thread")
        return plan, [*outputs, *written]

    def _chosen(self, schedule: Schedule) -> tuple[Schedule, int]:
        """What a call's first kernel that computes is launched with, and into how many splits the keys are cut."""
        kernel, _, arguments, options = next(iter(self._launches(schedule)))
        given = dict(zip(kernel.arg_names, arguments, strict=True))
        roles = {ROLES: 1} if self._has_roles(schedule) else {}
        if roles and (others := self._sizes(schedule)):
            roles[WIDE_ROWS] = 1 - others[0][WIDE_ROWS]
        sizes = {name: given[name] for name in (ROWS, KEYS) if name in given}
        return {**roles, **sizes, **options}, given.get(SPLITS, 1)

    def _forms(self) -> list[Schedule]:
        """What asks for a form that the tables do not choose: with roles or without, and the other of two with them."""
        if not self._has_roles({ROLES: 1}):
            return []
        return [{ROLES: 1 - self.tables.get(ROLES, 0)}, *self._sizes({ROLES: 1})]

    def _sizes(self, schedule: Schedule) -> list[Schedule]:
        """What asks for programs of other rows than a schedule has, which takes roles: one at most."""
        chosen = self._kernels(schedule)
        sizes: list[Schedule] = [{**schedule, ROLES: 1, WIDE_ROWS: wide} for wide in (0, 1)]
        return [other for other in sizes if self._kernels(other) != chosen][:1]

    def _has_roles(self, schedule: Schedule) -> bool:
        """Whether warps have roles with a schedule: other kernels are launched than where none are asked for."""
        return self._kernels(schedule) != self._kernels({**schedule, ROLES: 0})

    def _kernels(self, schedule: Schedule) -> list[object]:
        return [kernel for kernel, *_ in self._launches(schedule)]

    def _emptier(self, schedule: Schedule) -> bool:
        """Whether tiles of half as many rows are no more tiles."""
        if schedule.get(ROWS, 1) <= self._plain.get(ROWS, 1):
            return False
        counts = (
            sum(programs for _, programs, *_ in self._launches({**schedule, ROWS: rows, SPLITS: 1}))
            for rows in (schedule[ROWS], schedule[ROWS] // 2)
        )
        return len(set(counts)) == 1

    def _launches(self, schedule: Schedule) -> Launches:
        outputs = (output.allocate() for output in self._outputs.values())
        launches: Launches = Arguments(tuple(self._inputs.values()), tuple(outputs)).passed_to(
            partial(self._program.launches, schedule=schedule), self._bound.params
        )
        return [*launches][self._program.artifact.clearing :]


def _key(schedule: Schedule) -> tuple[tuple[str, int], ...]:
    return tuple(schedule.items())


def _spills(plan: Plan) -> int:
    """The registers a thread that the worst of a plan's kernels keeps in memory."""
    return max(int(launch.kernel.n_spills) for launch in plan.launches)


def _distance(one: Schedule, other: Schedule) -> float:
    """How far apart two schedules are, in doublings."""
    return sum(abs(math.log2(one[name] / other[name])) for name in one if name in other)
