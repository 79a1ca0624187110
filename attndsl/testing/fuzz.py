"""Fuzzing: calls, and whole specs, that hypothesis draws, on every backend beside the reference."""

from __future__ import annotations

import itertools
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings, target
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from hypothesis.strategies import DrawFn

from attndsl.backends.gpu.failing import TritonFails
from attndsl.checking.check import check
from attndsl.checking.evaluate import Number
from attndsl.checking.typed import Spec
from attndsl.choices import SPLITS
from attndsl.diagnostics.base import SpecError
from attndsl.diagnostics.shapes import IndexTooLarge, NegativeIndex
from attndsl.driver.targets import target_of
from attndsl.ir.interpret import interpret
from attndsl.ir.xdsl import ModuleOp
from attndsl.testing.against import Peer
from attndsl.testing.calls import Calling, Operator, check_call, draw_calling, operator_of
from attndsl.testing.case import Array, Case
from attndsl.testing.choices import Choices
from attndsl.testing.constructs import constructs
from attndsl.testing.drawn_inputs import draw_call
from attndsl.testing.drawn_specs import Drawn, draw_spec
from attndsl.testing.metamorphic import Twin, check_twin, draw_twin
from attndsl.testing.stages import Form, Program, check_stages, choices_of, lower, program_of
from attndsl.testing.triton_program import TritonProgram

BATCH = 200
"""Examples that hypothesis draws in one run; each run begins anew, with small ones."""

THOROUGH = 10
"""Of so many cases one is interpreted after each pass; the others at the end of the pipeline alone."""

SHRINKING = 60.0
"""Seconds after which the smallest failing case so far is good enough."""

KEPT = 64
"""Compiled specs that are kept at a time."""

LACKING = {"cpu": "bf16", "cuda": "f64"}
"""What Triton lacks: its interpreter knows no bf16, and on GPUs versions up to 3.6 fail on some products of f64."""

SMALL_TILES = ((4, 3), (16, 16), (1, 1), (3, 7), (24, 12))
"""Rows and keys of a tile, few enough that small arrays are many tiles."""


@dataclass(frozen=True)
class FuzzPlan:
    """What to fuzz: one `spec`, or any where it is None, on `backends`, until the `seconds` or `examples` are spent.

    `dims`, `params` and `elements` hold what is drawn to some values; `device` is where Triton runs. With `against`
    that function's outputs are compared with the reference, and those of no backend.
    """

    spec: Spec | None
    backends: tuple[str, ...] = ("numpy",)
    seconds: float | None = None
    examples: int | None = None
    seed: int = 0
    dims: Mapping[str, int] = field(default_factory=dict)
    params: Mapping[str, Number] = field(default_factory=dict)
    elements: tuple[str, ...] = ("f32", "f16", "bf16", "f64")
    device: str = "cpu"
    against: Peer | None = None


@dataclass(frozen=True)
class Example:
    """A call, and how each backend is to make it.

    It may come with a way in which a user makes it too, and with another text of the spec, a twin, for the first form.
    """

    case: Case
    forms: tuple[Form, ...]
    calling: Calling | None = None
    twin: Twin | None = None


@dataclass(frozen=True)
class Failure:
    """An example on which something went wrong, and what: in one form, or of a peer's."""

    example: Example
    form: Form | None
    error: Exception
    peer: str | None = None

    @property
    def size(self) -> tuple[int, int]:
        """How much there is to read of it."""
        case = self.example.case
        return len(case.spec.source.text), sum(array.size for array in case.arrays.values())


@dataclass
class Summary:
    """What was fuzzed, and what was found.

    `ran` holds, by backend, how many cases it ran, `used` the largest error as a share of its bound; `constructs` and
    `passes` how many cases had each construct of the language, and changed with each pass, of those cases that were
    interpreted after each; `relations` how many had a twin by each relation. `uncompiled` counts drawn specs on which
    Triton's own compiler failed.
    """

    cases: int = 0
    uncompiled: int = 0
    ran: Counter[str] = field(default_factory=Counter)
    thorough: int = 0
    seconds: float = 0.0
    constructs: Counter[str] = field(default_factory=Counter)
    passes: Counter[str] = field(default_factory=Counter)
    relations: Counter[str] = field(default_factory=Counter)
    used: dict[str, float] = field(default_factory=dict)
    failure: Failure | None = None
    interrupted: bool = False


class Unmet(ValueError):
    """No call was found that meets the conditions of a spec."""


def fuzz(
    plan: FuzzPlan,
    progress: Callable[[Summary], None] = lambda summary: None,
    failing: Callable[[str], None] = lambda error: None,
) -> Summary:
    """Fuzzes as `plan` says, until something fails or the budget is spent; an interruption ends it too.

    `progress` is shown the summary after each case, `failing` each error while what failed is shrunk. Raises Unmet.
    """
    return _Fuzzer(plan, progress, failing).run()


