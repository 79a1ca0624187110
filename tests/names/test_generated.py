"""Whatever names a spec has, it is the same program: on NumPy beside the reference, elsewhere by its text."""

from __future__ import annotations

import inspect
import re
from functools import cache
from typing import Any, NamedTuple

import pytest
import torch
from triton.runtime import jit

from attndsl.backends.gpu.aot import launches, load
from attndsl.backends.gpu.host import host_text, kernel_names
from attndsl.backends.gpu.manifest import LOADER, launcher
from attndsl.backends.gpu.stand_ins import StandIn
from attndsl.backends.gpu.targets import TARGETS
from attndsl.backends.triton.emit import emit
from attndsl.checking.check import check
from attndsl.checking.typed import Spec
from attndsl.driver.ahead import generated
from attndsl.driver.compile import compile_spec
from attndsl.driver.summarise import summarise
from attndsl.ir.context import parse_module, print_module
from attndsl.ir.xdsl import ModuleOp
from attndsl.op.plan import Output, first_call
from attndsl.python_names import launches_name, pointer_name, python_name
from attndsl.storage import ELEMENTS
from attndsl.syntax.source import Source
from attndsl.testing.case import types_with
from attndsl.testing.hostile_names import HOSTILE_NAMES
from attndsl.testing.stages import Form, compile_program, lower

from .hostile import PLACES, Names, case_of, fillings, spec_of
from .reading import faults

FEW, SOME, MANY, ALL = 96, 48, 9, 1
"""How far apart the names are of fillings that are tried one after the other."""

LONGER = pytest.param(3, marks=pytest.mark.matrix)

PLAIN = {place: f"plain{place.replace('_', '')}" for place in PLACES}


@cache
def lowered(known: bool) -> str:
    """The text that the emitter of Triton takes for the spec with plain names."""
    case = case_of(spec_of(PLAIN), PLAIN)
    return print_module(lower(case, Form("triton", 0, 0, known=known)))


def renamed(names: Names, known: bool) -> ModuleOp:
    """The same with others: lowering takes most of the time, and knows no names."""
    places = {plain: place for place, plain in PLAIN.items()}
    pattern = re.compile(rf"(?<![%\w])({'|'.join(places)})(?=\b|_)")
    return parse_module(pattern.sub(lambda found: names[places[found[1]]], lowered(known)))


def words_of_generated_files() -> tuple[str, ...]:
    """Every word of the files of the spec with plain names, and of the loader's."""
    spec = spec_of(PLAIN)
    program = compile_program(spec, types_with(spec, "f32")).source
    texts = [program, *(emit(parse_module(lowered(known)), spec.source.text) for known in (False, True))]
    found = {word for text in (*texts, LOADER.read_text()) for word in re.findall(r"[A-Za-z_]\w*", text)}
    return tuple(sorted(word for word in found if "plain" not in word and word not in LANGUAGE))


LANGUAGE = frozenset(
    re.findall(
        r"\w+",
        "attention dims types input output require each over up to in let if then else or and not schedule true false "
        "sum score mask softmax logsumexp sqrt inf",
    )
) | {*ELEMENTS}
"""What no spec may call its own, and what this one says already."""


def check_numpy(names: Names) -> None:
    spec = spec_of(names)
    case = case_of(spec, names)
    program = compile_program(spec, case.types)
    assert faults(program.source, spec) == []
    case.check("numpy", program.run(case))


def check_triton(names: Names, module: ModuleOp) -> None:
    spec = spec_of(names)
    text = emit(module, spec.source.text)
    compile(text, "generated", "exec")
    assert faults(text, spec) == []
    name = python_name(spec.name)
    ahead = launcher(name, TARGETS["cuda:90"], text, b"")
    compile(ahead, "launcher", "exec")
    defined = re.findall(r"^(?:def|class) (\w+)", ahead, re.MULTILINE)
    assert len(defined) == len(set(defined))


def test_every_name_is_allowed_in_every_place() -> None:
    for names in fillings(ALL):
        spec_of(names)


@pytest.mark.parametrize("step", [MANY, LONGER])
def test_numpy(step: int) -> None:
    for names in fillings(step):
        check_numpy(names)


@pytest.mark.parametrize("step", [SOME, LONGER])
def test_triton(step: int) -> None:
    for number, names in enumerate(fillings(step)):
        check_triton(names, renamed(names, known=bool(number % 2)))


@pytest.mark.parametrize("step", [FEW, pytest.param(SOME, marks=pytest.mark.matrix)])
def test_triton_of_a_spec_that_was_lowered_with_these_names(step: int) -> None:
    for names in fillings(step):
        check_triton(names, lower(case_of(spec_of(names), names), Form("triton", 0, 0)))


