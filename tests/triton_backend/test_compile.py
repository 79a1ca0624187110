"""Generated Triton becomes GPU code on a machine that has no GPU: one kernel of a few specs, for one target and type.

Every spec, target and type is `make test-matrix`, in test_matrix.py, which CI runs too.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from attndsl.backends.gpu import aot
from attndsl.backends.gpu.aot import (
    Form,
    KernelLaunch,
    PackageMissing,
    compile_ahead,
    compile_launch,
    launches,
    load,
)
from attndsl.backends.gpu.stand_ins import POINTERS, TooLarge, stand_in
from attndsl.backends.gpu.targets import TARGETS
from attndsl.checking.check import check
from attndsl.driver.ahead import ExtentsMissing, generated, gpu_files
from attndsl.syntax.read import read_source

from .ahead import ELEMENTS, TARGETS_OF_CI, compiled, sizes_of
from .lowered import spec_of

ELF = b"\x7fELF"

ROOT = Path(__file__).parents[2]

REGRESSIONS = ROOT / "tests/differential/regressions"

UNLIKE = (
    "gqa", "document_mask", "f8_cache", "int4_cache", "lse", "mla_projections", "neighbourhood_2d", "packed_ragged",
    "paged_decode", "relu_attention", "retention", "topk_sparse",
)  # fmt: skip
"""Specs that differ in what they read, mask, reduce and write."""


@pytest.mark.parametrize(("number", "name"), list(enumerate(UNLIKE)))
def test_specs_compile(number: int, name: str) -> None:
    target = TARGETS_OF_CI[number % len(TARGETS_OF_CI)]
    choices = ELEMENTS[name]
    (binary,) = compiled(name, target, choices[number // len(TARGETS_OF_CI) % len(choices)], kernels=1)
    assert binary.code.startswith(ELF)
    assert binary.kernel in binary.assembly


@pytest.mark.parametrize("target", sorted(TARGETS.keys() - set(TARGETS_OF_CI)))
def test_every_kind_of_target_compiles(target: str) -> None:
    binaries = compiled("mha", target, "f16")
    assert binaries and all(binary.code.startswith(ELF) for binary in binaries)


def test_all_that_may_be_launched_is_found() -> None:
    spec = spec_of("gqa")
    text, tensors = generated(spec, {"T": "f16"}, "cuda:90", {"D": 128, "E": 128})
    found = list(launches(text, "gqa", tensors))
    functions = load(text)
    table = functions["GQA_SCHEDULES"]
    assert len(table) > 1
    assert [launch.values["ROWS"] for launch in found if launch.kernel == "gqa_kernel"] == [s["ROWS"] for s in table]


def test_what_runs_in_the_schedules_of_another_kernel_is_found_in_each() -> None:
    types = {"T": "f16", "I": "i32"}
    text, tensors = generated(spec_of("document_mask"), types, "cuda:90", {"D": 128, "E": 128})
    found = list(launches(text, "document_mask", tensors))
    rows = [schedule["ROWS"] for schedule in load(text)["DOCUMENT_MASK_SCHEDULES"]]
    for kernel in ("document_mask_look_kernel", "document_mask_kernel"):
        assert [launch.values["ROWS"] for launch in found if launch.kernel == kernel] == rows
    (look,) = compiled("document_mask", "cuda:90", "f16", kernels=1)
    assert look.kernel == "document_mask_look_kernel" and look.code.startswith(ELF)


def test_usual_code_is_what_triton_would_compile_and_other_code_assumes_nothing() -> None:
    text, tensors = generated(spec_of("mha"), {"T": "f16"}, "cuda:80", {"D": 32, "E": 32})
    launch = next(launches(text, "mha", tensors))
    function = load(text)[launch.kernel]
    usual = compile_launch(function, launch, "usual", TARGETS["cuda:80"])
    assert usual.fixed == {"q_s3": 1, "k_s3": 1, "v_s3": 1, "o_s3": 1}
    assert {"q_ptr", "q_s0", "q_s1", "q_s2"} <= set(usual.aligned)
    assert usual.constants["INDEX"] == "int32"
    assert (usual.signature["q_ptr"], usual.signature["q_s3"]) == ("*fp16", "constexpr")
    other = compile_launch(function, launch, "any", TARGETS["cuda:80"])
    assert (other.fixed, other.aligned) == ({}, [])
    assert other.constants["INDEX"] == "int64"
    assert other.signature["q_s3"] == "i64"
    assert list(other.signature) == list(usual.signature) == function.arg_names


def test_strides_that_only_calls_settle_are_not_assumed_to_be_multiples() -> None:
    types = {"T": "f16", "I": "i32"}
    text, tensors = generated(spec_of("paged_decode"), types, "cuda:80", sizes_of("paged_decode", 16))
    launch = next(launches(text, "paged_decode", tensors))
    made = compile_launch(load(text)[launch.kernel], launch, "usual", TARGETS["cuda:80"])
    assert "table_ptr" in made.aligned
    assert "table_s0" not in made.aligned


def test_one_feature_is_no_special_stride() -> None:
    """With it the stride of a key is 1, and code casts the strides of keys."""
    text, tensors = generated(spec_of("mha"), {"T": "f16"}, "cuda:80", {"D": 1, "E": 1})
    launch = next(launches(text, "mha", tensors))
    made = compile_launch(load(text)[launch.kernel], launch, "usual", TARGETS["cuda:80"])
    assert made.signature["k_s2"] == "i64"


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90"])
def test_bf16_is_not_computed_in_f16(target: str) -> None:
    """LLVM would, of what it sees widened from the one and rounded to the other: f16 has no 1e5."""
    spec = check(read_source(REGRESSIONS / "halves_of_two_kinds.attn"))
    text, tensors = generated(spec, {"T": "bf16"}, target, {"E": 16})
    launch = next(launches(text, spec.name, tensors))
    made = compile_launch(load(text)[launch.kernel], launch, "usual", TARGETS[target])
    assert "mul.f32" in made.assembly and "mul.f16" not in made.assembly


def test_more_shared_memory_than_there_is_is_refused() -> None:
    text, tensors = generated(spec_of("mha"), {"T": "f16"}, "cuda:90", {"D": 128, "E": 128})
    launch = next(launches(text, "mha", tensors))
    deep = launch._replace(options={**launch.options, "num_stages": 12})
    with pytest.raises(TooLarge, match=r"mha_kernel with .*num_stages=12 needs \d+ bytes of shared .* on cuda:89"):
        compile_launch(load(text)[launch.kernel], deep, "usual", TARGETS["cuda:89"])


def asked(
    monkeypatch: pytest.MonkeyPatch, too_large: Callable[[KernelLaunch, Form], bool]
) -> list[tuple[KernelLaunch, Form]]:
    """What compiling a spec ahead of time asks of Triton, which is said to find some of it too large."""
    found: list[tuple[KernelLaunch, Form]] = []

    def compile_launch(function: Any, launch: KernelLaunch, form: Form, target: Any) -> Any:
        found.append((launch, form))
        if too_large(launch, form):
            raise TooLarge(f"{launch.kernel} needs more")
        return launch, form

    monkeypatch.setattr(aot, "compile_launch", compile_launch)
    text, tensors = generated(spec_of("int4_cache"), {"T": "bf16"}, "cuda:90", {"D": 128, "E": 128})
    told: list[tuple[int, int]] = []
    made: Any = compile_ahead(text, "int4_cache", TARGETS["cuda:90"], tensors, lambda *numbers: told.append(numbers))
    assert [done for done, _ in told] == list(range(1, len(told) + 1)) and {of for _, of in told} == {len(told)}
    assert sorted(map(repr, made)) == sorted(repr(each) for each in found if not too_large(*each))
    return found


def test_each_schedule_is_compiled_once_and_each_kernel_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """A form for any strides with every schedule took more time than all the others."""
    found = asked(monkeypatch, lambda launch, form: False)
    text, tensors = generated(spec_of("int4_cache"), {"T": "bf16"}, "cuda:90", {"D": 128, "E": 128})
    known = list(launches(text, "int4_cache", tensors))
    assert sorted(repr(launch) for launch, form in found if form == "usual") == sorted(map(repr, known))
    kernels = dict.fromkeys(launch.kernel for launch in known)
    assert sorted(launch.kernel for launch, form in found if form == "any") == sorted(kernels) and len(kernels) == 3


def test_the_form_for_any_strides_is_that_of_the_first_schedule_that_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    found = asked(monkeypatch, lambda launch, form: form == "any" and launch.values.get("ROWS") == 16)
    rows = [launch.values["ROWS"] for launch, form in found if form == "any" and "ROWS" in launch.values]
    assert sorted(rows) == [16, 16, 32, 32]


@pytest.mark.parametrize("form", ["usual", "any"])
def test_a_kernel_of_which_nothing_fits_is_refused(monkeypatch: pytest.MonkeyPatch, form: Form) -> None:
    with pytest.raises(TooLarge, match="int4_cache_split_kernel needs more"):
        asked(monkeypatch, lambda launch, asked: asked == form and launch.kernel == "int4_cache_split_kernel")


def test_missing_extents_are_named() -> None:
    with pytest.raises(ExtentsMissing, match="fixed extents of D, E"):
        gpu_files(spec_of("gqa"), {"T": "f16"}, "cuda:90", {"B": 16})


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    find: Callable[..., Any] = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "triton" else find(name))
    with pytest.raises(PackageMissing, match=r"the package triton, .*pip install '?triton"):
        gpu_files(spec_of("gqa"), {"T": "f16"}, "cuda:90", {"D": 16, "E": 16})


WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None
from attndsl.checking.check import check
from attndsl.driver.ahead import gpu_files
from attndsl.syntax.read import read_source
spec = check(read_source("examples/f8_cache.attn"))
assert gpu_files(spec, {"T": "bf16"}, "cuda:90", {"D": 16, "E": 16})
"""


def test_compiling_imports_no_torch() -> None:
    command = [sys.executable, "-c", WITHOUT_TORCH]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (0, "")


TORCH_TYPES = {
    "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64,
    "i8": torch.int8, "u8": torch.uint8, "i16": torch.int16, "u16": torch.uint16, "i32": torch.int32,
    "u32": torch.uint32, "i64": torch.int64, "bool": torch.bool,
}  # fmt: skip


@pytest.mark.parametrize("element", POINTERS)
def test_a_stand_in_is_what_triton_takes_a_tensor_for(element: str) -> None:
    from triton.runtime.jit import mangle_type

    tensor = torch.empty(2, 1, 3, 0, 5, dtype=TORCH_TYPES[element])
    stands_in = stand_in(element, tensor.shape)
    assert (stands_in.pointer, stands_in.shape) == (mangle_type(tensor), tensor.shape)
    assert stands_in.stride() == tensor.stride() and stands_in.stride(1) == tensor.stride(1)
