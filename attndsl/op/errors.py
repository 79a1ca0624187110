"""What can be wrong with a call: one class each. All are CallErrors, and the TypeError or ValueError that they are.

A message names the input, the dim, what the call gave and what the spec wants.
"""

from __future__ import annotations

from inspect import get_annotations
from typing import ClassVar, dataclass_transform


@dataclass_transform(eq_default=False)
class WordedError(Exception):
    """An error whose words have its fields in them; another process gets it whole.

    Fields are declared as those of a dataclass, which takes ten times as long to make: the first call of any operator
    would wait for fifty of them.
    """

    message: ClassVar[str]
    field_names: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        cls.field_names = (*cls.field_names, *get_annotations(cls))

    def __init__(self, *values: object, **named: object) -> None:
        found = dict(zip(self.field_names, values, strict=False)) | named
        if len(values) + len(named) != len(found) or found.keys() != {*self.field_names}:
            raise TypeError(f"{type(self).__name__} takes {', '.join(self.field_names)}")
        super().__init__(*values)
        vars(self).update(found)

    def __str__(self) -> str:
        return self.message.format(**self._fields)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __reduce__(self) -> tuple[type[WordedError], tuple[object, ...]]:
        return type(self), (*self._fields.values(),)

    @property
    def _fields(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in self.field_names}


class CallError(WordedError):
    """A call of a compiled spec that does not fit it; `spec` is the spec's name."""

    spec: str


# --- names


class TooManyInputs(CallError, TypeError):
    found: int
    wanted: int
    call: str

    message = "{spec} takes {wanted} inputs by position, and has {found}: parameters go by name, {call}"


class GivenTwice(CallError, TypeError):
    name: str

    message = "{name} is given twice to {spec}: by position, and by name"


class UnknownArgument(CallError, TypeError):
    name: str
    hint: str
    call: str

    message = "{spec} has no argument {name}{hint} It is called as {call}"


class MissingArgument(CallError, TypeError):
    names: str
    call: str

    message = "{spec} needs {names} too: {call}"


class NoDefault(CallError, TypeError):
    name: str
    call: str

    message = "{name} is nothing that a call of {spec} may leave out: {call}"


class NothingGiven(CallError, TypeError):
    call: str

    message = "{spec} needs an input to know where it computes, and all are left out: {call}"


class LeftOutTells(CallError, TypeError):
    names: str
    told: str

    message = "{spec} knows {told} from {names} alone, which is left out"


class NotHeld(CallError, TypeError):
    name: str
    found: str

    message = (
        "{name} is of type {found}: a module of {spec} holds tensors, as torch.tensor(…), and parameters of the spec"
    )


# --- kinds


class NotAnArray(CallError, TypeError):
    name: str
    found: str

    message = "{name} is of type {found}: {spec} takes NumPy arrays or torch tensors"


class PlainNumber(CallError, TypeError):
    name: str
    value: str
    wanted: str

    message = (
        "{name} is the plain number {value}, which has no element type, but {spec} wants {wanted}: "
        "pass a NumPy scalar such as np.float32({value}), or a torch tensor"
    )


class PackedTensor(CallError, TypeError):
    name: str
    found: str
    plain: str

    message = "{name} is {found}, but {spec} takes tensors whose memory is their elements; pass {plain}"


class MixedFrameworks(CallError, TypeError):
    first: str
    first_framework: str
    second: str
    second_framework: str

    message = (
        "{first} is a {first_framework}, but {second} is a {second_framework}: give all inputs of {spec} as one kind"
    )


class WrongParameter(CallError, TypeError):
    name: str
    value: str
    wanted: str

    message = "{name} is {value}, but {spec} wants {wanted}"


class WrongElement(CallError, TypeError):
    name: str
    found: str
    wanted: str

    message = "{name} holds {found}, but {spec} wants {wanted}"


class WrongType(CallError, TypeError):
    name: str
    found: str
    wanted: str

    message = "{name} is {found}, but {spec} wants {wanted}, which its outputs then have"


class TypesDiffer(CallError, TypeError):
    name: str
    found: str
    variable: str
    element: str
    origin: str

    message = "{name} holds {found}, but {origin} says {variable} = {element}"


# --- extents


class RanksDiffer(CallError, ValueError):
    name: str
    shape: tuple[int, ...]
    rank: int
    wanted: int
    declared: str

    message = "{name} has {rank} dimensions, its shape is {shape}, but {spec} wants {wanted}: {declared}"


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