@pytest.mark.parametrize("step", [FEW, pytest.param(MANY, marks=pytest.mark.matrix)])
def test_every_word_that_generated_files_have(step: int) -> None:
    words = words_of_generated_files()
    assert {"np", "tl", "_larger", "_choose_rows", "launches", "CheckedCall", "LARGEST", "ctypes"} <= {*words}
    for names in fillings(step, words):
        check_numpy(names)
        check_triton(names, renamed(names, known=False))


def test_each_name_has_an_identifier_of_its_own() -> None:
    names = {*HOSTILE_NAMES, *(f"{name}_" for name in HOSTILE_NAMES), *(f"{name}__" for name in HOSTILE_NAMES)}
    assert len({python_name(name) for name in names}) == len(names)
    assert all(python_name(name).isidentifier() for name in names)


@cache
def generated_file(number: int) -> tuple[str, Spec, list[StandIn]]:
    """A file for a GPU, of a spec whose outputs stand before inputs, and tensors that it can be called with."""
    names = list(fillings(FEW))[number]
    spec = spec_of(names)
    text, tensors = generated(spec, types_with(spec, "f32"), "cuda:90", {names["width"]: 16})
    return text, spec, tensors


@pytest.mark.parametrize("number", [0, 1])
def test_kernels_get_the_tensors_that_they_name(number: int) -> None:
    text, spec, tensors = generated_file(number)
    names = [tensor.name for tensor in summarise(spec).arguments]
    assert names == [tensor.name for tensor in (*spec.inputs, *spec.outputs)]
    given = {pointer_name(name): tensor for name, tensor in zip(names, tensors, strict=True)}
    for launch in launches(text, python_name(spec.name), tensors):
        for pointer, tensor in given.items():
            assert launch.values.get(pointer, tensor) is tensor


class Kernel(NamedTuple):
    """Stands for a kernel of Triton, and for what is compiled of it."""

    arg_names: list[str]

    def __getitem__(self, grid: Any) -> Any:
        return lambda *arguments, **options: self


@pytest.mark.parametrize("number", [0, 1])
def test_plans_give_kernels_the_tensors_that_they_name(number: int) -> None:
    text, spec, tensors = generated_file(number)
    module = load(text)
    host = {**module, **{name: Kernel(module[name].arg_names) for name in kernel_names(text)}}
    exec(host_text(text), host)
    real = [torch.zeros(tensor.shape) for tensor in tensors]
    inputs = dict(zip([tensor.name for tensor in spec.inputs], real, strict=False))
    rest = zip(spec.outputs, real[len(inputs) :], strict=True)
    outputs = {tensor.name: Output(tuple(t.shape), t.dtype, t.device, partial=False) for tensor, t in rest}
    params = {param.name: 1 if param.default is None else param.default for param in spec.params}
    plan, _ = first_call(host[launches_name(spec.name)], inputs, outputs, params)
    wanted = [pointer_name(name) for name in (*inputs, *outputs)]
    found = {launch.kernel.arg_names[place]: n for launch in plan.launches for place, n in launch.pointers}
    assert {name: number for name, number in found.items() if name in wanted} == {n: i for i, n in enumerate(wanted)}


def test_words_of_tritons_launcher_are_no_names_of_arguments() -> None:
    def kernel(x: Any) -> None: ...

    jitted = jit.JITFunction(kernel)
    code = jit.create_function_from_signature(jitted.signature, jitted.params, None).__code__
    words = {*code.co_varnames, *code.co_names} - {"x"}
    words |= {*re.findall(r'kwargs\["(\w+)"\]', inspect.getsource(jit.JITFunction.run)), "num_warps", "num_stages"}
    assert {"options", "specialize_impl", "debug"} <= words
    assert [word for word in words if python_name(word) == word] == []


def test_sizes_whose_names_differ_in_a_number_are_two() -> None:
    text = """attention t { dims M, N, D_1, D_2
        input q : f32[M, D_1] input k : f32[N, D_1] input v : f32[N, D_2] output o : f32[M, D_2]
        each i in M over j in N o[i,:] = softmax(q[i,:] . k[j,:]) . v[j,:] }"""
    source = compile_spec(check(Source(text)), {}, "triton").source
    kernel = source[source.index("def t_kernel(") :]
    assert {"D_PAD: tl.constexpr", "D_PAD_2: tl.constexpr"} <= {*re.findall(r"D_PAD\w*: tl.constexpr", kernel)}
