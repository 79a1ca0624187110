"""A spec on every stage of its road: the IR interpreted after each pass, then the generated program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from attndsl.backends.numpy.emit import emit
from attndsl.checking.evaluate import evaluate
from attndsl.checking.typed import Spec
from attndsl.driver.passes import parse_pipeline, run_pipeline
from attndsl.driver.pipelines import NUMPY
from attndsl.ir.build import build
from attndsl.ir.context import print_module
from attndsl.ir.interpret import interpret
from attndsl.ir.xdsl import ModuleOp
from attndsl.python_names import python_name
from attndsl.storage import ELEMENTS
from attndsl.testing.case import Array, Case


@dataclass(frozen=True)
class Program:
    """A generated NumPy program and the function in it."""

    source: str
    function: Callable[..., None]

    def run(self, case: Case) -> dict[str, Array]:
        """The outputs of a call, written into arrays that were full of something else."""
        outputs = {}
        for tensor in case.spec.outputs:
            shape = [int(evaluate(extent, case.dims, case.params)) for extent in tensor.extents]
            outputs[tensor.name] = np.empty(shape, ELEMENTS[case.element(tensor.name)].dtype)
            outputs[tensor.name].view(np.uint8)[...] = 0xFF
        inputs = [case.arrays[tensor.name] for tensor in case.spec.inputs]
        params = {python_name(name): value for name, value in case.params.items()}
        self.function(*inputs, *outputs.values(), **params)
        return outputs


def pipeline(rows: int, keys: int) -> str:
    """The pipeline of the NumPy target with tiles of another size."""
    steps = (f"tile{{rows={rows} keys={keys}}}" if s.spelling.startswith("tile{") else s.spelling for s in NUMPY)
    return ",".join(steps)


def compile_program(
    spec: Spec,
    types: Mapping[str, str],
    rows: int = 4,
    keys: int = 3,
    after: Callable[[str, ModuleOp], None] | None = None,
) -> Program:
    """The NumPy program of a spec; `after` is shown the IR as it is built, and after each pass that changed it."""
    module = build(spec, types)
    module.verify()
    last = ""

    def changed(name: str, module: ModuleOp) -> None:
        nonlocal last
        if after is not None and (text := print_module(module)) != last:
            last = text
            after(name, module)

    changed("build", module)
    run_pipeline(module, parse_pipeline(pipeline(rows, keys)), changed)
    source = emit(module, spec.source.text)
    namespace: dict[str, Any] = {}
    exec(compile(source, f"<{spec.name}>", "exec"), namespace)
    return Program(source, namespace[python_name(spec.name)])


def check_compiled(case: Case, rows: int = 4, keys: int = 3) -> None:
    """Raises Disagreement where the NumPy program of a call's spec gives something else than the reference."""
    case.check("numpy", compile_program(case.spec, case.types, rows, keys).run(case))


def check_stages(cases: Iterable[Case], rows: int = 4, keys: int = 3) -> None:
    """Calls of one spec with one choice of types, compared with the reference at each stage.

    Raises Disagreement, which names the first stage that is wrong: `build`, a pass, or `numpy`.
    """
    cases = list(cases)

    def after(name: str, module: ModuleOp) -> None:
        for case in cases:
            case.check(name, interpret(module, case.arrays, case.dims, case.params))

    program = compile_program(cases[0].spec, cases[0].types, rows, keys, after)
    for case in cases:
        case.check("numpy", program.run(case))
