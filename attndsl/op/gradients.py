"""Gradients of a call with tensors, by the two specs that are derived from its own (`attndsl.gradient`).

Import this only when torch is in use.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from attndsl.op import errors
from attndsl.op.batches import Batches, moved_first
from attndsl.op.binding import CompiledSpec
from attndsl.syntax.source import Source

Call = Callable[[Mapping[str, torch.Tensor], Mapping[str, Any]], Sequence[torch.Tensor]]
"""Of inputs and parameters by their names, all of them in the order of their declarations, the outputs."""

Register = Callable[[CompiledSpec], Call]
"""How a compiled spec is called with tensors."""


class Gradients:
    """The gradients of calls of one compiled spec; what is derived is made once for each choice of inputs."""

    def __init__(self, binding: CompiledSpec, register: Register, batches: Batches) -> None:
        self._binding = binding
        self._register = register
        self.batches = batches
        self._derived: dict[tuple[tuple[str, ...], str, tuple[str, ...]], Derivative] = {}
        self._lock = threading.Lock()

    def __call__(self, inputs: Sequence[torch.Tensor], params: Mapping[str, Any]) -> Sequence[torch.Tensor]:
        """The outputs of a call, which know how they came about. Raises GradientWanted where there is no gradient."""
        names = [tensor.name for tensor in self._binding.signature.inputs]
        wanted = [name for name, tensor in zip(names, inputs, strict=True) if requires_gradient(tensor)]
        sums = "f64" if any(tensor.dtype == torch.float64 for tensor in inputs) else "f32"
        derivative = self.of(tuple(wanted), sums)
        written = _DifferentiatedCall.apply(derivative, names, params, *inputs)  # type: ignore[no-untyped-call]  # torch's
        known = dict(zip(derivative.written, written, strict=True))
        return [known[tensor.name] for tensor in self._binding.signature.outputs]

    def of(self, wanted: tuple[str, ...], sums: str, outputs: tuple[str, ...] = ()) -> Derivative:
        """What computes the gradients of some inputs, by some outputs or by all. Raises GradientWanted."""
        with self._lock:
            key = wanted, sums, outputs
            if key not in self._derived:
                self._derived[key] = Derivative(self, self._binding, self._register, *key)
            return self._derived[key]


def requires_gradient(tensor: torch.Tensor) -> bool:
    """Whether a tensor requires a gradient, or what it wraps for a transform of torch.func does."""
    of = torch._C._functorch
    while not tensor.requires_grad:
        if torch.compiler.is_dynamo_compiling() or not (
            of.is_batchedtensor(tensor) or of.is_gradtrackingtensor(tensor)
        ):
            return False
        tensor = of.get_unwrapped(tensor)
    return True


class Derivative:
    """The forward of a call that saves what its backward takes, and that, which gives the gradients `wanted`."""

    def __init__(
        self,
        gradients: Gradients,
        binding: CompiledSpec,
        register: Register,
        wanted: Sequence[str],
        sums: str,
        outputs: Sequence[str],
    ) -> None:
        from attndsl.driver.library import checked
        from attndsl.gradient import NoGradient, gradient

        spec = checked(binding.spec, *binding.left_out).where(binding.said)
        try:
            derived = gradient(spec, wanted, outputs)
        except NoGradient as error:
            raise errors.NotDifferentiable(binding.signature.name, error.input_ or wanted[0], str(error)) from None
        self._all, self._sums, self._wanted = gradients, sums, tuple(wanted)
        self.name = binding.signature.name
        self._parts: dict[tuple[tuple[str, ...], tuple[str, ...]], Derivative] = {}
        self._gradients, self.cotangents = derived.gradients, derived.cotangents
        self._forward = _bound(derived.forward, binding, sums)
        self._backward = _bound(derived.backward, binding, sums, apart=True)
        self._register, self._call_backward = register, register(self._backward)
        own = self._forward.key == binding.key  # an op that holds itself would never be dropped
        self._call_forward = None if own else register(self._forward)
        written = [tensor.name for tensor in self._forward.signature.outputs]
        self.written = tuple(written)
        given = {tensor.name for tensor in self._backward.signature.inputs}
        self.taken = tuple(name for name in (*(t.name for t in binding.signature.inputs), *written) if name in given)

    def of(self, wanted: Sequence[str], outputs: Sequence[str]) -> Derivative:
        """What gives the gradients of some of the inputs alone, of some outputs alone, of what this forward has saved.

        Else itself: where one of the inputs has no part in these outputs, its gradient is 0, which this computes.
        """
        key = tuple(wanted), () if {*outputs} >= self.cotangents.keys() else tuple(outputs)
        if key not in self._parts:
            self._parts[key] = self._part(*key)
        return self._parts[key]

    def batched(self, names: tuple[str, ...]) -> Derivative:
        """That of a batch of calls, in which each has its own of these inputs. Raises BatchWanted."""
        gradients: Gradients = self._all.batches.of(names).gradients
        return gradients.of(self._wanted, self._sums)

    def is_batched(self, name: str, of: Derivative) -> bool:
        """Whether what this forward writes has the batch's axis, by the name that `of`, of one call, has for it."""
        outputs = {tensor.name: tensor.extents for tensor in self._forward.signature.outputs}
        (one,) = (tensor for tensor in of._forward.signature.outputs if tensor.name == name)
        return len(outputs[name]) > len(one.extents)

    def _part(self, wanted: tuple[str, ...], outputs: tuple[str, ...]) -> Derivative:
        try:
            part = self._all.of(wanted, self._sums, outputs)
        except errors.NotDifferentiable:
            return self
        return part if part._forward.spec.text == self._forward.spec.text else self  # names mean the same

    def forward(self, inputs: Mapping[str, torch.Tensor], params: Mapping[str, Any]) -> dict[str, torch.Tensor]:
        """What the forward writes, outputs of the spec and what it saves, by their names."""
        call = self._call_forward or self._register(self._forward)
        return dict(zip(self.written, call(inputs, params), strict=True))

    def backward(self, given: Mapping[str, torch.Tensor], params: Mapping[str, Any]) -> dict[str, torch.Tensor]:
        """The gradients, by the inputs that they are of."""
        signature = self._backward.signature
        inputs = {tensor.name: given[tensor.name] for tensor in signature.inputs}
        own = {param.name: params[param.name] for param in signature.params}
        written = self._call_backward(inputs, own)
        found = dict(zip((tensor.name for tensor in signature.outputs), written, strict=True))
        return {name: found[output] for name, output in self._gradients.items()}


