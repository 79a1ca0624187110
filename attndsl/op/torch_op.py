"""A compiled spec as an operator of torch, which `torch.compile` keeps whole.

Import this only when torch is in use.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from attndsl.op import torch_tensors
from attndsl.op.autocast import cast_as_torch_does
from attndsl.op.batches import Batches
from attndsl.op.binding import CompiledSpec
from attndsl.op.cpu import CpuCalls
from attndsl.op.dispatch import is_watched
from attndsl.op.gpu import GpuCalls, is_plain
from attndsl.op.gradients import Gradients
from attndsl.op.kernels import Kernels
from attndsl.op.layouts import Layouts
from attndsl.op.torch_library import Inputs, count_flops, define, schema, several

Overload = torch._ops.OpOverload[..., Any]


def _is_exporting() -> bool:
    """Whether a program is being exported: Dynamo of torch 2.11 holds `is_exporting()` true in all that it traces."""
    return getattr(torch.compiler, "_is_exporting_flag", False)


@dataclass(slots=True)
class Known:
    """What torch knows the ops of one meaning by; `named` counts who else has its operators where no op does.

    `operator` takes inputs, then parameters, by position, and gives the only output, several as a tuple, or nothing.
    `writer` takes outputs after them, which it writes, and gives nothing.
    """

    library: torch.library.Library
    operator: Overload
    writer: Overload
    kernels: Kernels
    named: list[int] = field(default_factory=list)
    sharded: bool = False

    def shard(self) -> None:
        """Tells DTensor of the operator, once it is imported; not where something is written in place."""
        if not self.sharded and "torch.distributed.tensor" in sys.modules:
            self.sharded = True
            binding = self.kernels.binding
            if binding.signature.outputs and not binding.signature.in_place:
                from attndsl.op import sharding

                sharding.shard(self.operator, binding)
                weakref.finalize(self.library, sharding.forget, self.operator).atexit = False

    def names(self) -> list[int]:
        """How often the operators are referred to, and the packets in which torch has them."""
        return [sys.getrefcount(each) for o in (self.operator, self.writer) for each in (o, o._overloadpacket)]


@dataclass(frozen=True, slots=True, weakref_slot=True)
class TensorCalls:
    """How ops of one meaning are called with tensors: through torch's dispatcher, or around it.

    Torch knows them as long as this is there.
    """

    known: Known
    kernels: Kernels

    @property
    def gpu(self) -> GpuCalls:
        """Calls with tensors of GPUs."""
        return self.kernels.gpu

    @property
    def gradients(self) -> Gradients:
        """What makes gradients."""
        return self.kernels.gradients

    def replay(self, arguments: Mapping[str, Any], out: Sequence[Any] | None = None) -> Sequence[torch.Tensor] | None:
        """The outputs of a call like an earlier one, whatever it is given by name; None for any other call."""
        outputs = self.kernels.gpu.replay(arguments, out)
        return self.kernels.cpu.replay(arguments, out) if outputs is None and not is_watched() else outputs

    def __call__(
        self,
        inputs: Mapping[str, torch.Tensor],
        params: Mapping[str, Any],
        out: Sequence[torch.Tensor] | None = None,
    ) -> Sequence[torch.Tensor]:
        """The outputs for these inputs and parameters, all of each in the order of their declarations."""
        tensors = list(inputs.values())
        if is_plain(tensors if out is None else [*tensors, *out]):
            return self.kernels.gpu.compute(tensors, params, out)
        if _is_exporting():
            from attndsl.op import portable

            return portable.call(self.kernels, inputs, params, out)
        if out is None and torch._C._are_functorch_transforms_active() and self.kernels.wants_gradient(tensors):
            # torch.func takes a Function, and not from within an operator
            return self.kernels.gradients(cast_as_torch_does(self.kernels.binding.signature, tensors), params)
        if not torch.compiler.is_dynamo_compiling():
            count_flops()
            self.known.shard()
        if out is None:
            return several(self.known.operator(*tensors, *params.values()))
        self.known.writer(*tensors, *params.values(), *out)
        return out


_known: dict[str, Known] = {}
"""By the key of a binding: torch takes no operator twice, so ops of equal meanings share one."""

_registered: weakref.WeakValueDictionary[str, TensorCalls] = weakref.WeakValueDictionary()

_registering = threading.RLock()  # what is collected meanwhile is unregistered within


def register(binding: CompiledSpec) -> TensorCalls:
    """How ops of this binding's meaning are called with tensors, once torch knows of them."""
    from attndsl.op import portable as portable  # here, since what traces a call can define no operator

    with _registering:
        calls = _registered.get(binding.key)
        if calls is None:
            if binding.key not in _known:
                _known[binding.key] = known = _make_known(binding)
                known.shard()
                known.named = known.names()
            known = _known[binding.key]
            calls = _registered[binding.key] = TensorCalls(known, known.kernels)
            weakref.finalize(calls, _unregister, binding.key).atexit = False
        return calls


def _unregister(key: str) -> None:
    """Has torch forget the operators of ops that are gone, unless somebody else has them, such as a graph.

    To call what torch has forgotten would end the process.
    """
    with _registering:
        if key not in _registered and key in _known:
            known = _known[key]
            if all(now <= then for now, then in zip(known.names(), known.named, strict=True)):
                _known.pop(key).library._destroy()


def _make_known(binding: CompiledSpec) -> Known:
    batches = Batches(binding, register)
    gradients = Gradients(binding, register, batches)
    gpu, cpu = GpuCalls(binding), CpuCalls(binding, torch_tensors)
    kernels = Kernels(binding, gpu, cpu, gradients, batches, Layouts(binding.signature))
    library, signature, key = torch.library.Library("attndsl", "FRAGMENT"), binding.signature, binding.key
    outputs = [f"Tensor(a{n}!) output_{n}" for n in range(len(signature.outputs))]
    operator = define(library, key, schema(signature), Inputs(lambda: _known[key].kernels))
    writer = define(library, f"{key}_out", schema(signature, outputs), Inputs(lambda: _known[key].kernels, True))
    return Known(library, operator, writer, kernels)
