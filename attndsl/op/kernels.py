"""What an operator of torch does with tensors, whatever it is called by. Import this only when torch is in use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd import forward_ad

from attndsl.op import errors
from attndsl.op.batches import Batches
from attndsl.op.binding import CompiledSpec
from attndsl.op.checks import Bound
from attndsl.op.cpu import CpuCalls
from attndsl.op.gpu import GpuCalls
from attndsl.op.gradients import Gradients, requires_gradient
from attndsl.op.layouts import Layouts
from attndsl.op.torch_tensors import check, check_outputs, empty, strides

Tensors = Sequence[torch.Tensor]


@dataclass(frozen=True, slots=True)
class Kernels:
    """What computes, what tells shapes, and what makes gradients and batches, for ops of one meaning."""

    binding: CompiledSpec
    gpu: GpuCalls
    cpu: CpuCalls[torch.Tensor]
    gradients: Gradients
    batches: Batches
    layouts: Layouts

    def compute(self, inputs: Tensors, params: Mapping[str, Any], out: Tensors | None) -> Sequence[torch.Tensor]:
        """The outputs, which are new ones or those of `out`. Raises CallError."""
        calls: GpuCalls | CpuCalls[torch.Tensor] = self.gpu if inputs[0].is_cuda else self.cpu
        return calls.compute(inputs, params, out)

    def shapes(self, inputs: Tensors, params: Mapping[str, Any], out: Tensors | None) -> Sequence[torch.Tensor]:
        """The same where there are no elements: what is new has no values. Raises CallError."""
        bound, device = check(self.binding.signature, inputs, params), inputs[0].device
        if out is None:
            return self._allocated(inputs, bound, device)
        check_outputs(self.binding.signature, self.binding.output_elements(bound), bound.shapes, device, out)
        return out

    def operations(self, inputs: Tensors, params: Mapping[str, Any]) -> int:
        """How many floating-point operations the contractions of a call are, were no position masked."""
        bound = check(self.binding.signature, inputs, params)
        return self.binding.signature.operations(bound.dims, bound.params)

    def _allocated(self, inputs: Tensors, bound: Bound, device: torch.device) -> list[torch.Tensor]:
        made = zip(bound.shapes, self.binding.output_elements(bound), self.layouts(inputs, strides), strict=True)
        return [empty(shape, element, device, order) for shape, element, order in made]

    def differentiated(self, inputs: Tensors, params: Mapping[str, Any]) -> Sequence[torch.Tensor]:
        """The outputs of a call of which a gradient is wanted. Raises TransformWanted, GradientWanted."""
        self.refuse_transforms(inputs)
        return self.gradients(inputs, params)

    def refuse_transforms(self, inputs: Tensors) -> None:
        """Raises TransformWanted where a transform of torch.func wants a gradient, within an operator of torch."""
        if torch._C._are_functorch_transforms_active() and torch.is_grad_enabled():
            for tensor, each in zip(self.binding.signature.inputs, inputs, strict=True):
                if requires_gradient(each):
                    raise errors.TransformWanted(self.binding.signature.name, tensor.name)

    def wants_gradient(self, inputs: Tensors) -> bool:
        """Whether a call has a gradient to make, under whatever transforms, and nothing that an operator refuses."""
        return torch.is_grad_enabled() and forward_ad._current_level < 0 and any(map(requires_gradient, inputs))

    def refuse_derivatives(self, inputs: Tensors, out: Tensors | None) -> None:
        """Raises GradientWanted where what is computed would have to be differentiated, or is written over what is.

        It has gradients where it writes to no `out`, and no tangents.

        It is asked at the place of torch's dispatcher where derivatives are made: by any road to the operator, under
        every transform, while torch traces too.
        """
        signature = self.binding.signature
        backward, forward = torch.is_grad_enabled(), forward_ad._current_level >= 0
        for tensor, input_ in zip(inputs, signature.inputs, strict=True):
            if backward and tensor.requires_grad and out is not None:
                raise errors.GradientWanted(signature.name, input_.name)
            if forward and forward_ad.unpack_dual(tensor).tangent is not None:
                raise errors.TangentWanted(signature.name, input_.name)
        for tensor, output in zip(out or (), signature.outputs, strict=False):
            if (backward and tensor.requires_grad) or (forward and forward_ad.unpack_dual(tensor).tangent is not None):
                raise errors.OutputDifferentiated(signature.name, output.name)
