"""What can be wrong with a call: one class each. All are CallErrors, and the TypeError or ValueError that they are.

A message names the input, the dim, what the call gave and what the spec wants.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields
from typing import ClassVar


@dataclass(eq=False, repr=False)
class WordedError(Exception):
    """An error whose words have its fields in them; another process gets it whole."""

    message: ClassVar[str]

    def __str__(self) -> str:
        return self.message.format(**{field.name: getattr(self, field.name) for field in fields(self)})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __reduce__(self) -> tuple[type[WordedError], tuple[object, ...]]:
        return type(self), astuple(self)


@dataclass(eq=False, repr=False)
class CallError(WordedError):
    """A call of a compiled spec that does not fit it; `spec` is the spec's name."""

    spec: str


# --- names


@dataclass(eq=False, repr=False)
class TooManyInputs(CallError, TypeError):
    found: int
    wanted: int
    call: str

    message = "{spec} takes {wanted} inputs by position, and has {found}: parameters go by name, {call}"


@dataclass(eq=False, repr=False)
class GivenTwice(CallError, TypeError):
    name: str

    message = "{name} is given twice to {spec}: by position, and by name"


@dataclass(eq=False, repr=False)
class UnknownArgument(CallError, TypeError):
    name: str
    hint: str
    call: str

    message = "{spec} has no argument {name}{hint} It is called as {call}"


@dataclass(eq=False, repr=False)
class MissingArgument(CallError, TypeError):
    names: str
    call: str

    message = "{spec} needs {names} too: {call}"


@dataclass(eq=False, repr=False)
class NoDefault(CallError, TypeError):
    name: str
    call: str

    message = "{name} is nothing that a call of {spec} may leave out: {call}"


@dataclass(eq=False, repr=False)
class NothingGiven(CallError, TypeError):
    call: str

    message = "{spec} needs an input to know where it computes, and all are left out: {call}"


@dataclass(eq=False, repr=False)
class LeftOutTells(CallError, TypeError):
    names: str
    told: str

    message = "{spec} knows {told} from {names} alone, which is left out"


@dataclass(eq=False, repr=False)
class NotHeld(CallError, TypeError):
    name: str
    found: str

    message = (
        "{name} is of type {found}: a module of {spec} holds tensors, as torch.tensor(…), and parameters of the spec"
    )


# --- kinds


@dataclass(eq=False, repr=False)
class NotAnArray(CallError, TypeError):
    name: str
    found: str

    message = "{name} is of type {found}: {spec} takes NumPy arrays or torch tensors"


@dataclass(eq=False, repr=False)
class PlainNumber(CallError, TypeError):
    name: str
    value: str
    wanted: str

    message = (
        "{name} is the plain number {value}, which has no element type, but {spec} wants {wanted}: "
        "pass a NumPy scalar such as np.float32({value}), or a torch tensor"
    )


@dataclass(eq=False, repr=False)
class PackedTensor(CallError, TypeError):
    name: str
    found: str
    plain: str

    message = "{name} is {found}, but {spec} takes tensors whose memory is their elements; pass {plain}"


@dataclass(eq=False, repr=False)
class MixedFrameworks(CallError, TypeError):
    first: str
    first_framework: str
    second: str
    second_framework: str

    message = (
        "{first} is a {first_framework}, but {second} is a {second_framework}: give all inputs of {spec} as one kind"
    )


@dataclass(eq=False, repr=False)
class WrongParameter(CallError, TypeError):
    name: str
    value: str
    wanted: str

    message = "{name} is {value}, but {spec} wants {wanted}"


@dataclass(eq=False, repr=False)
class WrongElement(CallError, TypeError):
    name: str
    found: str
    wanted: str

    message = "{name} holds {found}, but {spec} wants {wanted}"


@dataclass(eq=False, repr=False)
class WrongType(CallError, TypeError):
    name: str
    found: str
    wanted: str

    message = "{name} is {found}, but {spec} wants {wanted}, which its outputs then have"


@dataclass(eq=False, repr=False)
class TypesDiffer(CallError, TypeError):
    name: str
    found: str
    variable: str
    element: str
    origin: str

    message = "{name} holds {found}, but {origin} says {variable} = {element}"


# --- extents


@dataclass(eq=False, repr=False)
class RanksDiffer(CallError, ValueError):
    name: str
    shape: tuple[int, ...]
    rank: int
    wanted: int
    declared: str

    message = "{name} has {rank} dimensions, its shape is {shape}, but {spec} wants {wanted}: {declared}"


@dataclass(eq=False, repr=False)
class DimsDiffer(CallError, ValueError):
    name: str
    dim: str
    found: int
    dimension: int
    origin: str
    wanted: int
    origin_dimension: int

    message = (
        "{name} has {dim} = {found} (dimension {dimension}), "
        "but {origin} says {dim} = {wanted} (dimension {origin_dimension})"
    )


@dataclass(eq=False, repr=False)
class WrongExtent(CallError, ValueError):
    name: str
    found: int
    dimension: int
    extent: str
    wanted: int
    because: str

    message = "{name} has {found} in dimension {dimension}, but {spec} wants {extent} = {wanted}{because}"


@dataclass(eq=False, repr=False)
class NoDimGives(CallError, ValueError):
    name: str
    found: int
    dimension: int
    extent: str
    dim: str
    because: str

    message = (
        "{name} has {found} in dimension {dimension}, "
        "but {spec} wants {extent}, and no {dim} of 0 or more makes that {found}{because}"
    )


