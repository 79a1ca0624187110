"""Calls on a CPU, by plans: what the checks of one call found is kept for every call like it.

NumPy's arrays and torch's tensors are called in the same way; a Framework says what tells them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from math import prod
from operator import itemgetter
from typing import Any, Generic, Protocol, TypeVar

from attndsl.calling import pass_arguments
from attndsl.checking.numbers import LARGEST_SIZE
from attndsl.checking.symbolic import Expression, leaves
from attndsl.driver.signature import Signature
from attndsl.op.binding import CompiledSpec
from attndsl.op.checks import Bound, Shaped, complete, parameters
from attndsl.op.layouts import Allocator, Layouts, Made, Order

PLANS = 1024
"""How many kinds of calls an operator remembers before it forgets them all."""

SMALL = 2**18
"""How many multiplications BLAS, OpenBLAS at least, hands to no other threads."""

Shape = tuple[int, ...]
Kinds = tuple[object, ...]

Given = tuple[int | float | bool | None, ...]
"""The parameters that extents rest on, as a call gives them."""


T = TypeVar("T", bound=Shaped)
K = TypeVar("K")
V = TypeVar("V")

Orders = tuple[Order | None, ...]

Reader = Callable[[T], Any] | None
"""What gives the memory of an array or tensor as compiled functions take it; None where it is that memory itself."""


class Framework(Protocol[T]):
    """What a call asks of arrays or of tensors: a module has these functions."""

    def kinds(self, inputs: Sequence[Any], /) -> Kinds | None:
        """All that `check` asks of inputs but their shapes; None where it asks more, and no plan can be for them.

        Whatever a call gives may be among them.
        """

    def check(self, signature: Signature, inputs: Sequence[T], params: Mapping[str, Any], /) -> Bound:
        """What a call with these inputs says of a spec. Raises CallError."""

    def allocator(self, element: str, inputs: Sequence[T], /) -> Allocator[T]:
        """What makes outputs of this element type, in the terms of the inputs."""

    def strides(self, value: T, /) -> Sequence[int]:
        """How far the elements lie apart along each axis."""

    def reader(self, value: T, /) -> Reader[T]:
        """What reads inputs of the kinds of this one; it copies nothing."""

    def into(
        self,
        signature: Signature,
        elements: Sequence[str],
        shapes: Sequence[Shape],
        inputs: Sequence[Any],
        memory: Sequence[Any],
        outputs: Sequence[Any] | None,
        /,
    ) -> Sequence[Any]:
        """The memory of outputs that a call gives, if it does, as compiled functions take it.

        `memory` is that of its inputs; what of all that is written is nobody else's. Raises CallError.
        """


class TiedExtents:
    """How a plan reads the extents of all inputs, which stand one after the other.

    A dim is free that is only ever a whole extent, and in no requirement: a plan is for any value of it. The length of
    a cache mostly is, so that a call with one key more is like the last one. All other extents are tied.
    """

    def __init__(self, signature: Signature) -> None:
        inputs, outputs = ([tensor.extents for tensor in side] for side in (signature.inputs, signature.outputs))
        extents = [*chain(*inputs)]
        parts = [extent for extent in (*extents, *chain(*outputs), *signature.requires) if _whole(extent) is None]
        parts += signature.formulas.values()
        bound = {name for extent in parts for _, name in leaves(extent)}
        free: dict[str | None, int] = {}
        for place, dim in enumerate(map(_whole, extents)):
            if dim is not None and dim not in bound:
                free.setdefault(dim, place)
        self._only_dims = not signature.shaping
        self._ranks = [*map(len, inputs)]
        self._told = _at([free.get(_whole(extent), place) for place, extent in enumerate(extents)])
        self.tied = _at([place for place, extent in enumerate(extents) if _whole(extent) not in free])
        """Those of all extents that a plan rests on."""
        dims = [*map(_whole, extents)]
        self._factors = _at([place for place, dim in enumerate(dims) if dim is None or dims.index(dim) == place])
        self.outputs = [[free.get(_whole(extent)) for extent in each] for each in outputs]
        """For each extent of each output the place of the one that tells it, or None where tied ones do."""

    def of(self, inputs: Sequence[Shaped]) -> Shape | None:
        """Those of these inputs; None where ranks are not the spec's, or a free dim is not one thing everywhere."""
        shapes = [each.shape for each in inputs]
        if [*map(len, shapes)] != self._ranks:
            return None
        extents = (*chain.from_iterable(shapes),)
        return extents if self._told(extents) == extents and max(extents, default=0) <= LARGEST_SIZE else None

    def are_small(self, extents: Shape) -> bool:
        """Whether no product can be large, as all dims multiplied are not."""
        return self._only_dims and prod(self._factors(extents)) <= SMALL


