"""Specs as modules of torch. Import this only when torch is in use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from attndsl.driver.hints import did_you_mean
from attndsl.op import errors
from attndsl.op.checks import example_call
from attndsl.op.op import Op, load


class Attention(torch.nn.Module):
    """The operator of a spec as a module, which holds what is named of its inputs and parameters.

    `Attention("alibi", slope=torch.rand(8))` learns slopes, and is called with the other inputs, in their declared
    order or by name. `spec` is an operator, the path of a spec or, by its name, one of the gallery.

    A tensor of floats becomes a parameter of the module. A `torch.nn.Parameter` stays the one that it is, and a
    `torch.nn.Buffer`, or a tensor of ints or flags, is held as a buffer. What is held, parameters of the spec as
    `window=128` among it, a call may say anew. Raises UnknownArgument, NotHeld.
    """

    def __init__(self, spec: Op | str | Path, /, **held: Any) -> None:
        super().__init__()
        self.op = spec if isinstance(spec, Op) else load(spec)
        signature = self.op.signature
        held = {name: value for name, value in held.items() if value is not None}
        for name in held:
            if name not in signature.names:
                hint = did_you_mean(name, [*signature.names]) or "."
                raise errors.UnknownArgument(signature.name, name, hint, example_call(signature))
        self._given = tuple(tensor.name for tensor in signature.inputs if tensor.name not in held)
        self._held = tuple(tensor.name for tensor in signature.inputs if tensor.name in held)
        self._fixed = {name: value for name, value in held.items() if name not in self._held}
        for name in self._held:
            self._hold(name, held[name])

    def _hold(self, name: str, value: Any) -> None:
        if not isinstance(value, torch.Tensor):
            raise errors.NotHeld(self.op.signature.name, name, type(value).__name__)
        if isinstance(value, torch.nn.Buffer):
            self.register_buffer(name, value, value.persistent)
        elif isinstance(value, torch.nn.Parameter):
            self.register_parameter(name, value)
        elif value.is_floating_point():
            self.register_parameter(name, torch.nn.Parameter(value.detach().clone()))
        else:
            self.register_buffer(name, value)

    def forward(self, *inputs: Any, **arguments: Any) -> Any:
        """The outputs of the operator for these inputs, beside what the module holds. Raises CallError."""
        signature = self.op.signature
        if len(inputs) > len(self._given):
            call = example_call(signature)
            raise errors.TooManyInputs(signature.name, len(inputs), len(self._given), call)
        given = dict(zip(self._given, inputs, strict=False))
        for name in given:
            if name in arguments:
                raise errors.GivenTwice(signature.name, name)
        held = {name: getattr(self, name) for name in self._held}
        return self.op(**{**held, **self._fixed, **given, **arguments})

    def extra_repr(self) -> str:
        """The call that it is: what it holds, with its extents, and what it does not, as `…`."""
        signature = self.op.signature
        said = {name: str(value) for name, value in self._fixed.items()}
        for name in self._held:
            kind = "Parameter" if name in self._parameters else "Buffer"
            said[name] = f"{kind}{[*getattr(self, name).shape]}"
        return example_call(signature, said)
