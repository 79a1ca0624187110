"""A compiled spec as an operator of torch, which `torch.compile` and `torch.export` keep whole.

Import this only when torch is in use.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch._compile import _disable_dynamo
from torch.autograd import forward_ad

from attndsl.driver.signature import Signature
from attndsl.op import errors, torch_tensors
from attndsl.op.binding import CompiledSpec
from attndsl.op.checks import Bound
from attndsl.op.cpu import CpuCalls
from attndsl.op.dispatch import is_watched
from attndsl.op.gpu import GpuCalls, is_plain
from attndsl.op.torch_tensors import PACKED, check, empty

_KINDS = {"int": "SymInt", "float": "float", "bool": "bool"}

_library = torch.library.Library("attndsl", "FRAGMENT")

_KERNELS = ("CompositeExplicitAutograd", "NestedTensorCPU", "NestedTensorCUDA")
"""The dispatch keys of every tensor that is no subclass: what computes also refuses, in words."""


@dataclass(frozen=True, slots=True)
class TensorCalls:
    """How ops of one text are called with tensors: through torch's dispatcher, or around it.

    `operator` is torch's: it takes inputs, then parameters, by position, and gives a list of outputs.
    """

    operator: Callable[..., list[torch.Tensor]]
    gpu: GpuCalls
    cpu: CpuCalls[torch.Tensor]

    def replay(self, arguments: Mapping[str, Any]) -> list[torch.Tensor] | None:
        """The outputs of a call like an earlier one, whatever it is given by name; None for any other call."""
        outputs = self.gpu.replay(arguments)
        return self.cpu.replay(arguments) if outputs is None and not is_watched() else outputs

    def __call__(self, inputs: Mapping[str, torch.Tensor], params: Mapping[str, Any]) -> list[torch.Tensor]:
        """The outputs for these inputs and parameters, all of each in the order of their declarations."""
        tensors = list(inputs.values())
        if is_plain(tensors):
            return self.gpu.compute(tensors, params)
        return self.operator(*tensors, *params.values())


_registered: dict[str, TensorCalls] = {}
"""By the key of a binding: torch takes no operator twice, so ops of equal texts share one."""

_registering = threading.Lock()


def register(binding: CompiledSpec) -> TensorCalls:
    """How ops of this binding's text are called with tensors, once torch knows of them."""
    with _registering:
        if binding.key not in _registered:
            gpu, cpu = GpuCalls(binding), CpuCalls(binding, torch_tensors)
            _registered[binding.key] = TensorCalls(_register(binding, gpu, cpu), gpu, cpu)
        return _registered[binding.key]


def _register(binding: CompiledSpec, gpu: GpuCalls, cpu: CpuCalls[torch.Tensor]) -> Callable[..., list[torch.Tensor]]:
    signature = binding.signature
    count = len(signature.inputs)

    def params_of(arguments: Sequence[Any]) -> dict[str, Any]:
        return {param.name: value for param, value in zip(signature.params, arguments[count:], strict=True)}

    def allocate(bound: Bound, device: torch.device) -> list[torch.Tensor]:
        elements = binding.output_elements(bound)
        return [empty(shape, element, device) for shape, element in zip(bound.shapes, elements, strict=True)]

    def compute(*arguments: Any) -> list[torch.Tensor]:
        inputs, params = arguments[:count], params_of(arguments)
        return gpu.compute(inputs, params) if inputs[0].is_cuda else cpu.compute(inputs, params)

    def shapes_only(*arguments: Any) -> list[torch.Tensor]:
        inputs = arguments[:count]
        return allocate(check(signature, inputs, params_of(arguments)), inputs[0].device)

    def undifferentiated(keys: torch._C.DispatchKeySet, *arguments: Any) -> list[torch.Tensor]:
        _refuse_derivatives(signature, arguments[:count])
        with torch._C._AutoDispatchBelowAutograd():
            outputs: list[torch.Tensor] = operator.redispatch(keys & torch._C._after_autograd_keyset, *arguments)
        return outputs

    def unbatched(*_: Any) -> list[torch.Tensor]:
        raise errors.BatchWanted(signature.name)

    def unpacked(_class: type, _operator: Any, _types: Any, arguments: Sequence[Any], _named: Any) -> Any:
        return shapes_only(*arguments)

    name = f"attndsl::{binding.key}"
    torch.library.define(name, _schema(signature), lib=_library, tags=torch.Tag.pt2_compliant_tag)
    operator: torch._ops.OpOverload[..., list[torch.Tensor]] = getattr(torch.ops.attndsl, binding.key).default
    for key in _KERNELS:
        _library.impl(binding.key, _disable_dynamo(compute), key)
    torch.library.register_fake(name, shapes_only, lib=_library)
    _library.impl(binding.key, undifferentiated, "Autograd", with_keyset=True)
    _library.impl(binding.key, unbatched, "FuncTorchBatched")
    for packed in PACKED:
        torch.library.register_torch_dispatch(name, packed, unpacked, lib=_library)
    return operator


def _refuse_derivatives(signature: Signature, tensors: Sequence[torch.Tensor]) -> None:
    """Raises GradientWanted where what is computed of these inputs would have to be differentiated.

    It is asked at the place of torch's dispatcher where derivatives are made: by any road to the operator, under every
    transform, while torch traces too.
    """
    backward, forward = torch.is_grad_enabled(), forward_ad._current_level >= 0
    for tensor, input_ in zip(tensors, signature.inputs, strict=True):
        if backward and tensor.requires_grad:
            raise errors.GradientWanted(signature.name, input_.name)
        if forward and forward_ad.unpack_dual(tensor).tangent is not None:
            raise errors.TangentWanted(signature.name, input_.name)


def _schema(signature: Signature) -> str:
    """Its arguments go by their places alone: torch has words of its own, as `self`."""
    arguments = [f"Tensor input_{n}" for n in range(len(signature.inputs))]
    arguments += [f"{_KINDS[param.kind]} param_{n}" for n, param in enumerate(signature.params)]
    return f"({', '.join(arguments)}) -> Tensor[]"