def examples(plan: FuzzPlan) -> st.SearchStrategy[Example]:
    """Cases of a plan, with a form for each backend."""

    @st.composite  # without arguments: hypothesis would spell out the spec
    def drawn(draw: DrawFn) -> Example:
        return _example(Choices(draw), plan)

    return drawn()


def _example(choices: Choices, plan: FuzzPlan) -> Example:
    elements = _elements(choices, plan)
    if plan.spec is None:
        drawn, spec = _drawn_spec(choices)
        case = draw_call(choices, spec, drawn.dims, plan.params, elements)
    else:
        case = draw_call(choices, plan.spec, plan.dims, plan.params, elements, plain=plan.against is not None)
    able = [backend for backend in plan.backends if can_run(case, backend, plan.device)]
    forms = tuple(_form(choices, backend) for backend in able)
    calling = draw_calling(choices) if "numpy" in able else None
    return Example(case, forms, calling, draw_twin(choices, case) if plan.spec is None and forms else None)


def _drawn_spec(choices: Choices) -> tuple[Drawn, Spec]:
    """A spec that the language takes: one with an index that is a number, always out of range, is drawn anew.

    `i - N` is one where the row is the last.
    """
    while True:
        drawn = draw_spec(choices)
        try:
            return drawn, check(drawn.source)
        except SpecError as error:
            if not all(isinstance(each, NegativeIndex | IndexTooLarge) for each in error.diagnostics):
                raise


def _elements(choices: Choices, plan: FuzzPlan) -> tuple[str, ...]:
    """The element types to choose from: seldom one that a backend lacks."""
    on_gpu = any(target_of(backend).machines for backend in plan.backends)
    lacking = LACKING[plan.device] if on_gpu and choices.of((True,) * 4 + (False,)) else None
    return tuple(element for element in plan.elements if element != lacking)


def _form(choices: Choices, backend: str) -> Form:
    """A way to compile for a backend: in small tiles, or in such as it has by default."""
    row = target_of(backend)
    rows, keys = choices.of((*SMALL_TILES, row.tiles))
    splits = choices.of((1, 2, 3, 7) if SPLITS in row.chooses else (1, 2))
    known = choices.of((False, True)) if row.specialised else False
    return Form(backend, rows, keys, splits, known, choices.of((*row.processors,)) if row.processors else None)


def can_run(case: Case, backend: str, device: str) -> bool:
    """Whether a backend takes the types of a case."""
    return not target_of(backend).machines or LACKING[device] not in map(case.element, case.spec.tensors)


class Compiler:
    """Compiles cases, and keeps what it made for those that come again: another call of the same spec, in one form."""

    def __init__(self, device: str) -> None:
        self._device = device
        self._made: dict[tuple[object, ...], tuple[ModuleOp, Program | TritonProgram]] = {}
        self._operators: dict[tuple[object, ...], Operator] = {}

    def compile(self, case: Case, form: Form) -> tuple[ModuleOp, Program | TritonProgram]:
        """The module that the emitter took, and the program."""
        key = (case.spec.source, *case.types.items(), form.target, form.passes(case))
        if key not in self._made:
            module = lower(case, form)
            on_gpu = target_of(form.target).machines
            program = (
                TritonProgram.of(case, module, self._device) if on_gpu else program_of(case.spec, module, form.target)
            )
            if len(self._made) >= KEPT:
                self._made.clear()
            self._made[key] = module, program
        return self._made[key]

    def replay(self, example: Example) -> None:
        """All that was drawn for an example, the IR interpreted after each pass; raises what is wrong with it."""
        for form in example.forms:
            self.check(example.case, form, thorough=True)
        if example.twin is not None and example.forms:
            self.twin(example.case, example.twin, example.forms[0])
        if example.calling is not None:
            self.call(example.case, example.calling)

    def call(self, case: Case, calling: Calling) -> float:
        """The largest error of a call of the operator, as a share of its bound. Raises AssertionError."""
        key = (case.spec.source, *case.types.items())
        if key not in self._operators:
            if len(self._operators) >= KEPT:
                self._operators.clear()
            self._operators[key] = operator_of(case.spec.source, case.types)
        return check_call(case, calling, self._operators[key])

    def twin(self, case: Case, twin: Twin, form: Form) -> float:
        """The largest error of a call of a twin, as a share of its bound. Raises Disagreement."""

        def run(case: Case) -> dict[str, Array]:
            return self.compile(case, form)[1].run(case, form.splits)

        return check_twin(case, twin, run, narrowed=form.narrows)

    def check(self, case: Case, form: Form, thorough: bool, seen: list[str] | None = None) -> float:
        """The largest error of a case compiled in one way, as a share of its bound. Raises Disagreement.

        The IR is interpreted at the end of the pipeline, or after each pass if this is to be `thorough`; then the
        program runs.
        """
        if thorough:
            check_stages([case], form=form, seen=seen)
        module, program = self.compile(case, form)
        found = interpret(module, case.arrays, case.dims, case.params, choices_of(form))
        used = case.check("all passes", found, form.narrows)
        outputs = program.run(case, form.splits)
        return max(used, case.check(form.target, outputs, form.narrows))


