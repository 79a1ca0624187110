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
from attndsl.op.gradients import Gradients
from attndsl.op.torch_tensors import PACKED, check, check_outputs, empty

_KINDS = {"int": "SymInt", "float": "float", "bool": "bool"}

_library = torch.library.Library("attndsl", "FRAGMENT")

_KERNELS = ("CompositeExplicitAutograd", "NestedTensorCPU", "NestedTensorCUDA")
"""The dispatch keys of every tensor that is no subclass: what computes also refuses, in words."""


@dataclass(frozen=True, slots=True)
class TensorCalls:
    """How ops of one text are called with tensors: through torch's dispatcher, or around it.

    `operator` is torch's: it takes inputs, then parameters, by position, and gives the only output, several as a tuple,
    or nothing. `writer` takes outputs after them, which it writes, and gives nothing.
    """

    operator: Callable[..., Any]
    writer: Callable[..., None]
    gpu: GpuCalls
    cpu: CpuCalls[torch.Tensor]
    gradients: Gradients

    def replay(self, arguments: Mapping[str, Any], out: Sequence[Any] | None = None) -> Sequence[torch.Tensor] | None:
        """The outputs of a call like an earlier one, whatever it is given by name; None for any other call."""
        outputs = self.gpu.replay(arguments, out)
        return self.cpu.replay(arguments, out) if outputs is None and not is_watched() else outputs

    def __call__(
        self,
        inputs: Mapping[str, torch.Tensor],
        params: Mapping[str, Any],
        out: Sequence[torch.Tensor] | None = None,
    ) -> Sequence[torch.Tensor]:
        """The outputs for these inputs and parameters, all of each in the order of their declarations."""
        tensors = list(inputs.values())
        if is_plain(tensors if out is None else [*tensors, *out]):
            return self.gpu.compute(tensors, params, out)
        if out is None and torch._C._are_functorch_transforms_active() and _wants_gradient(tensors):
            return self.gradients(tensors, params)  # torch.func takes a Function, and not from within an operator
        if out is None:
            return _several(self.operator(*tensors, *params.values()))
        self.writer(*tensors, *params.values(), *out)
        return out


_registered: dict[str, TensorCalls] = {}
"""By the key of a binding: torch takes no operator twice, so ops of equal texts share one."""

_registering = threading.Lock()


def register(binding: CompiledSpec) -> TensorCalls:
    """How ops of this binding's text are called with tensors, once torch knows of them."""
    with _registering:
        if binding.key not in _registered:
            gpu, cpu = GpuCalls(binding), CpuCalls(binding, torch_tensors)
            gradients = Gradients(binding, register)
            operator, writer = _register(binding, gpu, cpu, gradients), _register_writer(binding, gpu, cpu)
            _registered[binding.key] = TensorCalls(operator, writer, gpu, cpu, gradients)
        return _registered[binding.key]


