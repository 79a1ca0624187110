"""Looks for planted bugs with what is drawn for fuzzing: one JSON line a mutant, how many examples it needed.

Run in a process of its own: Triton reads TRITON_INTERPRET when it is imported. An example goes through the stages
that the mutants which are left blame, and no further.

Most mutants are caught by the first examples, and a few keep all others waiting: `caught.json` says which example
caught each of them, and that one is tried first. Where what is drawn has changed since, the hunt goes on as ever, for
minutes; `python -m tests.mutants.hunt NAME --keep` writes down anew what it finds.
"""

from __future__ import annotations

import gc
import json
import os
import re
import sys
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import count, groupby
from math import ceil, prod
from multiprocessing import get_context
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings

from attndsl.ir.build import build
from attndsl.ir.context import context
from attndsl.ir.interpret import interpret
from attndsl.ir.xdsl import ModuleOp
from attndsl.testing import Case, Disagreement, Program
from attndsl.testing.calls import Calling, check_call, operator_of
from attndsl.testing.drawn_inputs import extents
from attndsl.testing.fuzz import Example, FuzzPlan, examples
from attndsl.testing.stages import Form, choices_of, program_of
from attndsl.testing.triton_program import TritonProgram, prepare

from . import (
    catalogue_attn,
    catalogue_calls,
    catalogue_gradients,
    catalogue_numpy,
    catalogue_tile,
    catalogue_triton,
)
from .ascent import Ascent, ascent_of, read_once
from .mutant import CALL, Mutant, Unsound, made_with, mutants_of

MUTANTS = mutants_of(
    catalogue_attn, catalogue_tile, catalogue_numpy, catalogue_triton, catalogue_calls, catalogue_gradients
)

HUNTS: dict[str, Callable[[Mutant], bool]] = {
    "triton": lambda mutant: mutant.target == "triton" and not mutant.in_call,
    "numpy": lambda mutant: mutant.target == "numpy" and not mutant.in_call,
    "calls": lambda mutant: mutant.in_call,
    "gradients": lambda mutant: mutant.in_gradient,
}
"""Which mutants a process hunts: those of calls are reached through no stage, so that no example goes there twice."""

CAUGHT = Path(__file__).with_name("caught.json")
"""By hunt and mutant, the batch that caught it and which candidate of it did."""

BATCH = 50
"""Examples that hypothesis draws at a time; each time begins anew, with small ones."""

MOST = 600
"""Examples after which a mutant survives."""

LEAST_TILES = 2
"""Fewer tiles of rows and keys would tell little: an example that has fewer gets `SMALL_TILES`."""

SMALL_TILES = (4, 3)
"""Rows and keys."""

MOST_WORK = 200
"""Rows times keys: examples of more take too long for what they tell."""

MOST_PROGRAMS = 16
"""Tiles of rows times splits of keys, beyond which Triton's interpreter takes too long."""


@dataclass
class Hunted:
    """A mutant, how many examples were tried, and the stage after which the last one was wrong: none if it survived.

    It is wrong where a module or program gives wrong numbers, or reads where nothing is, or where a module says of its
    values what is not so. An example at which the
    compiler itself fails does not count as one that catches a mutant, but for those of calls, which fail so for a user.
    """

    name: str
    target: str
    examples: int = 0
    stage: str = ""


