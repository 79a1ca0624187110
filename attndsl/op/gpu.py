"""Calls with tensors of a GPU: generated Triton code, launched by plans.

The first call of a kind is checked, compiled where that is needed, launched by Triton, and written down as a plan. A
call like it then costs what it must: its key, its outputs, and the launches themselves. Import this only when torch is
in use.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from attndsl.backends.gpu.failing import compiling
from attndsl.driver.artifact import Artifact
from attndsl.driver.module import load_module
from attndsl.driver.targets import ROLES_TARGET, TARGETS
from attndsl.driver.tuned import Tuned
from attndsl.ir.machines import MACHINES
from attndsl.op import errors
from attndsl.op.binding import CompiledSpec
from attndsl.op.checks import Bound
from attndsl.op.dispatch import PLAIN, is_watched
from attndsl.op.into import lie_apart, require_disjoint
from attndsl.op.layouts import Layouts
from attndsl.op.plan import Launches, Output, Plan, first_call
from attndsl.op.torch_tensors import ELEMENTS, check, check_outputs, mark_written, steps, strided, strides
from attndsl.packages import pip_install
from attndsl.python_names import launches_name

PLANS = 1024
"""How many kinds of calls an operator remembers before it forgets them all."""

GLUON = (3, 6)
"""The first version of Triton whose Gluon lets roles begin as generated files do."""

_TOLD: Mapping[type, Callable[[Any], object]] = {float: float.hex, int: int, bool: repr, type(None): repr}
"""What tells a parameter from all others: 0.0 equals -0.0, True equals 1, and NaN not itself. None rests on shapes."""


def is_plain(tensors: Iterable[Any]) -> bool:
    """Whether a call may go around torch's dispatcher, which costs more than a launch.

    Not so while anything watches it, for tensors that are not on a GPU, for their subclasses, and where a tensor is the
    negative of its memory or wants a derivative, which the dispatcher refuses.
    """
    if is_watched():
        return False
    recorded = torch.is_grad_enabled()
    for tensor in tensors:
        if type(tensor) not in PLAIN or not tensor.is_cuda or tensor.is_neg() or (recorded and tensor.requires_grad):
            return False
    return True


@dataclass(frozen=True, slots=True)
class GpuProgram:
    """Generated code on a GPU: the function that lists a call's launches, and what was tuned of it there."""

    artifact: Artifact
    launches: Callable[..., Launches]
    tuned: Tuned