def _wants_gradient(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether a call has a gradient to make, and nothing that an operator refuses."""
    batched = torch._C._functorch.is_batchedtensor
    asks = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
    return asks and forward_ad._current_level < 0 and not any(map(batched, tensors))


def _single(outputs: Sequence[torch.Tensor]) -> Any:
    """Outputs as an operator of torch gives them."""
    return tuple(outputs) if len(outputs) > 1 else next(iter(outputs), None)


def _several(given: Any) -> Sequence[torch.Tensor]:
    """What an operator of torch gives as a sequence."""
    return given if isinstance(given, tuple) else () if given is None else (given,)


def _register(
    binding: CompiledSpec, gpu: GpuCalls, cpu: CpuCalls[torch.Tensor], gradients: Gradients
) -> Callable[..., Any]:
    signature = binding.signature
    count = len(signature.inputs)

    def allocate(bound: Bound, device: torch.device) -> list[torch.Tensor]:
        elements = binding.output_elements(bound)
        return [empty(shape, element, device) for shape, element in zip(bound.shapes, elements, strict=True)]

    def compute(*arguments: Any) -> Any:
        inputs, params = arguments[:count], _params(signature, arguments)
        return _single(gpu.compute(inputs, params) if inputs[0].is_cuda else cpu.compute(inputs, params))

    def shapes_only(*arguments: Any) -> Any:
        inputs = arguments[:count]
        return _single(allocate(check(signature, inputs, _params(signature, arguments)), inputs[0].device))

    def differentiable(*arguments: Any) -> Any:
        inputs = arguments[:count]
        if torch._C._are_functorch_transforms_active():
            wanted = next(t.name for t, each in zip(signature.inputs, inputs, strict=True) if each.requires_grad)
            raise errors.TransformWanted(signature.name, wanted)
        return _single(gradients(inputs, _params(signature, arguments)))

    return _define(signature, binding.key, _schema(signature), compute, shapes_only, differentiable)


def _register_writer(binding: CompiledSpec, gpu: GpuCalls, cpu: CpuCalls[torch.Tensor]) -> Callable[..., None]:
    """The operator that writes to tensors of the caller: torch is told that it does."""
    signature = binding.signature
    count, after = len(signature.inputs), len(signature.inputs) + len(signature.params)

    def compute(*arguments: Any) -> None:
        inputs, params, out = arguments[:count], _params(signature, arguments), arguments[after:]
        calls: GpuCalls | CpuCalls[torch.Tensor] = gpu if inputs[0].is_cuda else cpu
        calls.compute(inputs, params, out)

    def checks_only(*arguments: Any) -> None:
        inputs, out = arguments[:count], arguments[after:]
        bound = check(signature, inputs, _params(signature, arguments))
        check_outputs(signature, binding.output_elements(bound), bound.shapes, inputs[0].device, out)

    outputs = [f"Tensor(a{n}!) output_{n}" for n in range(len(signature.outputs))]
    return _define(signature, f"{binding.key}_out", _schema(signature, outputs), compute, checks_only)


def _define(
    signature: Signature,
    name: str,
    schema: str,
    compute: Callable[..., Any],
    fake: Callable[..., Any],
    differentiable: Callable[..., Any] | None = None,
) -> Callable[..., Any]:
    """An operator of torch that computes so, and is so where there are no elements; it refuses what it cannot do.

    Where a gradient is wanted it is `differentiable`; without, it refuses that too.
    """
    qualified = f"attndsl::{name}"
    torch.library.define(qualified, schema, lib=_library, tags=torch.Tag.pt2_compliant_tag)
    operator: torch._ops.OpOverload[..., Any] = getattr(torch.ops.attndsl, name).default

    def autograd(keys: torch._C.DispatchKeySet, *arguments: Any) -> Any:
        _refuse_derivatives(signature, arguments, differentiable is not None)
        if differentiable is not None and torch.is_grad_enabled() and torch._C._any_requires_grad(*arguments):
            return differentiable(*arguments)
        with torch._C._AutoDispatchBelowAutograd():
            return operator.redispatch(keys & torch._C._after_autograd_keyset, *arguments)

    def unbatched(*_: Any) -> Any:
        raise errors.BatchWanted(signature.name)

    def unpacked(_class: type, _operator: Any, _types: Any, arguments: Sequence[Any], _named: Any) -> Any:
        return fake(*arguments)

    for key in _KERNELS:
        _library.impl(name, _disable_dynamo(compute), key)
    torch.library.register_fake(qualified, fake, lib=_library)
    _library.impl(name, autograd, "Autograd", with_keyset=True)
    _library.impl(name, unbatched, "FuncTorchBatched")
    for packed in PACKED:
        torch.library.register_torch_dispatch(qualified, packed, unpacked, lib=_library)
    return operator


def _params(signature: Signature, arguments: Sequence[Any]) -> dict[str, Any]:
    """The parameters among the arguments of an operator of torch."""
    count = len(signature.inputs)
    return {param.name: value for param, value in zip(signature.params, arguments[count:], strict=False)}


def _refuse_derivatives(signature: Signature, arguments: Sequence[Any], differentiable: bool) -> None:
    """Raises GradientWanted where what is computed would have to be differentiated, or is written over what is.

    Where it is `differentiable` it has gradients, and no tangents.

    It is asked at the place of torch's dispatcher where derivatives are made: by any road to the operator, under every
    transform, while torch traces too.
    """
    backward, forward = torch.is_grad_enabled(), forward_ad._current_level >= 0
    for tensor, input_ in zip(arguments, signature.inputs, strict=False):
        if backward and tensor.requires_grad and not differentiable:
            raise errors.GradientWanted(signature.name, input_.name)
        if forward and forward_ad.unpack_dual(tensor).tangent is not None:
            raise errors.TangentWanted(signature.name, input_.name)
    for tensor, output in zip(
        arguments[len(signature.inputs) + len(signature.params) :], signature.outputs, strict=False
    ):
        if (backward and tensor.requires_grad) or (forward and forward_ad.unpack_dual(tensor).tangent is not None):
            raise errors.OutputDifferentiated(signature.name, output.name)


def _schema(signature: Signature, written: Sequence[str] = ()) -> str:
    """Its arguments go by their places alone: torch has words of its own, as `self`."""
    marks = [f"(i{n}!)" if tensor.in_place else "" for n, tensor in enumerate(signature.inputs)]
    arguments = [f"Tensor{mark} input_{n}" for n, mark in enumerate(marks)]
    kinds = [_KINDS[param.kind] + ("" if param.formula is None else "?") for param in signature.params]
    arguments += [f"{kind} param_{n}" for n, kind in enumerate(kinds)]
    made = [] if written else ["Tensor"] * len(signature.outputs)
    returned = made[0] if len(made) == 1 else f"({', '.join(made)})"
    return f"({', '.join([*arguments, *written])}) -> {returned}"
