"""A spec on every stage of its road: the IR interpreted after each pass, then the generated program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attndsl.calling import Arguments
from attndsl.checking.evaluate import evaluate
from attndsl.checking.typed import Spec
from attndsl.choices import KEYS, SPLITS
from attndsl.driver.passes import passes_of, run_pipeline
from attndsl.driver.pipelines import Option, Step
from attndsl.driver.summarise import feature_dims
from attndsl.driver.targets import target_of
from attndsl.ir.build import build
from attndsl.ir.exactness import Exactness
from attndsl.ir.interpret import SMALL_CHOICES, interpret
from attndsl.ir.verified import verify
from attndsl.ir.xdsl import ModuleOp, ModulePass
from attndsl.passes import PASSES, exactness_of
from attndsl.python_names import python_name
from attndsl.storage import ELEMENTS, decode
from attndsl.testing.case import Array, Case, Disagreement

After = Callable[[str, ModuleOp], None]


@dataclass(frozen=True)
class Program:
    """A generated program that takes NumPy arrays, and the function in it."""

    source: str
    function: Callable[..., None]

    def run(self, case: Case, splits: int = 1) -> dict[str, Array]:
        """What a call writes, outputs into arrays that were full of something else; its keys are not split.

        Raises InputChanged.
        """
        outputs, lent = empty_outputs(case), case.lent()
        inputs = tuple(lent[tensor.name] for tensor in case.spec.inputs)
        with case.untouched():
            Arguments(inputs, tuple(outputs.values())).passed_to(self.function, case.params)
        return {tensor.name: {**lent, **outputs}[tensor.name] for tensor in case.spec.results}


def empty_outputs(case: Case) -> dict[str, Array]:
    """Arrays for the outputs of a call, every bit of them set."""
    outputs = {}
    for tensor in case.spec.outputs:
        shape = [int(evaluate(extent, case.dims, case.params)) for extent in tensor.extents]
        outputs[tensor.name] = np.empty(shape, ELEMENTS[case.element(tensor.name)].dtype)
        np.atleast_1d(outputs[tensor.name]).view(np.uint8)[...] = 0xFF
    return outputs


@dataclass(frozen=True)
class Form:
    """How a spec is compiled and called, of what a schedule leaves open.

    Tiles have so many `rows` and `keys`, 0 where a launch is to choose. The keys are cut into `splits` where a launch
    can be asked for that; else more than one says that keys are cut, and products streamed, however few there are.
    `known` says that code is made for the extents of the feature dims; it suits `machine`, the target's default where
    none is named. Where a launch chooses, all tiles are copied as boxes that can be, so that what is drawn meets them.
    """

    target: str = "numpy"
    rows: int = 4
    keys: int = 3
    splits: int = 1
    known: bool = False
    machine: str | None = None

    def passes(self, case: Case) -> tuple[ModulePass, ...]:
        """The pipeline of the target, with these tiles, for calls like `case`. Raises UnknownTarget."""
        known = {name: case.dims[name] for name in feature_dims(case.spec)} if self.known else {}
        target = target_of(self.target)
        steps = target.lowering((self.rows, self.keys), known, self.machine).steps
        if self.splits > 1 and SPLITS not in target.chooses:
            steps = with_many(steps, self.keys + 1)
        return passes_of(steps if self.rows else with_all_boxes(steps))

    @property
    def narrows(self) -> bool:
        """Whether the pipeline rounds what it computes to types that are narrower than the spec's."""
        steps = target_of(self.target).lowering().steps
        return any(exactness_of(step.name) is Exactness.NARROWS for step in steps)


def with_all_boxes(steps: Sequence[Step]) -> tuple[Step, ...]:
    """A pipeline that marks every load which is a box, be it worth it or not."""
    return tuple(s._replace(options={**s.options, "all": True}) if s.name == "find-boxes" else s for s in steps)


def with_many(steps: Sequence[Step], keys: int) -> tuple[Step, ...]:
    """A pipeline that cuts so many keys of few programs, and streams all products, be it worth it or not."""
    least: dict[str, dict[str, Option]] = {
        "split-reduction": {"keys": keys},
        "stream-products": {"products": 1, "halves": 1},
    }
    return tuple(s._replace(options={**s.options, **least.get(s.name, {})}) for s in steps)


