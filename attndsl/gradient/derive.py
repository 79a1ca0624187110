"""The gradient of a typed spec, as a typed spec: from cotangents of its outputs to the gradients of its inputs."""

from __future__ import annotations

from collections.abc import Sequence

from attndsl.checking.typed import FLOAT_TYPES, Spec, Tensor
from attndsl.gradient.backward import Backward, Derived
from attndsl.gradient.block import BlockBackward
from attndsl.gradient.errors import NoGradient, UnknownAdjoint
from attndsl.gradient.places import told_apart


def derive(spec: Spec, of: Sequence[str] = (), outputs: Sequence[str] = ()) -> Derived:
    """The gradients of the inputs `of` a spec, or of all that are stored as floats, of cotangents of some `outputs`.

    Without any outputs, of all. Raises NoGradient.
    """
    _check_outputs(spec)
    backward = Backward(spec, wanted := _wanted(spec, of), outputs or [tensor.name for tensor in spec.outputs])
    for number, block in reversed([*enumerate(spec.blocks)]):
        try:
            BlockBackward(backward, number, block).add()
        except UnknownAdjoint as error:
            raise NoGradient(f"{spec.name} has no gradient yet: {error.what} has no rule.") from None
    reaching = [name for name in wanted if backward.reaches(name)]
    for name in (*of, *wanted[: not reaching]):
        if name not in reaching:
            raise NoGradient(f"{name} reaches no output of {spec.name} through numbers: it has no gradient.", name)
    return backward.finished()


def _wanted(spec: Spec, of: Sequence[str]) -> tuple[str, ...]:
    """The inputs whose gradients are asked for."""
    known = {tensor.name: tensor for tensor in spec.inputs}
    for name in of:
        if name not in known:
            raise NoGradient(f"{spec.name} has no input {name}: its inputs are {', '.join(known)}.")
        if not _is_differentiable(spec, known[name]):
            raise NoGradient(f"{name} has no gradient: it is stored as {known[name].element}.", name)
    found = tuple(dict.fromkeys(of)) or tuple(n for n, tensor in known.items() if _is_differentiable(spec, tensor))
    if not found:
        raise NoGradient(f"{spec.name} has no gradient: it has no input that is stored as floats.")
    return found


def _is_differentiable(spec: Spec, tensor: Tensor) -> bool:
    return {*spec.types.get(tensor.element, (tensor.element,))} <= {*FLOAT_TYPES}


def _check_outputs(spec: Spec) -> None:
    """Raises NoGradient where inputs are written, or rows may meet in what they write."""
    for tensor in spec.inputs:
        if tensor.role == "inout":
            raise NoGradient(f"{spec.name} has no gradient: {tensor.name} is written in place.")
    for block in spec.blocks:
        for write in block.writes:
            if not write.adds and not {*block.each} <= told_apart(write.indices):
                raise NoGradient(
                    f"{spec.name} has no gradient: rows may meet in what they write to {write.tensor.name}."
                )