class GpuCalls:
    """How operators of one text are called with tensors of GPUs; any number of threads may do so at once."""

    def __init__(self, binding: CompiledSpec) -> None:
        self._binding, self._layouts = binding, Layouts(binding.signature)
        self._inputs = [tensor.name for tensor in binding.signature.inputs]
        self._params = [(param.name, param.default) for param in binding.signature.params]
        self._known = {*self._inputs, *(name for name, _ in self._params)}
        self._plans: dict[tuple[object, ...] | None, Plan] = {}
        self._programs: dict[tuple[object, ...], GpuProgram] = {}
        self._kernels: set[object] = set()
        self._lock = threading.Lock()

    @property
    def compilations(self) -> int:
        """How many kernels Triton has compiled, or loaded from its own cache, for these calls."""
        return len(self._kernels)

    def replay(self, arguments: Mapping[str, Any], out: Sequence[Any] | None = None) -> list[torch.Tensor] | None:
        """The outputs of a call like an earlier one, whose arguments were checked; None for any other call.

        Raises CallError for memory that is written and overlaps.
        """
        if not self._plans or not arguments.keys() <= self._known:
            return None
        tensors: list[Any] = [arguments.get(name) for name in self._inputs]
        touched = tensors if out is None else [*tensors, *out]
        if not is_plain(touched):
            return None
        plan = self._plans.get(_key(touched, [arguments.get(name, default) for name, default in self._params]))
        if plan is not None:
            self._check_memory(tensors, out, plan)
        return None if plan is None else plan(tensors, out)

    def compute(
        self, tensors: Sequence[torch.Tensor], params: Mapping[str, Any], out: Sequence[torch.Tensor] | None = None
    ) -> list[torch.Tensor]:
        """The outputs of any call; `tensors` are the inputs in order. Raises CallError, TritonFails."""
        key = _key(tensors if out is None else [*tensors, *out], params.values())
        plan = self._plans.get(key)
        if plan is not None:
            self._check_memory(tensors, out, plan)
            return plan(tensors, out)
        bound, device = check(self._binding.signature, tensors, params), tensors[0].device
        if out is not None:
            check_outputs(self._binding.signature, self._binding.output_elements(bound), bound.shapes, device, out)
        self._check_memory(tensors, out)
        # One call at a time: what two threads want compiled is compiled once.
        with self._lock, torch.cuda.device(device):
            inputs = dict(zip(self._inputs, tensors, strict=True))
            program = self.program(bound, device)
            launches = partial(program.launches, schedule=program.tuned.get(bound.dims))
            signature, made = self._binding.signature, self.outputs(tensors, bound, program.artifact.cleared)
            with compiling(signature.name):
                plan, outputs = first_call(launches, inputs, made, bound.params, program.artifact.cleared, out)
            self._kernels.update(launch.kernel for launch in plan.launches)
            if len(self._plans) >= PLANS:
                self._plans.clear()
            self._plans[key] = plan
        return outputs

    def _check_memory(
        self, tensors: Sequence[torch.Tensor], out: Sequence[torch.Tensor] | None, plan: Plan | None = None
    ) -> None:
        """Raises CallError where a call would write over what it reads, or writes elsewhere; `plan` is that for it."""
        touched = tensors if out is None else [*tensors, *out]
        written = (*self._binding.signature.in_place, *range(len(tensors), len(touched)))
        if not written:
            return
        if plan is None or not lie_apart(written, [tensor.data_ptr() for tensor in touched], plan.reaches):
            require_disjoint(self._binding.signature, [*map(strided, tensors)], [*map(strided, out or ())])
        mark_written([touched[number] for number in written])

    def outputs(self, tensors: Sequence[torch.Tensor], bound: Bound, cleared: Collection[str]) -> dict[str, Output]:
        """What a call with these inputs has to allocate, and what of that is `cleared` before its launches."""
        signature, device = self._binding.signature, tensors[0].device
        elements, orders = self._binding.output_elements(bound), self._layouts(tensors, strides)
        return {
            tensor.name: Output(
                shape,
                ELEMENTS[element],
                device,
                tensor.name in cleared,
                None if order is None else steps(shape, order),
            )
            for tensor, shape, element, order in zip(signature.outputs, bound.shapes, elements, orders, strict=True)
        }

    def program(self, bound: Bound, device: torch.device) -> GpuProgram:
        """The code for these element types, extents of feature dims and GPU."""
        sizes = {dim: bound.dims[dim] for dim in self._binding.signature.features}
        key = (*bound.types.values(), *sizes.values(), device)
        if key not in self._programs:
            name = self._binding.signature.name
            if importlib.util.find_spec("triton") is None:
                raise errors.TritonMissing(name, pip_install("triton"))
            artifact, module = self._loaded(sizes, bound.types)
            launches = module[launches_name(name)]
            self._programs[key] = GpuProgram(artifact, launches, Tuned(described(device), artifact.source))
        return self._programs[key]

    def _loaded(self, sizes: Mapping[str, int], types: Mapping[str, str]) -> tuple[Artifact, dict[str, Any]]:
        """An artifact for the current GPU, and what it defines: with roles where the GPU, Triton and the spec do."""
        if has_roles():
            artifact = self._binding.artifact(ROLES_TARGET, sizes, machine(), **types)
            with suppress(ImportError):  # of Gluon, which is experimental: a later Triton may have other names, or none
                return artifact, load_module(artifact)
        artifact = self._binding.artifact("triton", sizes, machine(), **types)
        return artifact, load_module(artifact)


def described(device: torch.device) -> str:
    """A GPU and the compiler for it."""
    import triton

    return f"{torch.cuda.get_device_name(device)}, Triton {triton.__version__}"


def has_roles() -> bool:
    """Whether code for the current GPU may give roles to warps, of Gluon as the installed Triton has it."""
    import triton
    from triton.runtime import driver

    target = driver.active.get_current_target()
    version = tuple(map(int, triton.__version__.split(".")[:2]))
    return version >= GLUON and f"{target.backend}:{target.arch}" in TARGETS[ROLES_TARGET].machines


def machine() -> str:
    """What code for the current GPU is made for: itself where it is known, else what has no more shared memory."""
    from triton.runtime import driver

    target = driver.active.get_current_target()
    if f"{target.backend}:{target.arch}" in MACHINES:
        return f"{target.backend}:{target.arch}"
    device = driver.active.get_current_device()
    limit = driver.active.utils.get_device_properties(device)["max_shared_mem"]
    shared = {name: row.shared for name, row in MACHINES.items() if name.startswith(target.backend)}
    fitting = [name for name in shared if shared[name] <= limit]
    return max(fitting, key=shared.__getitem__) if fitting else min(shared, key=shared.__getitem__)


def _key(tensors: Iterable[Any], params: Iterable[Any]) -> tuple[object, ...] | None:
    """All that a plan rests on; None where a tensor has no strides, or a parameter is no number: no plan is for those.

    Triton compiles other code for pointers that are no multiples of 16 bytes.
    """
    try:
        return (
            *[(t.dtype, t.device, t.shape, t.stride(), t.data_ptr() % 16) for t in tensors],
            *[_TOLD[type(value)](value) for value in params],
        )
    except (RuntimeError, KeyError):
        return None
