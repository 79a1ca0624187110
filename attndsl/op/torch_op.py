"""A compiled spec as an operator of torch, which `torch.compile` and `torch.export` keep whole.

Import this only when torch is in use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from attndsl.op import errors
from attndsl.op.checks import Bound, bind
from attndsl.op.op import Op, alive
from attndsl.op.torch_tensors import ELEMENTS, bits, describe
from attndsl.python_names import python_name

_KINDS = {"int": "SymInt", "float": "float", "bool": "bool"}

operators: dict[str, Callable[..., list[torch.Tensor]]] = {}
"""torch's operators by key: they take inputs, then parameters, by position, and give a list of outputs."""


def register(op: Op) -> None:
    """Make `op` known to torch, once for all ops of the same text."""
    if op.key not in operators:
        operators[op.key] = _register(op)


def _register(op: Op) -> Callable[..., Any]:
    count = len(op.signature.inputs)

    def check(arguments: tuple[Any, ...]) -> tuple[Bound, dict[str, Any]]:
        params = {param.name: value for param, value in zip(op.signature.params, arguments[count:], strict=True)}
        given = {tensor.name: describe(value) for tensor, value in zip(op.signature.inputs, arguments, strict=False)}
        for input_, argument in given.items():
            if argument.device not in ("cpu", "meta"):
                raise errors.WrongDevice(op.signature.name, input_, argument.device, op.target)
        return bind(op.signature, given, params), params

    def allocate(bound: Bound, device: torch.device) -> list[torch.Tensor]:
        elements = op.output_elements(bound)
        return [
            torch.empty(shape, dtype=ELEMENTS[element], device=device)
            for shape, element in zip(bound.shapes, elements, strict=True)
        ]

    def compute(*arguments: Any) -> list[torch.Tensor]:
        bound, params = check(arguments)
        outputs = allocate(bound, torch.device("cpu"))
        named = {python_name(param): value for param, value in params.items()}
        op.program(bound.types)(*map(bits, arguments[:count]), *map(bits, outputs), **named)
        return outputs

    def shapes_only(*arguments: Any) -> list[torch.Tensor]:
        return allocate(check(arguments)[0], arguments[0].device)

    custom = torch.library.custom_op(f"attndsl::{op.key}", compute, mutates_args=(), schema=_schema(op))
    custom.register_fake(shapes_only)
    return custom


def _schema(op: Op) -> str:
    arguments = [f"Tensor {python_name(tensor.name)}" for tensor in op.signature.inputs]
    arguments += [f"{_KINDS[param.kind]} {python_name(param.name)}" for param in op.signature.params]
    return f"({', '.join(arguments)}) -> Tensor[]"


for _op in tuple(alive):  # those made before torch was imported
    register(_op)