class WrongExtent(CallError, ValueError):
    name: str
    found: int
    dimension: int
    extent: str
    wanted: int
    because: str

    message = "{name} has {found} in dimension {dimension}, but {spec} wants {extent} = {wanted}{because}"


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


class NoDimTold(NoDimGives):
    message = (
        "{name} has {found} in dimension {dimension}, where {spec} wants {extent}, "
        "and that is the same for every {dim}, which nothing else tells{because}"
    )


class DimTooLarge(CallError, ValueError):
    name: str
    dim: str
    found: int
    largest: str

    message = "{name} says {dim} = {found}, but a dim of {spec} is at most {largest}"


class UndefinedExtent(CallError, ValueError):
    name: str
    dimension: int
    extent: str
    because: str

    message = "{name} cannot have {extent} in dimension {dimension}: that divides by zero{because}"


class UndefinedDefault(CallError, ValueError):
    name: str
    formula: str
    because: str

    message = "{name} is left out of a call of {spec}, and is no {formula}, which divides by zero{because}"


class ExtentIsNegative(CallError, ValueError):
    name: str
    dimension: int
    extent: str
    found: int
    because: str

    message = "{name} cannot have {extent} = {found} in dimension {dimension}{because}"


class RequirementFails(CallError, ValueError):
    condition: str
    because: str

    message = "{spec} requires {condition}{because}"


# --- out=


class OutputsCounted(CallError, TypeError):
    found: int
    wanted: int
    call: str

    message = "out has {found} tensors, but {spec} writes {wanted}: out={call}"


class WrongOutput(CallError, ValueError):
    name: str
    found: str
    wanted: str

    message = "out has {found} for {name}, but {spec} writes {wanted}"


class OutputIsReadOnly(CallError, ValueError):
    name: str

    message = "out has an array for {name} that {spec} may not write to"


class OutputOverlaps(CallError, ValueError):
    name: str
    other: str

    message = (
        "out has memory for {name} that is, or may be, that of {other} too: give {spec} memory that nothing shares"
    )


class InoutIsReadOnly(CallError, ValueError):
    name: str

    message = (
        "{name} may not be written to, and {spec} writes it in place: pass np.array({name}), in which it stands then"
    )


class InoutOverlaps(CallError, ValueError):
    name: str
    other: str

    message = (
        "{name} is memory that is, or may be, that of {other} too, and {spec} writes it in place: give it memory that"
        " nothing shares"
    )


# --- where and how


class DevicesDiffer(CallError, ValueError):
    name: str
    device: str
    first: str
    first_device: str

    message = "{name} is on {device}, but {first} is on {first_device}: give all inputs of {spec} on one device"


class WrongDevice(CallError, ValueError):
    name: str
    device: str

    message = "{name} is on {device}, but {spec} computes on CPUs and on GPUs that torch calls cuda; pass {name}.cpu()"


class ThreadsUnclear(CallError, ValueError):
    variable: str
    said: str

    message = "{variable} is {said!r}: it is how many threads a call of {spec} may have, 1 or more"


class TritonMissing(CallError, ImportError):
    install: str

    message = "{spec} needs the package triton for tensors of a GPU, which is not installed: {install}"


class GradientWanted(CallError, ValueError):
    name: str

    message = (
        "{name} requires a gradient, which {spec} does not give where it writes into out: "
        "call it under torch.no_grad(), or leave out out"
    )


class NotDifferentiable(GradientWanted):
    why: str

    message = "{name} requires a gradient: {why} Call {spec} under torch.no_grad(), or detach {name}"


class TransformWanted(GradientWanted):
    message = (
        "{name} requires a gradient by a transform of torch.func, which takes none through an operator of torch: "
        "call attndsl's own for {spec}, outside of torch.compile"
    )


class SecondGradientWanted(CallError, ValueError):
    message = "a gradient of {spec} is to be differentiated, which has none: make it without create_graph"


class TangentWanted(GradientWanted):
    message = "{name} carries a tangent of forward-mode differentiation, which {spec} does not give: detach {name}"


class OutputDifferentiated(GradientWanted):
    message = (
        "out has a tensor for {name} that is differentiated, which nothing that {spec} writes can be: "
        "call it under torch.no_grad(), or leave out out"
    )


class BatchWanted(CallError, ValueError):
    message = "{spec} does not run under this torch.vmap: give it the whole batch at once, as a dim of the spec"


class NotBatched(BatchWanted):
    name: str

    message = (
        "{name} has no axis of torch.vmap's batch, but {spec} would write to it for each of the batch: "
        "give one for each, {name}.expand(…).clone(), with an in_dim"
    )