def lower(case: Case, form: Form, after: After | None = None) -> ModuleOp:
    """What the emitter of a target takes; `after` sees the IR as it is built, and after each pass that changed it.

    Raises UnknownTarget, IllegalModule.
    """
    module = build(case.spec, case.types)
    verify(module)

    def changed(name: str, module: ModuleOp, is_changed: bool) -> None:
        if after is not None and is_changed:
            after(name, module)

    if after is not None:
        after("build", module)
    # What is no module in between shows in its numbers, or at the end; then all stages are verified, one by one.
    run_pipeline(module, form.passes(case), changed if after is not None else None, verify_each=False)
    target_of(form.target).legal().require(module)
    return module


def compile_program(spec: Spec, types: Mapping[str, str], rows: int = 4, keys: int = 3) -> Program:
    """The NumPy program of a spec, with tiles of this size."""
    return program_of(spec, lower(Case(spec, types, {}, {}, {}), Form(rows=rows, keys=keys)))


def program_of(spec: Spec, module: ModuleOp, target: str = "numpy") -> Program:
    """The program that a target's emitter makes of a lowered module, where it takes NumPy arrays.

    The loops that Numba would compile are run as they stand: tiles are small.
    """
    source = target_of(target).emitter()(module, spec.source.text)
    namespace: dict[str, Any] = {}
    exec(compile(source, f"<{spec.name}>", "exec"), namespace)
    namespace["_has_numba"] = lambda: True
    return Program(source, namespace[python_name(spec.name)])


def check_compiled(case: Case, rows: int = 4, keys: int = 3) -> None:
    """Raises Disagreement where the NumPy program of a call's spec gives something else than the reference."""
    case.check("numpy", compile_program(case.spec, case.types, rows, keys).run(case))


def check_stages(
    cases: Iterable[Case], rows: int = 4, keys: int = 3, form: Form | None = None, seen: list[str] | None = None
) -> ModuleOp:
    """Calls of one spec with one choice of types, compared with the reference at each stage; what the emitter takes.

    The IR is interpreted after every pass that changed it; `seen` gets their names. It agrees with the reference as
    `error_bounds` has it, and with what it gave before, to the bit, where the pass is declared to be exact. Raises
    Disagreement, which names the first stage that is wrong: `build`, a pass, or the target.
    """
    cases = list(cases)
    form = form or Form(rows=rows, keys=keys)
    choices = choices_of(form)
    before: list[dict[str, Array]] = []
    narrowed = False

    def after(name: str, module: ModuleOp) -> None:
        nonlocal before, narrowed
        if seen is not None:
            seen.append(name)
        exactness = exactness_of(name) if name in PASSES else Exactness.REASSOCIATES
        narrowed |= exactness is Exactness.NARROWS
        found = [interpret(module, case.arrays, case.dims, case.params, choices) for case in cases]
        for case, outputs in zip(cases, found, strict=True):
            case.check(name, outputs, narrowed)
        if exactness is Exactness.EXACT:
            for case, outputs, last in zip(cases, found, before, strict=True):
                _check_equal(case, name, outputs, last)
        before = found

    module = lower(cases[0], form, after)
    if not target_of(form.target).machines:
        program = program_of(cases[0].spec, module, form.target)
        for case in cases:
            case.check(form.target, program.run(case))
    return module


def choices_of(form: Form) -> dict[str, int]:
    """What the interpreter of the IR takes for a launch's choices; tiles that a launch chooses divide a page."""
    return {**SMALL_CHOICES, KEYS: 4, SPLITS: form.splits}


def _check_equal(case: Case, stage: str, outputs: Mapping[str, Array], before: Mapping[str, Array]) -> None:
    """Raises Disagreement where a pass that is declared to be exact changed a number."""
    for name, found in outputs.items():
        old, new = (decode(array, case.element(name)) for array in (before[name], found))
        if not np.array_equal(old, new, equal_nan=True):
            raise Disagreement.between(case, stage, name, new, old)