def _at(places: Sequence[int]) -> Callable[[Shape], Shape]:
    """What takes the extents at these places, in one step of the interpreter where there are several."""
    if len(places) > 1:
        return itemgetter(*places)
    return lambda extents: (*[extents[place] for place in places],)


def _whole(extent: Expression) -> str | None:
    """The dim that an extent is."""
    match extent:
        case ("dim", str(name)):
            return name
    return None


@dataclass(frozen=True, slots=True)
class CpuCall(Generic[T]):
    """A call that fits, with inputs of known shapes; `complete` gives, and checks, parameters of each call anew.

    For each input there is what reads it; for each output what makes its memory, and what gives it. Those that a call
    brings along are `accept`ed: checked against the memory of the inputs, and read. So are inputs that it writes
    `in_place`.
    """

    complete: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    inputs: Sequence[Reader[T]]
    outputs: Sequence[Made[T]]
    accept: Callable[[Sequence[Any], Sequence[Any], Sequence[Any] | None], Sequence[Any]]
    in_place: bool
    program: Callable[..., None]

    def __call__(self, inputs: Sequence[T], params: Mapping[str, Any], out: Sequence[T] | None = None) -> Sequence[T]:
        """The outputs, which are new ones or those of `out`. Raises CallError."""
        if params:
            params = self.complete(params)
        given = [each if read is None else read(each) for each, read in zip(inputs, self.inputs, strict=True)]
        if out is not None:
            pass_arguments(self.program, given, self.accept(inputs, given, out), params)
            return out
        if self.in_place:
            self.accept(inputs, given, None)
        outputs, written = [], []
        for allocate, give in self.outputs:
            memory = allocate()
            written.append(memory)
            outputs.append(memory if give is None else give(memory))
        pass_arguments(self.program, given, written, params)
        return outputs


@dataclass(frozen=True, slots=True)
class CpuPlan(Generic[T]):
    """A call that fits, whatever the free dims are.

    For each output there is, of each of its extents, the place of the one that tells it among those of all inputs, or
    None, and what it was. A small call goes to the `function` alone, any other to the `program` that it is part of.
    """

    complete: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    inputs: Sequence[Reader[T]]
    outputs: Sequence[tuple[Allocator[T], Sequence[tuple[int | None, int]]]]
    into: Callable[..., Sequence[Any]]
    in_place: bool
    function: Callable[..., None]
    program: Callable[..., None]

    def at(self, extents: Shape, small: bool, orders: Orders) -> CpuCall[T]:
        """The call with inputs of these extents, and outputs that lie in these orders."""
        shapes = [(*[size if place is None else extents[place] for place, size in axes],) for _, axes in self.outputs]
        allocators = [allocator for allocator, _ in self.outputs]
        outputs = [each(shape, order) for each, shape, order in zip(allocators, shapes, orders, strict=True)]
        program = self.function if small else self.program
        return CpuCall(self.complete, self.inputs, outputs, partial(self.into, shapes), self.in_place, program)