class Road:
    """The road of an example: the stages of its pipeline, and what is made of a module at the end."""

    def __init__(self, case: Case, form: Form, calling: Calling | None = None) -> None:
        self.case = case
        self.calling = calling
        blocks = ((prod(each), prod(over)) for each, over in extents(case.spec, case.dims, case.params))
        self.rows, self.keys = max(blocks, key=prod)
        few = self.rows * self.keys < LEAST_TILES * form.rows * form.keys
        rows, keys = SMALL_TILES if few else (form.rows, form.keys)
        self.form = replace(form, rows=rows, keys=keys)
        self.passes = self.form.passes(case)
        self.stages = ["build", *(each.name for each in self.passes)]

    @property
    def said(self) -> str:
        """What tells it from others."""
        return f"{self.case.spec.source.text} {self.case} {self.form}"

    @property
    def is_telling(self) -> bool:
        """Whether there are several tiles, and few enough."""
        least = LEAST_TILES * self.form.rows * self.form.keys
        return max(1, least) <= self.rows * self.keys <= MOST_WORK

    @property
    def can_run(self) -> bool:
        """Whether the programs that come out are few enough."""
        tiles = ceil(self.rows / (self.form.rows or self.rows))
        return self.form.target == "numpy" or tiles * self.form.splits <= MOST_PROGRAMS

    def up_to(self, mutants: Collection[Mutant]) -> list[str]:
        """The stages up to the last that one of the mutants reaches."""
        blamed = frozenset[str]().union(*(mutant.blame for mutant in mutants))
        return self.stages[: max((at for at, name in enumerate(self.stages, 1) if name in blamed), default=0)]

    def step(self, stage: int, before: ModuleOp | None) -> ModuleOp:
        """The module after a stage, which changes the one before it."""
        if before is None:
            return build(self.case.spec, self.case.types)
        self.passes[stage - 1].apply(context(), before)
        return before

    def program(self, module: ModuleOp) -> Program | TritonProgram:
        """What the emitter makes of a module."""
        if self.form.target == "triton":
            return TritonProgram.of(self.case, module, "cpu")
        return program_of(self.case.spec, module)

    def check(self, made: ModuleOp | Program | TritonProgram) -> None:
        """Raises Disagreement where a module or a program gives something else than the reference."""
        case, form = self.case, self.form
        if isinstance(made, ModuleOp):
            made.verify()
            found = interpret(made, case.arrays, case.dims, case.params, choices_of(form))
        else:
            found = made.run(case, form.splits)
        case.check("planted", found, narrowed=form.target == "triton")

    def call(self) -> None:
        """Calls the operator as the example says; raises what is wrong.

        With arrays alone: torch keeps the operator of a text for good, one with a bug planted too.
        """
        assert self.calling is not None
        calling = replace(self.calling, framework="numpy")
        check_call(self.case, calling, operator_of(self.case.spec.source, self.case.types))

    def call_shows(self, mutant: Mutant) -> bool:
        """Whether the call fails with a mutant planted. Raises Unsound where it does without one."""
        with pytest.MonkeyPatch.context() as patching:
            mutant.patch(patching)
            try:
                self.call()
            except Exception:
                pass
            else:
                return False
        try:
            self.call()
        except Exception as error:
            raise Unsound(f"{self.case.spec.source.text}{self.case} {self.case.params} {self.calling}") from error
        return True

    def _is_wrong(self, made: ModuleOp | Program | TritonProgram) -> bool:
        """Whether a module or a program gives wrong numbers, reads where nothing is, or says what is not so."""
        try:
            self.check(made)
        except (Disagreement, IndexError, ValueError):
            return True
        except AssertionError:
            return isinstance(made, ModuleOp)  # the interpreter holds a module to what it says of its values
        except Exception:
            return False
        return False

    def _is_wrong_apart(self, made: TritonProgram) -> bool:
        """The same in a process of its own: Triton's interpreter reads at any address, which may end it."""
        child = get_context("fork").Process(target=lambda: os._exit(int(self._is_wrong(made))))
        child.start()
        child.join()
        return child.exitcode != 0

    def shows(self, wrong: ModuleOp | Program | TritonProgram, right: ModuleOp | Program | TritonProgram) -> bool:
        """Whether an example tells what is wrong from what is right. Raises Unsound where that is wrong too."""
        if not (self._is_wrong_apart(wrong) if isinstance(wrong, TritonProgram) else self._is_wrong(wrong)):
            return False
        try:
            self.check(right)
        except Exception as error:
            raise Unsound(f"{self.case.spec.source.text}{self.case} {self.case.params} {self.form}") from error
        return True

    def takes(self, mutant: Mutant) -> bool:
        """Whether it can tell a mutant: not of an emitter where too many programs come out."""
        return self.can_run or not mutant.in_emitter

    def caught(self, mutants: Collection[Mutant]) -> dict[Mutant, str]:
        """The mutants that the example catches, and after which stage. Raises Unsound."""
        found: dict[Mutant, str] = {}
        module: ModuleOp | None = None
        in_emitter = [mutant for mutant in mutants if mutant.in_emitter]
        for stage, name in enumerate(self.stages if in_emitter else self.up_to(mutants)):
            reached = [mutant for mutant in mutants if name in mutant.blame and mutant not in found]
            before = module.clone() if module is not None and reached else None
            module = self.step(stage, module)
            for mutant in reached:
                spoilt = made_with(mutant, partial(self.step, stage, before.clone() if before is not None else None))
                if spoilt is not None and not spoilt.is_structurally_equivalent(module) and self.shows(spoilt, module):
                    found[mutant] = name
        if self.calling is not None:
            found |= {mutant: CALL for mutant in mutants if mutant.in_call and self.call_shows(mutant)}
        if module is not None and in_emitter:
            right = self.program(module)
            for mutant in in_emitter:
                wrong = made_with(mutant, partial(self.program, module))
                if wrong is not None and wrong.source != right.source and self.shows(wrong, right):
                    found[mutant] = self.form.target
        return found


