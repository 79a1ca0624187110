"""Calls on a CPU, by plans: what the checks of one call found is kept for every call like it.

NumPy's arrays and torch's tensors are called in the same way; a Framework says what tells them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Generic, Protocol, TypeVar

from attndsl.calling import Arguments
from attndsl.checking.numbers import LARGEST_SIZE
from attndsl.checking.symbolic import Expression, leaves
from attndsl.driver.signature import Signature
from attndsl.op.binding import CompiledSpec
from attndsl.op.checks import Bound, check_params

PLANS = 1024
"""How many kinds of calls an operator remembers before it forgets them all."""

Shape = tuple[int, ...]


class Shaped(Protocol):
    """An array or a tensor."""

    @property
    def shape(self) -> Shape:
        """Its extents."""


T = TypeVar("T", bound=Shaped)


class Framework(Protocol[T]):
    """What a call asks of arrays or of tensors: a module has these functions."""

    def kinds(self, inputs: Sequence[T], /) -> tuple[object, ...] | None:
        """All that `check` asks of inputs but their shapes; None where it asks more, and no plan can be for them."""

    def check(self, signature: Signature, inputs: Sequence[T], params: Mapping[str, Any], /) -> Bound:
        """What a call with these inputs says of a spec. Raises CallError."""

    def allocator(self, element: str, inputs: Sequence[T], /) -> Callable[[Shape], T]:
        """What makes an output of this element type, in the terms of the inputs."""

    def bits(self, value: T, /) -> Any:
        """The memory of an input or output as the compiled function takes it; nothing is copied."""


class TiedExtents:
    """How a plan reads the extents of all inputs, which stand one after the other.

    A dim is free that is only ever a whole extent, and in no requirement: a plan is for any value of it. The length of
    a cache mostly is, so that a call with one key more is like the last one. All other extents are tied.
    """

    def __init__(self, signature: Signature) -> None:
        inputs, outputs = ([tensor.extents for tensor in side] for side in (signature.inputs, signature.outputs))
        extents = [*chain(*inputs)]
        parts = [extent for extent in (*extents, *chain(*outputs), *signature.requires) if _whole(extent) is None]
        bound = {name for extent in parts for _, name in leaves(extent)}
        free: dict[str | None, int] = {}
        for place, dim in enumerate(map(_whole, extents)):
            if dim is not None and dim not in bound:
                free.setdefault(dim, place)
        self._ranks = [*map(len, inputs)]
        self._told = [free.get(_whole(extent), place) for place, extent in enumerate(extents)]
        self._tied = [place for place, extent in enumerate(extents) if _whole(extent) not in free]
        self.outputs = [[free.get(_whole(extent)) for extent in each] for each in outputs]
        """For each extent of each output the place of the one that tells it, or None where tied ones do."""

    def of(self, inputs: Sequence[Shaped]) -> Shape | None:
        """Those of these inputs; None where ranks are not the spec's, or a free dim is not one thing everywhere."""
        shapes = [each.shape for each in inputs]
        if [*map(len, shapes)] != self._ranks:
            return None
        extents = (*chain.from_iterable(shapes),)
        agree = (*[extents[place] for place in self._told],) == extents
        return extents if agree and max(extents, default=0) <= LARGEST_SIZE else None

    def tied(self, extents: Shape) -> list[int]:
        """Those that a plan rests on."""
        return [extents[place] for place in self._tied]


def _whole(extent: Expression) -> str | None:
    """The dim that an extent is."""
    match extent:
        case ("dim", str(name)):
            return name
    return None


@dataclass(frozen=True, slots=True)
class CpuPlan(Generic[T]):
    """A call that fits, whatever the free dims are; `check` asks what rests on parameters, of each call anew.

    For each output there is what allocates it, and for each of its extents the place of the one that tells it among
    those of all inputs, or None, and what it was.
    """

    check: Callable[[Mapping[str, Any]], None]
    outputs: Sequence[tuple[Callable[[Shape], T], Sequence[tuple[int | None, int]]]]
    bits: Callable[[T], Any]
    program: Callable[..., None]

    def __call__(self, inputs: Sequence[T], extents: Shape, params: Mapping[str, Any]) -> list[T]:
        """The outputs; `extents` are those of all inputs. Raises CallError."""
        self.check(params)
        outputs = [
            allocate((*[size if place is None else extents[place] for place, size in axes],))
            for allocate, axes in self.outputs
        ]
        arguments = Arguments((*map(self.bits, inputs),), (*map(self.bits, outputs),))
        arguments.passed_to(self.program, params)
        return outputs


class CpuCalls(Generic[T]):
    """How an operator is called with inputs of one framework; any number of threads may do so at once."""

    def __init__(self, binding: CompiledSpec, framework: Framework[T]) -> None:
        self._binding, self._framework = binding, framework
        self._extents = TiedExtents(binding.signature)
        self._plans: dict[tuple[object, ...], CpuPlan[T]] = {}

    def replay(self, inputs: Sequence[T], params: Mapping[str, Any]) -> list[T] | None:
        """The outputs of a call like an earlier one; None for any other call. Raises CallError.

        `inputs` are in the order of their declarations.
        """
        kinds = self._framework.kinds(inputs)
        if kinds is None or (extents := self._extents.of(inputs)) is None:
            return None
        plan = self._plans.get((*kinds, *self._extents.tied(extents)))
        return None if plan is None else plan(inputs, extents, params)

    def compute(self, inputs: Sequence[T], params: Mapping[str, Any]) -> list[T]:
        """The outputs of any call. Raises CallError."""
        outputs = self.replay(inputs, params)
        if outputs is not None:
            return outputs
        plan, kinds, extents = self._plan(inputs, params), self._framework.kinds(inputs), self._extents.of(inputs)
        assert extents is not None, "what is checked agrees"
        if kinds is not None:
            if len(self._plans) >= PLANS:
                self._plans.clear()
            self._plans[(*kinds, *self._extents.tied(extents))] = plan
        return plan(inputs, extents, params)

    def _plan(self, inputs: Sequence[T], params: Mapping[str, Any]) -> CpuPlan[T]:
        signature = self._binding.signature
        bound = self._framework.check(signature, inputs, params)
        asked = tuple(each for each in signature.requires if any(kind == "param" for kind, _ in leaves(each)))
        elements = self._binding.output_elements(bound)
        return CpuPlan(
            partial(check_params, signature, asked, bound.dims),
            [
                (self._framework.allocator(element, inputs), tuple(zip(places, shape, strict=True)))
                for element, places, shape in zip(elements, self._extents.outputs, bound.shapes, strict=True)
            ],
            self._framework.bits,
            self._binding.program(bound.types),
        )
