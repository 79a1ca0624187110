"""Gradients of specs, as specs: what a spec saves for them, and a second spec that gives back to its inputs.

The backward is made from the typed spec and printed as text: it has a meaning, an error bound, a schedule and programs
as any other spec has, and no part of the compiler knows that it is one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from attndsl.checking.check import check
from attndsl.checking.typed import Spec
from attndsl.diagnostics.base import SpecError
from attndsl.gradient.backward import Derived
from attndsl.gradient.derive import derive
from attndsl.gradient.errors import NoGradient
from attndsl.gradient.forward import forward_text
from attndsl.gradient.text import source_text
from attndsl.syntax.format import format_text
from attndsl.syntax.source import Source

__all__ = ["Gradient", "NoGradient", "gradient"]


@dataclass(frozen=True, slots=True)
class Gradient:
    """The two specs of a gradient, as text.

    `forward` is the spec with outputs more, `saved`, and `backward` takes them beside inputs and outputs of the spec,
    and the cotangents of float outputs, by names of `cotangents`. It writes `gradients`, outputs by the inputs whose
    gradients they are, with the extents and the element type of those.
    """

    forward: str
    backward: str
    saved: tuple[str, ...]
    cotangents: Mapping[str, str]
    gradients: Mapping[str, str]


def gradient(spec: Spec, of: Sequence[str] = (), outputs: Sequence[str] = ()) -> Gradient:
    """The gradients of the inputs `of` a spec; without any, of all float inputs that reach an output.

    Where some `outputs` are named, cotangents of others are no part of it: as if they were 0, with nothing computed.
    Raises NoGradient, which names what has none: an input that is stored in 8 bits or as ints, or that conditions and
    ints alone read; an output in which rows may meet; a tensor that is written in place.
    """
    derived = derive(spec, of, outputs)
    return Gradient(
        forward=_sound(spec, forward_text(spec, derived)),
        backward=_sound(spec, source_text(derived.backward, derived.names, _comment(spec, derived))),
        saved=(*(saved.tensor.name for saved in derived.saved), *derived.kept),
        cotangents=derived.cotangents,
        gradients=derived.gradients,
    )


def _sound(spec: Spec, text: str) -> str:
    """A text that is a spec, in the canonical layout. Raises NoGradient where it says what the language cannot."""
    try:
        check(Source(text))
        return format_text(Source(text))
    except SpecError as error:
        first = str(error).splitlines()[0]
        raise NoGradient(f"{spec.name} has no gradient yet: its text would be no spec ({first}).") from error


def _comment(spec: Spec, derived: Derived) -> list[str]:
    """What stands above the backward."""
    lines = [f"Made by attndsl: the gradient of {spec.name} by {_listed(tuple(derived.gradients))}."]
    lines.append(
        f"{_listed(tuple(derived.cotangents.values()))}: the cotangents of {_listed(tuple(derived.cotangents))}."
    )
    if saved := [*(saved.tensor.name for saved in derived.saved), *derived.kept]:
        lines.append(f"The forward saves {_listed(saved)} besides: `attndsl grad {spec.name} --forward`.")
    return lines


def _listed(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