Candidates = list[Callable[[], Road | Ascent | None]]
"""What a batch may catch mutants with, each made when it is its turn; nothing where an example tells nothing."""

Grounds = Callable[[int], Candidates]
"""The candidates of a batch by its number, the same ones each time."""

Place = tuple[int, int]
"""A batch, and which of its candidates."""


def roads(target: str, number: int) -> Candidates:
    """The roads of the examples of a batch."""
    drawn = batch(FuzzPlan(spec=None, backends=(target,)), number)
    return [partial(road_of, example, form) for example in drawn for form in example.forms]


def road_of(example: Example, form: Form) -> Road | None:
    """The road of an example, where it is telling."""
    road = Road(example.case, form, example.calling)
    return road if road.is_telling else None


def ascents(number: int) -> Candidates:
    """The ascents of the examples of a batch."""
    drawn = batch(FuzzPlan(spec=None, backends=(), elements=("f64",)), number)
    return [partial(ascent_of, example.case) for example in drawn]


def everywhere(grounds: Grounds) -> Iterator[tuple[Place, Road | Ascent]]:
    """All that the batches have, one after another, each once."""
    seen: set[str] = set()
    for number in count():
        for at, make in enumerate(grounds(number)):
            if (found := make()) is not None and found.said not in seen:
                seen.add(found.said)
                yield (number, at), found


def where_caught(grounds: Grounds, places: Mapping[str, Place]) -> Iterator[tuple[Place, Road | Ascent]]:
    """What stands at some places."""
    for number, group in groupby(sorted(set(places.values())), key=lambda place: place[0]):
        candidates = grounds(number)
        for place in group:
            if place[1] < len(candidates) and (found := candidates[place[1]]()) is not None:
                yield place, found


def batch(plan: FuzzPlan, number: int) -> list[Example]:
    """Some examples of a plan."""
    found: list[Example] = []

    @seed(number)
    @settings(
        max_examples=BATCH,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
    )
    @given(examples(plan))
    def draw(example: Example) -> None:
        found.append(example)

    draw()
    return found


def hunt(name: str, known: Mapping[str, Place]) -> Iterator[tuple[Hunted, Place]]:
    """What becomes of each mutant of a hunt, and where, as soon as that is known; at `known` places first."""
    left = {mutant: Hunted(mutant.name, mutant.target) for mutant in MUTANTS if HUNTS[name](mutant)}
    if name == "gradients":
        read_once()
    grounds = ascents if name == "gradients" else partial(roads, next(iter(left)).target)
    for tried_first, found in ((True, where_caught(grounds, known)), (False, everywhere(grounds))):
        for place, road in found:
            tried = [m for m in left if road.takes(m) and (not tried_first or known.get(m.name) == place)]
            try:
                caught = road.caught(tried)
            except Unsound:  # a bug that is none of ours
                traceback.print_exc()
                continue
            for mutant in tried:
                hunted = left[mutant]
                hunted.examples += 1
                if mutant in caught or hunted.examples >= MOST:
                    hunted.stage = caught.get(mutant, "")
                    yield hunted, place
                    del left[mutant]
            if not left:
                return


def places_of(name: str) -> dict[str, Place]:
    """Where the mutants of a hunt were caught last."""
    return {mutant: (number, at) for mutant, (number, at) in json.loads(CAUGHT.read_text())[name].items()}


def keep(name: str, places: Mapping[str, Place]) -> None:
    """Writes down where the mutants of a hunt were caught."""
    text = json.dumps(json.loads(CAUGHT.read_text()) | {name: dict(sorted(places.items()))}, indent=1)
    CAUGHT.write_text(re.sub(r"\[\s+(\d+),\s+(\d+)\s+\]", r"[\1, \2]", text) + "\n")


def main(name: str, *options: str) -> None:
    """Hunts the mutants of one of `HUNTS`."""
    os.environ["TRITON_INTERPRET"] = "1"  # mutants are no business of a GPU
    prepare()
    gc.set_threshold(20_000, 20, 20)  # as of pytest's own process: a tenth of all time went into looking for garbage
    places: dict[str, Place] = {}
    for hunted, place in hunt(name, places_of(name)):
        print(json.dumps(asdict(hunted)), flush=True)
        places |= {hunted.name: place} if hunted.stage else {}
    if "--keep" in options:
        keep(name, places)


if __name__ == "__main__":
    main(*sys.argv[1:])