class _Over(BaseException):
    """The budget is spent; hypothesis lets it through."""


@contextmanager
def _interruptions() -> Iterator[list[int]]:
    """The interruptions that arrive within.

    Each raises KeyboardInterrupt as ever. But Python drops what is raised while it collects garbage, where hypothesis
    measures how long that takes, and in finalisers; whoever looks into the list meets those as well.
    """
    arrived: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield arrived
        return

    def note(number: int, frame: Any) -> None:
        arrived.append(number)
        before(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield arrived
    finally:
        signal.signal(signal.SIGINT, before)


class _Fuzzer:
    def __init__(self, plan: FuzzPlan, progress: Callable[[Summary], None], failing: Callable[[str], None]) -> None:
        self._plan = plan
        self._progress = progress
        self._failing = failing
        self._start = time.monotonic()
        self._summary = Summary()
        self._failed_at: float | None = None
        self._compiler = Compiler(plan.device)
        self._arrived: list[int] = []

    def run(self) -> Summary:
        summary = self._summary
        try:
            with _interruptions() as self._arrived:
                for batch in itertools.count():
                    self._batch(batch)
        except _Over:
            pass
        except KeyboardInterrupt:
            summary.interrupted = True
        except Unsatisfiable as error:
            raise Unmet("no small extents and parameters were found that meet its conditions") from error
        except Exception:
            if summary.failure is None:
                raise
        summary.seconds = time.monotonic() - self._start
        return summary

    def _batch(self, number: int) -> None:
        @seed(self._plan.seed * 1_000_003 + number)
        @settings(
            max_examples=BATCH,
            database=None,
            deadline=None,
            derandomize=False,
            phases=(Phase.generate, Phase.target, Phase.shrink),
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
            verbosity=Verbosity.quiet,
        )
        @given(examples(self._plan))
        def test(example: Example) -> None:
            self._case(example)

        test()

    def _case(self, example: Example) -> None:
        self._stop_if_over()
        summary, plan = self._summary, self._plan
        thorough = self._failed_at is None and summary.cases % THOROUGH == 0
        seen: list[str] = []
        form = None
        try:
            if plan.against is not None:
                outputs = plan.against.outputs(example.case)
                self._note(plan.against.name, example.case.check(plan.against.name, outputs))
            for form in example.forms if plan.against is None else ():
                try:
                    used = self._compiler.check(example.case, form, thorough, seen)
                    if example.twin is not None and form is example.forms[0]:
                        used = max(used, self._compiler.twin(example.case, example.twin, form))
                except TritonFails:
                    if plan.spec is not None:
                        raise
                    summary.uncompiled += 1  # of drawn specs some meet what Triton has to mend
                else:
                    self._note(form.target, used)
            form = None
            if example.calling is not None:
                self._note(f"{example.calling.framework} call", self._compiler.call(example.case, example.calling))
        except Exception as error:
            self._failed_at = self._failed_at or time.monotonic()
            failure = Failure(example, form, error, plan.against.name if plan.against is not None else None)
            if summary.failure is None or failure.size <= summary.failure.size:
                summary.failure = failure
                self._failing(str(error).partition("\n")[0])
            raise
        if self._failed_at is None:
            summary.cases += 1
            summary.thorough += thorough
            summary.constructs.update(constructs(example.case.spec))
            summary.passes.update(set(seen))
            summary.relations.update([] if example.twin is None else [example.twin.relation])
            summary.seconds = time.monotonic() - self._start
            self._progress(summary)

    def _note(self, backend: str, used: float) -> None:
        if self._failed_at is None:
            target(used, label=backend)
            self._summary.ran[backend] += 1
            self._summary.used[backend] = max(used, self._summary.used.get(backend, 0.0))

    def _stop_if_over(self) -> None:
        if self._arrived:
            raise KeyboardInterrupt
        now = time.monotonic()
        plan, summary = self._plan, self._summary
        if self._failed_at is not None:
            if now - self._failed_at > SHRINKING:
                raise _Over
            return
        spent = plan.seconds is not None and now - self._start > plan.seconds
        if spent or (plan.examples is not None and summary.cases >= plan.examples):
            raise _Over
