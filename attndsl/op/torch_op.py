"""A compiled spec as an operator of torch, which `torch.compile` and `torch.export` keep whole.

Import this only when torch is in use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from attndsl.calling import Arguments
from attndsl.op.checks import Bound
from attndsl.op.gpu import GpuCalls, is_plain
from attndsl.op.op import Op, alive
from attndsl.op.torch_tensors import bits, check, empty

_KINDS = {"int": "SymInt", "float": "float", "bool": "bool"}

operators: dict[str, Callable[..., list[torch.Tensor]]] = {}
"""torch's operators by key: they take inputs, then parameters, by position, and give a list of outputs."""

_gpu_calls: dict[str, GpuCalls] = {}


def register(op: Op) -> None:
    """Make `op` known to torch, once for all ops of the same text."""
    if op.key not in operators:
        _gpu_calls[op.key] = GpuCalls(op)
        operators[op.key] = _register(op, _gpu_calls[op.key])
    op.gpu = _gpu_calls[op.key]


def call(op: Op, inputs: Mapping[str, torch.Tensor], params: Mapping[str, Any]) -> list[torch.Tensor]:
    """The outputs for these inputs and parameters, all of each in the order of their declarations."""
    tensors = list(inputs.values())
    if op.gpu is not None and is_plain(tensors):
        return op.gpu.compute(tensors, params)
    return operators[op.key](*tensors, *params.values())


def _register(op: Op, gpu: GpuCalls) -> Callable[..., Any]:
    signature = op.signature
    count = len(signature.inputs)

    def params_of(arguments: Sequence[Any]) -> dict[str, Any]:
        return {param.name: value for param, value in zip(signature.params, arguments[count:], strict=True)}

    def allocate(bound: Bound, device: torch.device) -> list[torch.Tensor]:
        elements = op.output_elements(bound)
        return [empty(shape, element, device) for shape, element in zip(bound.shapes, elements, strict=True)]

    def compute(*arguments: Any) -> list[torch.Tensor]:
        inputs, params = arguments[:count], params_of(arguments)
        if inputs[0].is_cuda:
            return gpu.compute(inputs, params)
        bound = check(signature, inputs, params)
        outputs = allocate(bound, inputs[0].device)
        tensors = Arguments(tuple(map(bits, inputs)), tuple(map(bits, outputs)))
        tensors.passed_to(op.program(bound.types), params)
        return outputs

    def shapes_only(*arguments: Any) -> list[torch.Tensor]:
        inputs = arguments[:count]
        return allocate(check(signature, inputs, params_of(arguments)), inputs[0].device)

    custom = torch.library.custom_op(f"attndsl::{op.key}", compute, mutates_args=(), schema=_schema(op))
    custom.register_fake(shapes_only)
    return custom


def _schema(op: Op) -> str:
    """Its arguments go by their places alone: torch has words of its own, as `self`."""
    arguments = [f"Tensor input_{n}" for n in range(len(op.signature.inputs))]
    arguments += [f"{_KINDS[param.kind]} param_{n}" for n, param in enumerate(op.signature.params)]
    return f"({', '.join(arguments)}) -> Tensor[]"


for _op in tuple(alive):  # those made before torch was imported
    register(_op)