class CpuCalls(Generic[T]):
    """How an operator is called with inputs of one framework; any number of threads may do so at once."""

    def __init__(self, binding: CompiledSpec, framework: Framework[T]) -> None:
        self._binding, self._framework = binding, framework
        self._extents, self._layouts = TiedExtents(binding.signature), Layouts(binding.signature)
        self._inputs = [tensor.name for tensor in binding.signature.inputs]
        self._needed, self._names = binding.signature.needed, binding.signature.names
        self._shaping = binding.signature.shaping
        self._declared: Orders = (None,) * len(binding.signature.outputs)
        self._plans: dict[tuple[Kinds, Shape, Given], CpuPlan[T]] = {}
        self._calls: dict[tuple[Kinds, tuple[Shape, ...], Given, Orders], CpuCall[T]] = {}

    def replay(self, arguments: Mapping[str, Any], out: Sequence[Any] | None = None) -> Sequence[T] | None:
        """The outputs of a call like an earlier one, whatever it is given by name; None for any other call.

        Raises CallError.
        """
        if not (self._plans and self._needed <= arguments.keys() <= self._names):
            return None
        inputs = [arguments[name] for name in self._inputs]
        params = parameters(self._binding.signature, arguments)
        call = self._known(inputs, params)
        if call is None or (out is not None and self._framework.kinds(out) is None):
            return None
        return call(inputs, params, out)

    def compute(self, inputs: Sequence[T], params: Mapping[str, Any], out: Sequence[T] | None = None) -> Sequence[T]:
        """The outputs of any call, of inputs in the order of their declarations. Raises CallError."""
        call = self._known(inputs, params)
        if call is None:
            call = self._checked(inputs, params)
        return call(inputs, params, out)

    def _known(self, inputs: Sequence[Any], params: Mapping[str, Any]) -> CpuCall[T] | None:
        """The call with inputs like these, where there was one, whatever the free dims were."""
        kinds = self._framework.kinds(inputs)
        if kinds is None:
            return None
        given = (*[params[name] for name in self._shaping],)
        orders = self._orders(inputs)
        key = kinds, (*[each.shape for each in inputs],), given, orders
        call = self._calls.get(key)
        if call is None and (extents := self._extents.of(inputs)) is not None:
            plan = self._plans.get((kinds, self._extents.tied(extents), given))
            if plan is not None:
                call = plan.at(extents, self._extents.are_small(extents), orders)
                _remember(self._calls, key, call)
        return call

    def _checked(self, inputs: Sequence[T], params: Mapping[str, Any]) -> CpuCall[T]:
        """The call with these inputs, of which a plan is made where one can be. Raises CallError."""
        plan, kinds, extents = self._plan(inputs, params), self._framework.kinds(inputs), self._extents.of(inputs)
        assert extents is not None, "what is checked agrees"
        if kinds is not None:
            given = (*[params[name] for name in self._shaping],)
            _remember(self._plans, (kinds, self._extents.tied(extents), given), plan)
        return plan.at(extents, self._extents.are_small(extents), self._orders(inputs))

    def _orders(self, inputs: Sequence[Any]) -> Orders:
        """Those in which the outputs of a call lie, whose inputs have the ranks that they are to have."""
        return self._layouts(inputs, self._framework.strides) if self._layouts.any else self._declared

    def _plan(self, inputs: Sequence[T], params: Mapping[str, Any]) -> CpuPlan[T]:
        signature = self._binding.signature
        bound = self._framework.check(signature, inputs, params)
        asked = tuple(each for each in signature.requires if any(kind == "param" for kind, _ in leaves(each)))
        outputs, elements = [], self._binding.output_elements(bound)
        for element, places, shape in zip(elements, self._extents.outputs, bound.shapes, strict=True):
            outputs.append((self._framework.allocator(element, inputs), [*zip(places, shape, strict=True)]))
        return CpuPlan(
            partial(complete, signature, asked, bound.dims),
            [*map(self._framework.reader, inputs)],
            outputs,
            partial(self._framework.into, signature, elements),
            bool(signature.in_place),
            self._binding.function(bound.types),
            self._binding.program(bound.types),
        )


def _remember(known: dict[K, V], key: K, value: V) -> None:
    """Keeps one more, and forgets all others before they are too many."""
    if len(known) >= PLANS:
        known.clear()
    known[key] = value
