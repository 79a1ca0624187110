"""Calls with tensors of a GPU, planned and launched: everything but the GPU, for which stubs stand in.

A stub of a compiled kernel computes on the addresses that it is launched with, as a GPU does.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode

import attndsl
from attndsl.cache import ENVIRONMENT
from attndsl.driver.library import checked
from attndsl.driver.module import load_module
from attndsl.driver.signature import ParamSignature, Signature, TensorSignature
from attndsl.driver.tuned import Tuned
from attndsl.op import binding, errors, gpu, torch_op
from attndsl.op.gpu import is_plain
from attndsl.op.plan import Output, first_call
from attndsl.testing import Case

EXAMPLES = Path(__file__).parents[2] / "examples"

SCALE = Signature(
    name="scale",
    dims=("B", "N", "D"),
    types={"T": ("f32", "f64")},
    params=(ParamSignature("factor", "float", 2.0), ParamSignature("shift", "int", 0)),
    inputs=tuple(TensorSignature(name, "T", (("dim", "N"), ("dim", "D"))) for name in ("x", "y")),
    outputs=(TensorSignature("o", "T", (("dim", "N"), ("dim", "D"))), TensorSignature("rows", "f32", (("dim", "N"),))),
    requires=(("igt", ("dim", "D"), 0),),
    work=(),
    features=("D",),
)

SOURCE = '''
import ctypes
import numpy as np
import torch

def memory(address, shape, strides):
    size = 1 + sum((n - 1) * s for n, s in zip(shape, strides))
    flat = np.frombuffer((ctypes.c_float * size).from_address(address), np.float32)
    return np.lib.stride_tricks.as_strided(flat, shape, [4 * s for s in strides])

class Compiled:
    function, packed_metadata = "handle", "metadata"

    def __init__(self, compute):
        self.compute = compute
        self.launches = []

    def run(self, x, y, z, stream, function, metadata, launch_metadata, enter, leave, *arguments):
        assert (y, z, function, metadata, launch_metadata, enter, leave) == (1, 1, "handle", "metadata", *[None] * 3)
        self.launches.append((x, stream))
        self.compute(*arguments)

class Kernel:
    """Compiles for what code is made for, here the options; launches by addresses."""
    def __init__(self, compute):
        self.compute = compute
        self.arg_names = compute.__code__.co_varnames[: compute.__code__.co_argcount]
        self.made = {}

    def __getitem__(self, grid):
        def launch(*arguments, **options):
            compiled = self.made.setdefault(str(options), Compiled(self.compute))
            numbers = [a.data_ptr() if isinstance(a, torch.Tensor) else a for a in arguments]
            compiled.run(*grid, 1, 1, "first", "handle", "metadata", None, None, None, *numbers)
            return compiled
        return launch

def sum_rows(x_ptr, x_s0, x_s1, sums_ptr, ones_ptr, N, D):
    memory(sums_ptr, (N,), (1,))[:] = memory(x_ptr, (N, D), (x_s0, x_s1)).sum(1)
    memory(ones_ptr, (N,), (1,))[:] = 1

def finish(y_ptr, y_s0, y_s1, sums_ptr, ones_ptr, o_ptr, rows_ptr, factor, shift, N, D):
    memory(o_ptr, (N, D), (D, 1))[:] = factor * memory(y_ptr, (N, D), (y_s0, y_s1)) + shift
    rows = memory(rows_ptr, (N,), (1,))
    rows[1:] += (memory(sums_ptr, (N,), (1,)) * memory(ones_ptr, (N,), (1,)))[1:]

sum_kernel, finish_kernel = Kernel(sum_rows), Kernel(finish)

def scale_launches(x, y, o, rows, *, factor=2.0, shift=0, schedule=None):
    N, D = x.shape
    sums, ones = torch.empty(N), torch.empty(N)
    yield sum_kernel, N, (x, *x.stride(), sums, ones, N, D), {"num_warps": 4 if N < 8 else 8, **schedule}
    yield finish_kernel, 1, (y, *y.stride(), sums, ones, o, rows, factor, shift, N, D), {}
'''


@pytest.fixture
def scale(make: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An operator for whose calls the CPU passes for a GPU."""

    def plain_on_cpu(tensors: Any) -> bool:
        recorded = torch.is_grad_enabled()
        return all(type(tensor) is torch.Tensor and not (recorded and tensor.requires_grad) for tensor in tensors)

    monkeypatch.setattr(gpu, "is_plain", plain_on_cpu)
    monkeypatch.setattr(torch_op, "is_plain", plain_on_cpu)
    monkeypatch.setattr(torch.cuda, "device", lambda device: nullcontext())
    monkeypatch.setattr(torch.cuda, "current_device", lambda: None)
    monkeypatch.setattr(gpu, "machine", lambda: "cuda:90")
    monkeypatch.setattr(gpu, "has_roles", lambda: False)
    monkeypatch.setattr(gpu, "described", lambda device: "a GPU")
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda index: "stream", raising=False)
    real = torch.empty  # new memory is never 0 by chance
    monkeypatch.setattr(torch, "empty", lambda *args, **named: real(*args, **named).fill_(7))
    return make(SCALE, SOURCE)


