"""Each pass on small modules: `NAME/*.mlir` begin with the command to run, and say in comments what must come out."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import Options
from filecheck.parser import Parser

from attndsl.checking.symbolic import evaluate
from attndsl.checking.typed import Kind
from attndsl.driver.passes import parse_pipeline, run_pipeline
from attndsl.ir import spec
from attndsl.ir.context import parse_module, print_module
from attndsl.ir.exactness import Exactness
from attndsl.ir.interpret import interpret
from attndsl.ir.rewrite import number_in
from attndsl.ir.xdsl import ModuleOp
from attndsl.passes import PASSES, exactness_of
from attndsl.passes.specialise import Specialise
from attndsl.storage import ELEMENTS, encode

HERE = Path(__file__).parent
CASES = sorted(HERE.glob("*/*.mlir"))


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def load(path: Path) -> tuple[ModuleOp, str]:
    """The module of a case, and the passes of its command."""
    text = path.read_text(encoding="utf-8")
    command = re.match(r"// RUN: attndsl opt %s --passes (?:'(.+)'|(\S+))\n", text)
    assert command is not None, "a case begins with its command"
    module = parse_module(text, path.name)
    module.verify()
    return module, (command[1] or command[2]).replace(",keys", " keys")


@cache
def run(path: Path) -> ModuleOp:
    """What the command of a case makes of its module."""
    module, passes = load(path)
    run_pipeline(module, parse_pipeline(passes))
    return module


@cache
def run_apart(path: Path) -> list[tuple[ModuleOp, ModuleOp]]:
    """Each kernel of a case by itself, all where they are not left alone, and what the command makes of them."""
    module, passes = load(path)
    kernels, found = [op for op in module.body.block.ops if op.regions], []
    for kernel in kernels:
        before = module.clone()
        for other, copy in zip(module.body.block.ops, list(before.body.block.ops), strict=True):
            if other in kernels and other is not kernel:
                before.body.block.erase_op(copy)
        after = before.clone()
        run_pipeline(after, parse_pipeline(passes))
        found.append((before, after))
    if sum(_kernels(after) for _, after in found) != _kernels(run(path)):  # it looks at several together
        found.append((module, run(path)))
    return found


def _kernels(module: ModuleOp) -> int:
    return sum(len(op.regions) for op in module.body.block.ops)


@pytest.mark.parametrize("name", PASSES)
def test_every_pass_has_cases(name: str) -> None:
    assert any(path.parent.name == name for path in CASES)


@pytest.mark.parametrize("path", CASES, ids=name_of)
def test_case(path: Path) -> None:
    assert path.parent.name in load(path)[1]
    options = Options(match_filename=str(path))
    matcher = Matcher(options, FInput(path.name, print_module(run(path))), Parser.from_opts(options))
    assert matcher.run() == 0, "differs from its CHECK lines; what differs is printed above"


@pytest.mark.parametrize("path", CASES, ids=name_of)
def test_a_second_run_changes_nothing(path: Path) -> None:
    module = run(path).clone()
    once = print_module(module)
    run_pipeline(module, parse_pipeline(load(path)[1]))
    assert print_module(module) == once


def _drawn(element: str, shape: list[int], size: int, random: np.random.Generator) -> np.ndarray[Any, Any]:
    """An array of an element type; its integers are indices of dims of a `size`, and some that are none."""
    if ELEMENTS[element].kind is Kind.FLOAT:
        return encode(random.normal(size=shape), element)
    if ELEMENTS[element].kind is Kind.BOOL:
        return random.random(shape) < 0.6
    return (random.integers(-2, size + 2, shape) & (255 if element == "u8" else -1)).astype(ELEMENTS[element].dtype)


@pytest.mark.parametrize("size", [4, 20])
@pytest.mark.parametrize("path", CASES, ids=name_of)
def test_the_meaning_stays(path: Path, size: int) -> None:
    """With all dims equal that the passes do not know, whatever a case assumes of them holds."""
    module, passes = load(path)
    tensors = [op for op in module.walk() if isinstance(op, spec.TensorOp)]
    dims = {dim: size for tensor in tensors for dim in tensor.extents.dims}
    for each in parse_pipeline(passes):
        if isinstance(each, Specialise):
            dims.update(zip(each.dims, each.extents, strict=True))
    random = np.random.default_rng(size)
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    for tensor in tensors:
        if tensor.role.data == "input":
            shape = [evaluate(extent, dims, {}) for extent in tensor.shape]
            arrays[tensor.sym_name.data] = _drawn(tensor.element.data, shape, size, random)
    params = {
        op.sym_name.data: number_in(op.default)
        for op in module.walk()
        if isinstance(op, spec.ParameterOp) and op.default is not None
    }
    # Weights are rounded to half a step of f16, and a sum of several may be small, as of many that are multiplied out.
    narrows = any(exactness_of(each.name) is Exactness.NARROWS for each in parse_pipeline(passes))
    relative, absolute = (2.0**-11, 2.0**-9) if narrows else (1e-5, 1e-6)
    absolute = 1e-5 if "reassociate-contractions" in passes else absolute
    absolute = 1e-4 if "exchange-loops" in passes else absolute
    for before, after in run_apart(path):
        wanted = interpret(before, arrays, dims, params)
        for output, found in interpret(after, arrays, dims, params).items():
            if "fuse-loops" in passes:  # exponentials, of both signs, are added up in another order
                absolute = 1e-5 * float(np.abs(wanted[output]).max(initial=0))
            np.testing.assert_allclose(found, wanted[output], rtol=relative, atol=absolute)