class _DifferentiatedCall(torch.autograd.Function):
    """A call whose outputs have a gradient by the inputs that require one; what is saved are outputs, too."""

    @staticmethod
    def forward(derivative: Derivative, names: Sequence[str], params: Mapping[str, Any], *inputs: torch.Tensor) -> Any:
        """What the forward writes."""
        written = derivative.forward(dict(zip(names, inputs, strict=True)), params)
        return tuple(written[name] for name in derivative.written)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Keeps what the backward takes, as few tensors as that needs."""
        derivative, names, params, *tensors = inputs
        known = dict(zip((*names, *derivative.written), (*tensors, *output), strict=True))
        ctx.save_for_backward(*(known[name] for name in derivative.taken))
        others = [t for n, t in zip(derivative.written, output, strict=True) if n not in derivative.cotangents]
        ctx.mark_non_differentiable(*others)
        ctx.set_materialize_grads(False)
        ctx.derivative, ctx.names, ctx.params = derivative, names, params
        ctx.likes = {n: known[n].new_empty(()).expand(known[n].shape) for n in derivative.cotangents}

    @staticmethod
    def vmap(
        info: Any, in_dims: Any, derivative: Derivative, names: Sequence[str], params: Any, *inputs: torch.Tensor
    ) -> Any:
        """The same for a batch of calls. Raises BatchWanted."""
        places = in_dims[-len(inputs) :]
        batched = derivative.batched(tuple(n for n, place in zip(names, places, strict=True) if place is not None))
        moved = [moved_first(tensor, place) for tensor, place in zip(inputs, places, strict=True)]
        written = _DifferentiatedCall.apply(batched, names, params, *moved)  # type: ignore[no-untyped-call]
        known = dict(zip(batched.written, written, strict=True))
        first = tuple(0 if batched.is_batched(name, derivative) else None for name in derivative.written)
        return tuple(known[name] for name in derivative.written), first

    @staticmethod
    def backward(ctx: Any, *cotangents: torch.Tensor | None) -> Any:
        """The gradients of the inputs that want one now; they have none themselves."""
        derivative = ctx.derivative
        wanted = [name for name, asked in zip(ctx.names, _asked_for(ctx, len(ctx.names)), strict=True) if asked]
        given = dict(zip(derivative.taken, ctx.saved_tensors, strict=True))
        known = {output: each for output, each in zip(derivative.written, cotangents, strict=True) if each is not None}
        part = derivative.of(wanted, [output for output in derivative.cotangents if output in known])
        for output, name in part.cotangents.items():
            given[name] = known[output] if output in known else torch.zeros_like(ctx.likes[output])
        with torch.no_grad():
            found = part.backward(given, ctx.params)
        if torch.is_grad_enabled():  # what is saved is no function of the inputs here: say so, and not 0
            made = [name for name in ctx.names if name in found]
            once = _DifferentiatedOnce.apply(derivative.name, *(found[name] for name in made), *given.values())  # type: ignore[no-untyped-call]
            found = dict(zip(made, once, strict=False))
        return None, None, None, *(found.get(name) for name in ctx.names)


def _asked_for(ctx: Any, inputs: int) -> list[bool]:
    """Of which tensors, the last arguments of a call, somebody wants the gradient: `grad` may ask for some alone."""
    needed = list(ctx.needs_input_grad[-inputs:])
    beyond = [node for node, _ in ctx.next_functions]
    goes_on = getattr(torch._C, "_will_engine_execute_node", None)
    if goes_on is None or len(beyond) != inputs:
        return needed

    def is_asked(node: Any) -> bool:
        try:
            return bool(goes_on(node))
        except RuntimeError:  # it says nothing of leaves that are asked for, nor outside of a backward pass
            return True

    return [need and (node is None or is_asked(node)) for need, node in zip(needed, beyond, strict=True)]


class _DifferentiatedOnce(torch.autograd.Function):
    """Gradients that refuse to be differentiated; `given` is what they are made of."""

    @staticmethod
    def forward(name: str, *tensors: torch.Tensor) -> Any:
        """The same tensors."""
        return tuple(tensor.view_as(tensor) for tensor in tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Keeps the name of the spec."""
        ctx.name = inputs[0]

    @staticmethod
    def vmap(info: Any, in_dims: Any, name: str, *tensors: torch.Tensor) -> Any:
        """The same tensors, with their axes."""
        return _DifferentiatedOnce.apply(name, *tensors), in_dims[1:]  # type: ignore[no-untyped-call]

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        """Raises SecondGradientWanted."""
        raise errors.SecondGradientWanted(ctx.name)


def _bound(text: str, binding: CompiledSpec, sums: str, apart: bool = False) -> CompiledSpec:
    """A derived spec for the types of a call; sums of rows are kept in the type `sums`."""
    source = Source(text)
    left_out = () if apart else binding.left_out
    said = CompiledSpec(source, left_out).signature.said
    return CompiledSpec(source, left_out, {name: binding.said.get(name, sums) for name in said})