def inputs(n: int = 5, d: int = 3) -> dict[str, Any]:
    return {"x": torch.randn(n, d), "y": torch.randn(n, d)}


def agrees(outputs: Any, x: torch.Tensor, y: torch.Tensor, factor: float = 2.0, shift: int = 0) -> bool:
    sums = x.sum(1)
    sums[:1] = 0
    return torch.allclose(outputs.o, factor * y + shift) and torch.allclose(outputs.rows, sums, atol=1e-6)


def launched(op: Any) -> list[Any]:
    return [launch for kernel in op._tensor_calls.gpu._kernels for launch in kernel.launches]


def test_a_call_like_an_earlier_one_is_launched_from_its_plan(scale: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    op, compiler = scale
    given = inputs()
    assert agrees(op(**given), **given)
    monkeypatch.setattr(gpu, "check", None)  # nothing is checked again
    for _ in range(3):
        given = inputs()
        assert agrees(op(**given), **given)
    assert [stream for _, stream in launched(op)].count("stream") == 6
    assert {programs for programs, _ in launched(op)} == {1, 5}
    assert compiler.compiled == [{"T": "f32"}]
    assert op.compilations == 2


def test_each_call_has_its_own_outputs(scale: Any) -> None:
    op, _ = scale
    first, second = inputs(), inputs()
    kept = [op(**first), op(**second), op(**first)]
    assert agrees(kept[0], **first) and agrees(kept[1], **second) and agrees(kept[2], **first)


def test_outputs_are_written_into_what_is_given(scale: Any) -> None:
    """The first time and by a plan; what rows leave unwritten is 0."""
    op, _ = scale
    for _ in range(3):
        given = inputs()
        out = torch.full((5, 3), 7.0), torch.full((5,), 7.0)
        version = out[0]._version
        outputs = op(**given, out=out)
        assert (outputs.o is out[0], outputs.rows is out[1]) == (True, True)
        assert agrees(outputs, **given)
        assert out[0]._version > version
    assert op.compilations == 2
    assert agrees(op(**given), **given)


def test_what_is_given_for_outputs_is_checked_after_a_good_call_too(scale: Any) -> None:
    op, _ = scale
    given = inputs()
    for _ in range(2):
        for o, error in (
            (given["y"], errors.OutputOverlaps),
            (torch.zeros(1, 3).expand(5, 3), errors.OutputOverlaps),
            (torch.zeros(5, 3).double(), errors.WrongOutput),
            (torch.zeros(5, 4), errors.WrongOutput),
            (torch.zeros(5, 3).requires_grad_(), errors.OutputDifferentiated),
        ):
            with pytest.raises(error):
                op(**given, out=(o, torch.zeros(5)))
        op(**given, out=(torch.zeros(5, 3), torch.zeros(5)))


def test_plans_hold_no_tensor(scale: Any) -> None:
    from weakref import ref

    op, _ = scale
    given = inputs()
    outputs = op(**given)
    watched = [ref(each) for each in (*given.values(), outputs.o)]
    del given, outputs
    gc.collect()
    assert [each() for each in watched] == [None] * 3


CHANGES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "sizes": lambda given: inputs(n=6),
    "strides": lambda given: {**given, "x": given["x"].T.contiguous().T},
    "alignment": lambda given: {**given, "y": torch.cat([torch.zeros(1), given["y"].flatten()])[1:].view(5, 3)},
    "one tensor twice": lambda given: {"x": given["x"], "y": given["x"]},
    "a parameter": lambda given: {**given, "factor": 3.0},
    "a parameter by position of its value": lambda given: {**given, "shift": 2},
    "an expanded row": lambda given: {**given, "x": given["x"][:1].expand(5, 3)},
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_from_call_to_call_changes_the_outputs_and_compiles_nothing(scale: Any, change: str) -> None:
    op, compiler = scale
    given = inputs()
    for _ in range(2):
        for call in (given, CHANGES[change](given), inputs()):
            outputs = op(**call)
            assert agrees(outputs, **call)
    assert (op.compilations, len(compiler.compiled)) == (2, 1)


@pytest.mark.parametrize(("factors", "plans"), [((0.0, -0.0), 2), ((float("nan"), -float("nan")), 1)])
def test_plans_tell_a_zero_from_the_other_and_know_nan(scale: Any, factors: tuple[float, float], plans: int) -> None:
    op, _ = scale
    for factor in factors:
        op(**inputs(), factor=factor)
    assert len(op._tensor_calls.gpu._plans) == plans


def test_feature_dims_and_types_have_code_of_their_own(scale: Any) -> None:
    op, compiler = scale
    for d in (3, 4, 3):
        op(**inputs(d=d))
    assert len(compiler.compiled) == 2
    assert op.compilations == 4


def test_the_counter_sees_what_triton_compiles_anew(scale: Any) -> None:
    op, _ = scale
    op(**inputs(n=5))
    op(**inputs(n=9))
    assert op.compilations == 3


def test_what_was_tuned_is_for_calls_of_about_its_size_with_the_same_code_and_gpu(
    scale: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(ENVIRONMENT, str(tmp_path))
    op, compiler = scale
    Tuned("a GPU", compiler.source).put({"N": 6, "D": 3}, {"num_warps": 1})
    Tuned("a GPU", compiler.source).put({"N": 6, "D": 5}, {"num_warps": 2})
    Tuned("another", compiler.source).put({"N": 12, "D": 3}, {"num_warps": 16})
    Tuned("a GPU", f"{compiler.source}\n").put({"N": 12, "D": 3}, {"num_warps": 32})
    for n, warps in ((5, 1), (8, 1), (4, 4), (9, 8)):
        given = inputs(n)
        assert agrees(op(**given), **given)
        made = next(iter(op._tensor_calls.gpu._programs.values())).launches.__globals__["sum_kernel"].made
        assert list(made)[-1] == f"{{'num_warps': {warps}}}", n


def test_a_mistake_is_told_after_a_good_call_too(scale: Any) -> None:
    op, _ = scale
    given = inputs()
    op(**given)
    for mistake in (False, [1]):
        with pytest.raises(errors.WrongParameter):
            op(**given, shift=mistake)
    with pytest.raises(errors.UnknownArgument):
        op(**given, shft=1)
    with pytest.raises(errors.MissingArgument):
        op(x=given["x"])
    with pytest.raises(errors.DimsDiffer):
        op(x=given["x"], y=given["y"][1:])


def test_a_tensor_with_a_gradient_is_taken_where_none_is_wanted(scale: Any) -> None:
    op, _ = scale
    given = inputs()
    op(**given)
    given["x"].requires_grad_()
    with torch.no_grad():
        assert agrees(op(**given), **given)


def test_plans_are_forgotten_before_they_are_too_many(scale: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    op, _ = scale
    monkeypatch.setattr(gpu, "PLANS", 3)
    for n in (1, 2, 3, 4, 5, 1):
        given = inputs(n)
        assert agrees(op(**given), **given)
        assert len(op._tensor_calls.gpu._plans) <= 3
    assert op.compilations == 2


def test_threads_compile_once(scale: Any) -> None:
    op, compiler = scale
    given, results = inputs(), []
    threads = [threading.Thread(target=lambda: results.append(agrees(op(**given), **given))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 4
    assert (op.compilations, len(compiler.compiled)) == (2, 1)


def test_another_device_is_made_current_for_its_launches(scale: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    op, _ = scale
    given, current = inputs(), [1]
    op(**given)

    class Switched:
        def __init__(self, index: Any) -> None:
            self.index = index

        def __enter__(self) -> None:
            current.append(self.index)

        def __exit__(self, *_: Any) -> None:
            current.pop()

    monkeypatch.setattr(torch.cuda, "current_device", lambda: current[-1])
    monkeypatch.setattr(torch.cuda, "device", Switched)
    assert agrees(op(**given), **given)
    assert current == [1]


def test_without_triton_a_call_says_so(scale: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    op, compiler = scale
    monkeypatch.setitem(sys.modules, "triton", None)
    with pytest.raises(
        errors.TritonMissing, match=r"^scale needs the package triton .* installed: pip install '?triton"
    ):
        op(**inputs())
    assert compiler.compiled == []


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("PassManager::run failed", "^the compiler of Triton [0-9.]+ fails on scale: PassManager::run failed; other"),
        ("no CUDA device", "^no CUDA device$"),
    ],
)
def test_what_triton_cannot_compile_is_named(make: Any, scale: Any, error: str, words: str) -> None:
    before = "def launch(*arguments, **options):\n"
    op, _ = make(SCALE, SOURCE.replace(before, f"{before}            raise RuntimeError({error!r})\n"))
    with pytest.raises(RuntimeError, match=words):
        op(**inputs())


def test_a_launch_that_copies_what_it_is_given_is_noticed(make: Any, scale: Any) -> None:
    op, _ = make(SCALE, SOURCE.replace("def sum_rows(x_ptr", "def sum_rows(renamed_ptr"))
    with pytest.raises(AssertionError, match="renamed_ptr is no workspace"):
        op(**inputs())


@pytest.mark.parametrize(
    ("backend", "arch", "shared", "expected"),
    [
        ("cuda", 90, 227, "cuda:90"),
        ("cuda", 86, 99, "cuda:89"),
        ("cuda", 103, 227, "cuda:90"),
        ("cuda", 75, 64, "cuda:89"),
        ("hip", "gfx950", 160, "hip:gfx950"),
        ("hip", "gfx90a", 64, "hip:gfx942"),
    ],
)
def test_code_is_made_for_a_gpu_or_what_fits_it(
    monkeypatch: pytest.MonkeyPatch, backend: str, arch: int | str, shared: int, expected: str
) -> None:
    from triton.runtime import driver

    stub = SimpleNamespace(
        get_current_target=lambda: SimpleNamespace(backend=backend, arch=arch),
        get_current_device=lambda: 0,
        utils=SimpleNamespace(get_device_properties=lambda device: {"max_shared_mem": shared * 1024}),
    )
    monkeypatch.setattr(driver, "_active", stub)
    assert gpu.machine() == expected


@pytest.mark.parametrize(
    ("backend", "arch", "version", "expected"),
    [
        ("cuda", 90, "3.9.0", True),
        ("cuda", 90, "3.6.0+git9844da95", True),
        ("cuda", 90, "3.10.0", True),
        ("cuda", 90, "3.5.1", False),
        ("cuda", 80, "3.9.0", False),
        ("cuda", 100, "3.9.0", False),
        ("hip", "gfx942", "3.9.0", False),
    ],
)
def test_warps_can_have_roles_on_hopper(
    monkeypatch: pytest.MonkeyPatch, backend: str, arch: int | str, version: str, expected: bool
) -> None:
    import triton
    from triton.runtime import driver

    monkeypatch.setattr(triton, "__version__", version)
    target = SimpleNamespace(backend=backend, arch=arch)
    monkeypatch.setattr(driver, "_active", SimpleNamespace(get_current_target=lambda: target))
    assert gpu.has_roles() == expected


@pytest.mark.parametrize(
    ("roles", "imported", "targets"),
    [
        (False, "missing.gluon", ["triton"]),
        (True, "triton.language", ["gluon"]),
        (True, "missing.gluon", ["gluon", "triton"]),
    ],
)
def test_a_file_with_roles_is_taken_where_they_are_and_can_be_imported(
    make: Any, scale: Any, monkeypatch: pytest.MonkeyPatch, roles: bool, imported: str, targets: list[str]
) -> None:
    op, compiler = make(SCALE, SOURCE)
    made = []

    def artifact_of(source: Any, types: Any, target: str, *more: Any) -> Any:
        made.append(target)
        compiler.source = f"import {imported}\n{SOURCE}" if target == "gluon" else SOURCE
        return compiler.artifact_of(source, types, target, *more)

    monkeypatch.setattr(binding, "artifact_of", artifact_of)
    monkeypatch.setattr(gpu, "has_roles", lambda: roles)
    for _ in range(2):
        given = inputs()
        assert agrees(op(**given), **given)
    assert made == targets


BOXED = SOURCE.replace(
    "def sum_rows(x_ptr, x_s0, x_s1, sums_ptr",
    """class Boxes:
    def __init__(self, base, shape):
        self.base, self.shape = base, shape

def sum_rows(x_boxes, y_boxes, sums_ptr""",
).replace(
    "memory(x_ptr, (N, D), (x_s0, x_s1)).sum(1)",
    "memory(x_boxes.base.data_ptr(), *x_boxes.shape).sum(1) + 0 * memory(y_boxes.base.data_ptr(), (1,), (1,))",
)
BOXED = BOXED.replace(
    "(x, *x.stride(), sums, ones",
    "(Boxes(x, (x.shape, x.stride())), Boxes(y, (y.shape, y.stride())), sums, ones",
)


def test_what_describes_boxes_is_told_of_each_calls_tensors(make: Any, scale: Any) -> None:
    """Boxes stand before all pointers, of a tensor that no pointer is of; one tensor was twice in the first call."""
    op, _ = make(SCALE, BOXED)
    given = inputs()
    given["y"] = given["x"]
    assert agrees(op(**given), **given)
    for _ in range(3):
        given = inputs()
        assert agrees(op(**given), **given)
    (plan,) = op._tensor_calls.gpu._plans.values()
    assert plan.launches[0].boxes == ((0, 0), (1, 1))
    assert [argument.base for argument in plan.launches[0].arguments[:2]] == [None, None]


class _Listed:
    """A kernel of a generated file that compiles nothing and launches nothing."""

    def __init__(self, kernel: Any) -> None:
        self.arg_names = kernel.arg_names

    def __getitem__(self, grid: tuple[int]) -> Callable[..., object]:
        return lambda *arguments, **options: self


@pytest.mark.parametrize(
    ("name", "features", "told"),
    [
        ("mha", 64, {"q", "k", "v", "o"}),
        ("gqa", 64, {"q", "k", "v", "o"}),  # boxes go through heads before they go to the next place
        ("mha", 72, {"k", "v", "o"}),  # the last box ends before its tensor's axis does
    ],
)
def test_kernels_with_roles_are_written_down(name: str, features: int, told: set[str]) -> None:
    """The launcher is told that the CPU has them; Gluon describes boxes of tensors wherever these are."""
    op = attndsl.load(EXAMPLES / f"{name}.attn")
    given = {each: torch.zeros(2, 3, 70, features, dtype=torch.bfloat16) for each in "qkv"}
    outputs = {"o": Output((2, 3, 70, features), torch.bfloat16, torch.device("cpu"), partial=False)}
    artifact = op.artifact("gluon", {"D": features, "E": features}, "cuda:90", T="bf16")
    module = load_module(artifact)
    module.update({key: _Listed(value) for key, value in module.items() if key.endswith("_kernel")})
    module["_has_roles"] = lambda asked, *_: asked["ROLES"]
    launches = partial(module[f"{name}_launches"], schedule={"ROLES": 1})
    plan, _ = first_call(launches, given, outputs, {}, artifact.cleared)
    (launch,) = plan.launches
    assert launch.kernel is module[f"{name}_roles_kernel"]
    numbers = [*given, *outputs]
    assert {numbers[number] for _, number in launch.boxes} == told
    found = {numbers[number]: launch.arguments[position] for position, number in reversed(launch.boxes)}
    assert all(box.base is None for box in found.values())
    assert all(found[key].block_shape == [1, 1, 128, 64] for key in "kv")
    assert artifact.cleared == (f"{name}_taken",), "the tiles that are taken"
    assert plan.cleared == 256


@pytest.mark.parametrize("name", ["gqa", "packed_ragged", "f8_cache", "mla_paged"])
def test_the_launches_of_generated_files_are_written_down(name: str) -> None:
    op = attndsl.load(EXAMPLES / f"{name}.attn")
    case = Case.make(checked(op.spec), "bf16")
    given = {t.name: torch.from_numpy(case.arrays[t.name]) for t in op.signature.inputs}
    outputs = {
        t.name: Output(tuple(case.wanted[t.name].shape), torch.bfloat16, torch.device("cpu"), partial=False)
        for t in op.signature.outputs
    }
    sizes = {dim: case.dims[dim] for dim in op.signature.features}
    module = load_module(op.artifact("triton", sizes, **case.types))
    module.update({key: _Listed(value) for key, value in module.items() if key.endswith("_kernel")})
    plan, _ = first_call(module[f"{name}_launches"], given, outputs, case.params)
    tensors = {tensor for launch in plan.launches for _, tensor in launch.pointers}
    assert tensors == set(range(len(given) + len(outputs) + len(plan.offsets)))


TEMPS = """attention temps {
    dims M
    input  x : f32[M]
    input  at : i32[M]
    temp   whole : f32[M]
    temp   part : f16[M]
    output o : f32[M]
    each i in M
    whole[i] = x[i]
    each i in M
    part[at[i]] = whole[i]
    each i in M
    o[i] = part[i] + whole[i]
}"""


def test_of_the_workspaces_those_that_rows_may_leave_unwritten_are_cleared() -> None:
    op = attndsl.compile(TEMPS)
    artifact = op.artifact("triton", {})
    assert artifact.cleared == ("part",)
    module = load_module(artifact)
    module.update({key: _Listed(value) for key, value in module.items() if key.endswith("_kernel")})
    given = {"x": torch.ones(100), "at": torch.zeros(100, dtype=torch.int32)}
    outputs = {"o": Output((100,), torch.float32, torch.device("cpu"), partial=False)}
    plan, _ = first_call(module["temps_launches"], given, outputs, {}, artifact.cleared)
    # 100 numbers of 4 bytes and 100 of 2, each from a multiple of 256 on; the latter come first.
    assert (plan.scratch, plan.cleared, plan.offsets) == (768, 256, (256, 0))


class _OnGpu:
    """What `is_plain` asks of a tensor, of one on a GPU."""

    def __init__(self, negative: bool = False, requires_grad: bool = False) -> None:
        self.is_cuda = True
        self.is_neg = lambda: negative
        self.requires_grad = requires_grad


class Overriding(TorchFunctionMode):
    """Sees what is called of torch, and may do something else."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def test_what_may_go_around_the_dispatcher(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx

    monkeypatch.setattr(gpu, "PLAIN", (_OnGpu,))
    there, seen = [_OnGpu()], []
    assert is_plain(there)
    with torch.no_grad():
        assert is_plain(there)
    with torch.inference_mode():
        assert is_plain(there)
    with torch.autocast("cpu"):
        assert not is_plain(there)
    with torch.device("meta"):
        assert is_plain(there)
    assert not is_plain([_OnGpu(negative=True)])
    assert not is_plain([_OnGpu(), _OnGpu(requires_grad=True)])
    with torch.no_grad():
        assert is_plain([_OnGpu(requires_grad=True)])
    with torch.autograd.forward_ad.dual_level():
        assert not is_plain(there)
    assert not is_plain([torch.zeros(2)])
    with FakeTensorMode():
        assert not is_plain(there)
    with Overriding():
        assert not is_plain(there)
    with torch.profiler.profile():
        assert not is_plain(there)

    def watched(x: torch.Tensor) -> torch.Tensor:
        seen.append(is_plain(there))
        return x.sum()

    x = torch.zeros(2, 2)
    make_fx(watched)(x)
    torch.vmap(watched)(x)
    torch.func.grad(watched)(x)
    torch.func.functionalize(watched)(x)
    assert seen == [False] * 4
    assert not torch.compile(lambda x: x + is_plain(there), backend="eager", fullgraph=True)(x).any()
