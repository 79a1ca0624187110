"""How torch is told of an operator: what it does at each key of the dispatcher. Import it only when torch is in use."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch._compile import _disable_dynamo
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack
from torch.utils._pytree import tree_map

from attndsl.driver.signature import Signature
from attndsl.op.autocast import cast_as_torch_does
from attndsl.op.kernels import Kernels
from attndsl.op.torch_tensors import PACKED

_KINDS = {"int": "SymInt", "float": "float", "bool": "bool"}

_COMPUTING = ("CompositeExplicitAutograd", "NestedTensorCPU", "NestedTensorCUDA")
"""The dispatch keys of every tensor that is no subclass: what computes also refuses, in words."""

_AUTOCAST = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU).add(torch._C.DispatchKey.AutocastCUDA)

Arguments = Sequence[Any]


class Convention(Protocol):
    """How an operator of torch takes a call, and gives its outputs."""

    def kernels(self, arguments: Arguments, /) -> Kernels:
        """Those of the spec that is called."""

    def tensors(self, kernels: Kernels, arguments: Arguments, /) -> tuple[Arguments, Arguments | None]:
        """The inputs, and the outputs that are written to where there are some; of what stands in their places, too."""

    def with_inputs(self, kernels: Kernels, arguments: Arguments, inputs: Arguments, /) -> Arguments:
        """The same call with other inputs."""

    def params(self, kernels: Kernels, arguments: Arguments, /) -> dict[str, Any]:
        """The parameters."""

    def outputs(self, written: Sequence[Any], /) -> Any:
        """What it gives."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """Inputs, then parameters, then outputs that it writes, each in the order of their declarations.

    `of` finds the kernels: torch never lets go of functions that it was given, and so they hold nothing.
    """

    of: Callable[[], Kernels]
    writes: bool = False

    def kernels(self, arguments: Arguments) -> Kernels:
        """The only ones."""
        return self.of()

    def tensors(self, kernels: Kernels, arguments: Arguments) -> tuple[Arguments, Arguments | None]:
        """The first and the last arguments."""
        signature = kernels.binding.signature
        count, after = len(signature.inputs), len(signature.inputs) + len(signature.params)
        return arguments[:count], arguments[after:] if self.writes else None

    def with_inputs(self, kernels: Kernels, arguments: Arguments, inputs: Arguments) -> Arguments:
        """Others in front."""
        return (*inputs, *arguments[len(inputs) :])

    def params(self, kernels: Kernels, arguments: Arguments) -> dict[str, Any]:
        """Those between them."""
        signature = kernels.binding.signature
        between = arguments[len(signature.inputs) :]
        return {param.name: value for param, value in zip(signature.params, between, strict=False)}

    def outputs(self, written: Sequence[Any]) -> Any:
        """The only output, several as a tuple, or nothing."""
        if self.writes:
            return None
        return tuple(written) if len(written) > 1 else next(iter(written), None)


def several(given: Any) -> Sequence[torch.Tensor]:
    """What an operator of torch gives as a sequence."""
    return given if isinstance(given, tuple) else () if given is None else (given,)


def schema(signature: Signature, written: Sequence[str] = ()) -> str:
    """Its arguments go by their places alone: torch has words of its own, as `self`."""
    marks = [f"(i{n}!)" if tensor.in_place else "" for n, tensor in enumerate(signature.inputs)]
    arguments = [f"Tensor{mark} input_{n}" for n, mark in enumerate(marks)]
    kinds = [_KINDS[param.kind] + ("" if param.formula is None else "?") for param in signature.params]
    arguments += [f"{kind} param_{n}" for n, kind in enumerate(kinds)]
    made = [] if written else ["Tensor"] * len(signature.outputs)
    returned = made[0] if len(made) == 1 else f"({', '.join(made)})"
    return f"({', '.join([*arguments, *written])}) -> {returned}"


_uncounted: dict[Any, Callable[..., int]] = {}
"""What operators compute, by their packets, of those that `torch.utils.flop_counter` does not know of."""


def count_flops() -> None:
    """Has `torch.utils.flop_counter` count what operators compute, also where it was imported after they were made."""
    module = sys.modules.get("torch.utils.flop_counter")
    if module is None or not _uncounted:
        return
    counting = [m.counter for m in _get_current_dispatch_mode_stack() if isinstance(m, module._FlopCounterMode)]
    for registry in (module.flop_registry, *(counter.flop_registry for counter in counting)):
        registry.update(_uncounted)
    _uncounted.clear()


def _forget_flops(packet: Any) -> None:
    module = sys.modules.get("torch.utils.flop_counter")
    for registry in (_uncounted, {} if module is None else module.flop_registry):
        registry.pop(packet, None)


def define(
    library: torch.library.Library, name: str, schema: str, convention: Convention
) -> torch._ops.OpOverload[..., Any]:
    """An operator of torch, which refuses what it cannot do."""
    qualified = f"attndsl::{name}"
    torch.library.define(qualified, schema, lib=library, tags=torch.Tag.pt2_compliant_tag)
    operator: torch._ops.OpOverload[..., Any] = getattr(torch.ops.attndsl, name).default

    def call(of: Callable[..., Sequence[torch.Tensor]], kernels: Kernels, arguments: Arguments) -> Any:
        inputs, out = convention.tensors(kernels, arguments)
        return convention.outputs(of(inputs, convention.params(kernels, arguments), out))

    def compute(*arguments: Any) -> Any:
        kernels = convention.kernels(arguments)
        return call(kernels.compute, kernels, arguments)

    def fake(*arguments: Any) -> Any:
        kernels = convention.kernels(arguments)
        return call(kernels.shapes, kernels, arguments)

    def autograd(keys: torch._C.DispatchKeySet, *arguments: Any) -> Any:
        kernels = convention.kernels(arguments)
        inputs, out = convention.tensors(kernels, arguments)
        kernels.refuse_derivatives(inputs, out)
        if out is None and torch.is_grad_enabled() and torch._C._any_requires_grad(*inputs):
            return convention.outputs(kernels.differentiated(inputs, convention.params(kernels, arguments)))
        with torch._C._AutoDispatchBelowAutograd():
            return operator.redispatch(keys & torch._C._after_autograd_keyset, *arguments)

    def batched(_info: Any, places: Any, *arguments: Any) -> Any:
        kernels = convention.kernels(arguments)
        (inputs, out), (of_inputs, of_out) = (convention.tensors(kernels, each) for each in (arguments, places))
        params = convention.params(kernels, arguments)
        kernels.refuse_transforms(inputs)
        outputs = convention.outputs(kernels.batches(inputs, of_inputs, params, out, of_out or ()))
        return outputs, tree_map(lambda _: 0, outputs)

    def autocast(*arguments: Any) -> Any:
        kernels = convention.kernels(arguments)
        inputs, _ = convention.tensors(kernels, arguments)
        cast = cast_as_torch_does(kernels.binding.signature, inputs)
        with torch._C._ExcludeDispatchKeyGuard(_AUTOCAST):
            return operator(*convention.with_inputs(kernels, arguments, cast))

    def operations(*arguments: Any, out_val: Any = None) -> int:
        kernels = convention.kernels(arguments)
        inputs, _ = convention.tensors(kernels, arguments)
        return kernels.operations(inputs, convention.params(kernels, arguments))

    def unpacked(_class: type, _operator: Any, _types: Any, arguments: Arguments, _named: Any) -> Any:
        return fake(*arguments)

    for key in _COMPUTING:
        library.impl(name, _disable_dynamo(compute), key)
    torch.library.register_fake(qualified, fake, lib=library)
    library.impl(name, autograd, "Autograd", with_keyset=True)
    torch.library.register_vmap(qualified, batched, lib=library)
    for key in ("AutocastCPU", "AutocastCUDA"):
        library.impl(name, autocast, key)
    _uncounted[operator._overloadpacket] = operations
    weakref.finalize(library, _forget_flops, operator._overloadpacket).atexit = False
    count_flops()
    for packed in PACKED:
        torch.library.register_torch_dispatch(qualified, packed, unpacked, lib=library)
    return operator