@dataclass(eq=False, repr=False)
class NoDimTold(NoDimGives):
    message = (
        "{name} has {found} in dimension {dimension}, where {spec} wants {extent}, "
        "and that is the same for every {dim}, which nothing else tells{because}"
    )


@dataclass(eq=False, repr=False)
class DimTooLarge(CallError, ValueError):
    name: str
    dim: str
    found: int
    largest: str

    message = "{name} says {dim} = {found}, but a dim of {spec} is at most {largest}"


@dataclass(eq=False, repr=False)
class UndefinedExtent(CallError, ValueError):
    name: str
    dimension: int
    extent: str
    because: str

    message = "{name} cannot have {extent} in dimension {dimension}: that divides by zero{because}"


@dataclass(eq=False, repr=False)
class UndefinedDefault(CallError, ValueError):
    name: str
    formula: str
    because: str

    message = "{name} is left out of a call of {spec}, and is no {formula}, which divides by zero{because}"


@dataclass(eq=False, repr=False)
class ExtentIsNegative(CallError, ValueError):
    name: str
    dimension: int
    extent: str
    found: int
    because: str

    message = "{name} cannot have {extent} = {found} in dimension {dimension}{because}"


@dataclass(eq=False, repr=False)
class RequirementFails(CallError, ValueError):
    condition: str
    because: str

    message = "{spec} requires {condition}{because}"


# --- out=


@dataclass(eq=False, repr=False)
class OutputsCounted(CallError, TypeError):
    found: int
    wanted: int
    call: str

    message = "out has {found} tensors, but {spec} writes {wanted}: out={call}"


@dataclass(eq=False, repr=False)
class WrongOutput(CallError, ValueError):
    name: str
    found: str
    wanted: str

    message = "out has {found} for {name}, but {spec} writes {wanted}"


@dataclass(eq=False, repr=False)
class OutputIsReadOnly(CallError, ValueError):
    name: str

    message = "out has an array for {name} that {spec} may not write to"


@dataclass(eq=False, repr=False)
class OutputOverlaps(CallError, ValueError):
    name: str
    other: str

    message = (
        "out has memory for {name} that is, or may be, that of {other} too: give {spec} memory that nothing shares"
    )


@dataclass(eq=False, repr=False)
class InoutIsReadOnly(CallError, ValueError):
    name: str

    message = (
        "{name} may not be written to, and {spec} writes it in place: pass np.array({name}), in which it stands then"
    )


@dataclass(eq=False, repr=False)
class InoutOverlaps(CallError, ValueError):
    name: str
    other: str

    message = (
        "{name} is memory that is, or may be, that of {other} too, and {spec} writes it in place: give it memory that"
        " nothing shares"
    )


# --- where and how


@dataclass(eq=False, repr=False)
class DevicesDiffer(CallError, ValueError):
    name: str
    device: str
    first: str
    first_device: str

    message = "{name} is on {device}, but {first} is on {first_device}: give all inputs of {spec} on one device"


@dataclass(eq=False, repr=False)
class WrongDevice(CallError, ValueError):
    name: str
    device: str

    message = "{name} is on {device}, but {spec} computes on CPUs and on GPUs that torch calls cuda; pass {name}.cpu()"


@dataclass(eq=False, repr=False)
class ThreadsUnclear(CallError, ValueError):
    variable: str
    said: str

    message = "{variable} is {said!r}: it is how many threads a call of {spec} may have, 1 or more"


@dataclass(eq=False, repr=False)
class TritonMissing(CallError, ImportError):
    install: str

    message = "{spec} needs the package triton for tensors of a GPU, which is not installed: {install}"


@dataclass(eq=False, repr=False)
class GradientWanted(CallError, ValueError):
    name: str

    message = (
        "{name} requires a gradient, which {spec} does not give where it writes into out: "
        "call it under torch.no_grad(), or leave out out"
    )


@dataclass(eq=False, repr=False)
class NotDifferentiable(GradientWanted):
    why: str

    message = "{name} requires a gradient: {why} Call {spec} under torch.no_grad(), or detach {name}"


@dataclass(eq=False, repr=False)
class TransformWanted(GradientWanted):
    message = (
        "{name} requires a gradient by a transform of torch.func, which takes none through an operator of torch: "
        "call attndsl's own for {spec}, outside of torch.compile"
    )


@dataclass(eq=False, repr=False)
class SecondGradientWanted(CallError, ValueError):
    message = "a gradient of {spec} is to be differentiated, which has none: make it without create_graph"


@dataclass(eq=False, repr=False)
class TangentWanted(GradientWanted):
    message = "{name} carries a tangent of forward-mode differentiation, which {spec} does not give: detach {name}"


@dataclass(eq=False, repr=False)
class OutputDifferentiated(GradientWanted):
    message = (
        "out has a tensor for {name} that is differentiated, which nothing that {spec} writes can be: "
        "call it under torch.no_grad(), or leave out out"
    )


@dataclass(eq=False, repr=False)
class BatchWanted(CallError, ValueError):
    message = "{spec} does not run under this torch.vmap: give it the whole batch at once, as a dim of the spec"


@dataclass(eq=False, repr=False)
class NotBatched(BatchWanted):
    name: str

    message = (
        "{name} has no axis of torch.vmap's batch, but {spec} would write to it for each of the batch: "
        "give one for each, {name}.expand(…).clone(), with an in_dim"
    )
