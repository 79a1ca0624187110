"""Operators of torch that take a spec's text for an argument: what exported programs call, in any process.

A graph that a file holds cannot name an operator that some other process has registered. A text stands on one line in
it: Inductor of torch 2.11 writes what nodes take into comments of the code for GPUs. Import this only when torch is in
use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import torch
from torch._compile import _disable_dynamo

from attndsl.driver.signature import Signature
from attndsl.op.binding import CompiledSpec
from attndsl.op.kernels import Kernels
from attndsl.op.torch_library import Arguments, define
from attndsl.op.torch_op import TensorCalls, register
from attndsl.syntax.source import Source

ON_ONE_LINE = "unicode_escape"
"""How a text is written without ends of lines."""

_SPEC = "str spec, str left_out, str said"
"""A text on one line, inputs that calls leave out, and element types that they say, `A=f32`, with spaces between."""

_PARAMS = "str params, SymInt[] ints, float[] floats, bool[] flags"
"""The names of parameters that are given, and their values, those of one kind together."""

_PLACE = {"int": 0, "float": 1, "bool": 2}

_library = torch.library.Library("attndsl", "FRAGMENT")


@lru_cache(maxsize=256)
def _calls(spec: str, left_out: str, said: str) -> TensorCalls:
    types = dict(each.split("=") for each in said.split())
    text = spec.encode("ascii").decode(ON_ONE_LINE)
    return register(CompiledSpec(Source(text), tuple(left_out.split()), types))


class _Text:
    """A text, what it leaves out and says; inputs, then parameters, then inouts and outputs, which it writes."""

    def __init__(self, writes: bool) -> None:
        self._writes = writes

    def kernels(self, arguments: Arguments) -> Kernels:
        """Those of the spec with this text."""
        spec, left_out, said, *_ = arguments
        return _calls(spec, left_out, said).kernels

    def tensors(self, kernels: Kernels, arguments: Arguments) -> tuple[Arguments, Arguments | None]:
        """All inputs, those that are written too, and the outputs."""
        if not self._writes:
            return arguments[3], None
        given, written = iter(arguments[3]), arguments[8]
        signature = kernels.binding.signature
        in_place = iter(written)
        inputs = [next(in_place if tensor.in_place else given) for tensor in signature.inputs]
        return inputs, written[len(signature.in_place) :]

    def with_inputs(self, kernels: Kernels, arguments: Arguments, inputs: Arguments) -> Arguments:
        """Others in the place of all that are not written."""
        signature = kernels.binding.signature
        plain = [
            each
            for tensor, each in zip(signature.inputs, inputs, strict=True)
            if not (self._writes and tensor.in_place)
        ]
        return (*arguments[:3], plain, *arguments[4:])

    def params(self, kernels: Kernels, arguments: Arguments) -> dict[str, Any]:
        """The parameters; of those that are left out a formula tells."""
        names, *values = arguments[4:8]
        given, found = {*names.split()}, {}
        left = [*map(iter, values)]
        for param in kernels.binding.signature.params:
            found[param.name] = next(left[_PLACE[param.kind]]) if param.name in given else None
        return found

    def outputs(self, written: Sequence[Any]) -> Any:
        """All that are new."""
        return None if self._writes else list(written)


_SCHEMA = f"({_SPEC}, Tensor[] inputs, {_PARAMS}) -> Tensor[]"

_text = _Text(writes=False)
_caller = define(_library, "call", _SCHEMA, _text)
_writer = define(_library, "write", _SCHEMA.replace(") -> Tensor[]", ", Tensor(a!)[] written) -> ()"), _Text(True))


def _empty(*arguments: Any) -> list[torch.Tensor]:
    kernels = _text.kernels(arguments)
    return [*kernels.shapes(arguments[3], _text.params(kernels, arguments), None)]


torch.library.define("attndsl::empty", _SCHEMA, lib=_library, tags=torch.Tag.pt2_compliant_tag)
torch.library.impl("attndsl::empty", "CompositeExplicitAutograd", lib=_library)(_disable_dynamo(_empty))
torch.library.register_fake("attndsl::empty", _empty, lib=_library)
"""New memory for the outputs of such a call: what writes in place has no outputs that torch would allow it."""


def call(
    kernels: Kernels,
    inputs: Mapping[str, torch.Tensor],
    params: Mapping[str, Any],
    out: Sequence[torch.Tensor] | None,
) -> Sequence[torch.Tensor]:
    """The outputs of a call by the text of a spec."""
    binding, signature = kernels.binding, kernels.binding.signature
    text = binding.spec.text.encode(ON_ONE_LINE).decode("ascii")
    spec = text, " ".join(binding.left_out), " ".join(f"{n}={e}" for n, e in binding.said.items())
    given = _values(signature, params)
    plain = [inputs[tensor.name] for tensor in signature.inputs if not tensor.in_place]
    in_place = [inputs[tensor.name] for tensor in signature.inputs if tensor.in_place]
    if not in_place and out is None:
        outputs: list[torch.Tensor] = _caller(*spec, plain, *given)
        return outputs
    if out is None:
        out = torch.ops.attndsl.empty(*spec, [*inputs.values()], *given)
    _writer(*spec, plain, *given, [*in_place, *out])
    return out


def _values(signature: Signature, params: Mapping[str, Any]) -> tuple[str, list[int], list[float], list[bool]]:
    known = [param for param in signature.params if params[param.name] is not None]
    of = {kind: [params[param.name] for param in known if param.kind == kind] for kind in _PLACE}
    return " ".join(param.name for param in known), of["int"], of["float"], of["bool"]
