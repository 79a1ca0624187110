"""Calls of a spec for hypothesis to draw: extents, types, parameters, values and strides of every kind."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from attndsl.checking.evaluate import Number, evaluate, with_defaults
from attndsl.checking.typed import STORAGE_KINDS, Index, Kind, Param, ParamValue, Spec, walk
from attndsl.driver.summarise import summarise
from attndsl.inputs import default_dims, layouts_of, make_inputs, places_suffice, relay, repeated
from attndsl.storage import ELEMENTS, decode, encode
from attndsl.testing.case import MOST_ELEMENTS, Array, Case, largest
from attndsl.testing.choices import Choices
from attndsl.testing.wrapping import comparisons_fit

SIZES = (*(2, 1, 3, None, 2, 5, 4, 1, 7, None, 9, 17, 33) * 2, 0)
"""Extents to draw from: one and odd ones, such as tiles divide or do not; None for one that goes with others. Seldom
none: where one dim is empty there is little to compare."""

MOST_ROWS, MOST_WORK = 64, 4000
"""The most rows, and rows times keys, of a block: the reference takes about 0.1 ms for each of the latter."""

SEEDS = range(1000)
"""Seeds of generators of random numbers, for what hypothesis need not know."""

INTS = (1, 2, 3, 0, 5, -1, 100)
_SHAPING: Mapping[Kind, tuple[Number, ...]] = {Kind.INT: (2, 1, 3), Kind.FLOAT: (0.5, 1.0), Kind.BOOL: (True, False)}
"""What a parameter may be that extents of tensors are made of."""

FLOATS = (0.5, 1.0, 0.0, -2.0, 30.0)

EDGES = tuple(sign * (2**bits + more) for bits in (31, 62, 7, 8, 16, 32, 53) for more in (0, -1, 1) for sign in (1, -1))
"""Where a type, or a number of so many bits, ends. Parameters go up to 2^62."""

TAME = 100
"""The magnitude of an `int` parameter where larger ones would make comparisons leave 64 bits."""


def _eighth(values: Array, rng: np.random.Generator) -> Array:
    """Where about every eighth value stands."""
    return np.asarray(rng.random(values.shape) < 0.125)


def _some(values: Array, rng: np.random.Generator, *specials: float) -> Array:
    """One of `specials` in place of about every eighth value."""
    return np.where(_eighth(values, rng), rng.choice(specials, values.shape), values)


VALUES: dict[str, Callable[[Array, np.random.Generator, float], Array]] = {
    "normal": lambda values, rng, normal: np.where(_eighth(values, rng), np.trunc(values) + np.sign(values), values),
    "whole": lambda values, rng, normal: np.rint(2 * values),
    "equal": lambda values, rng, normal: np.full_like(values, 0.75),
    "zeros of both signs": lambda values, rng, normal: np.copysign(0.0, values),
    "small": lambda values, rng, normal: values * 0.01,
    "large": lambda values, rng, normal: values * 300,
    "huge": lambda values, rng, normal: _some(values, rng, 3e4, -6e4),
    "far apart": lambda values, rng, normal: values * 10.0 ** rng.integers(-6, 4, values.shape),
    "tiny": lambda values, rng, normal: values * 1e-6,
    "denormal": lambda values, rng, normal: values * normal / 2,
    "infinite": lambda values, rng, normal: _some(values, rng, np.inf, -np.inf),
    "minus infinity": lambda values, rng, normal: _some(values, rng, -np.inf),
    "not a number": lambda values, rng, normal: _some(values, rng, np.nan),
}
"""What a float input may hold, by name, the plainest first; each is made of values about 1, and may ask for the
smallest normal number of the type. A few of the normal ones are whole: what is compared should be equal at times."""

PLAIN = ("normal", "whole", "equal")
"""Values that any correct program takes, whatever it makes of infinities."""


def inputs(
    spec: Spec,
    dims: Mapping[str, int] | None = None,
    params: Mapping[str, Number] | None = None,
    elements: Collection[str] = ("f32", "f16", "bf16", "f64"),
    plain: bool = False,
) -> st.SearchStrategy[Case]:
    """Calls of a spec that meet its conditions, with all that its `dims` and `params` do not fix drawn.

    Extents of 0, 1 and more, element types of `elements`, layouts, values, integers that are partly such as they should
    not be, or stand where their type ends, and NaN in memory that no output depends on. With `plain` no extent is 0,
    values are finite, integers in range, and memory is not poisoned: what any program may be asked to take.
    """

    @st.composite  # without arguments: hypothesis would spell out the spec
    def calls(draw: DrawFn) -> Case:
        return draw_call(Choices(draw), spec, dims or {}, params or {}, elements, plain)

    return calls()


def draw_call(
    choices: Choices,
    spec: Spec,
    dims: Mapping[str, int],
    params: Mapping[str, Number],
    elements: Collection[str],
    plain: bool = False,
) -> Case:
    """What `inputs` draws, of choices among others."""
    types = {
        name: choices.of([element for element in elements if element in allowed] or list(allowed))
        for name, allowed in spec.types.items()
    }
    spec = spec.where(types)
    shaping = summarise(spec).shaping
    shapes: dict[str, Number] = {
        param.name: choices.of(_SHAPING[param.kind])
        for param in spec.params
        if param.name in shaping and param.name not in params
    }
    sizes = _dims(choices, spec, dims, {**shapes, **params}, least=1 if plain else 0)
    others = {param.name: choices.of(_numbers(param)) for param in spec.params if param.name not in {*params, *shaping}}
    drawn = {**shapes, **others}
    numbers = _with_formulas(spec, sizes, {**drawn, **params})
    assume(_meets(spec, sizes, numbers) and _is_small(spec, sizes, numbers) and places_suffice(spec, sizes, numbers))
    seed = choices.of(SEEDS)
    hostile = not plain and choices.of((False, True))
    arrays = make_inputs(spec, sizes, types, seed, numbers, hostile)
    rng = np.random.default_rng(seed)
    edged = {name: _edged(array, rng) for name, array in arrays.items()}
    if not plain and choices.of((False, False, False, True)) and comparisons_fit(spec, sizes, numbers, edged):
        arrays = edged
    elif not comparisons_fit(spec, sizes, numbers, arrays):
        numbers = _with_formulas(spec, sizes, {name: _tamed(number) for name, number in drawn.items()} | dict(params))
        assume(_meets(spec, sizes, numbers))
    for tensor in spec.inputs:
        element = types.get(tensor.element, tensor.element)
        if STORAGE_KINDS[element] is Kind.FLOAT:
            values = choices.of(PLAIN if plain else _kinds(element))
            arrays[tensor.name] = _revalued(arrays[tensor.name], element, values, rng)
        layouts = layouts_of(spec, tensor.name)
        layout = choices.of((None, None, *layouts))
        if tensor.default is not None and choices.of((False, True)):
            full = np.full(arrays[tensor.name].shape, tensor.default.value)
            arrays[tensor.name] = np.asarray(encode(full, element))
        elif layout is not None:
            arrays[tensor.name] = relay(arrays[tensor.name], layout)
        if tensor.broadcast and "broadcast" in layouts and not plain and choices.of((True, False)):
            arrays[tensor.name] = repeated(arrays[tensor.name], tensor.broadcast)
    case = Case(spec, types, sizes, numbers, arrays)
    return case.poisoned() if not plain and choices.of((False, True)) else case


def _dims(
    choices: Choices, spec: Spec, given: Mapping[str, int], params: Mapping[str, Number], least: int
) -> dict[str, int]:
    options = [size for size in SIZES if size is None or size >= least]
    drawn = {name: choices.of(options) for name in spec.dims if name not in given}
    sizes = {name: size for name, size in drawn.items() if size is not None}
    try:
        return default_dims(spec, given={**given, **sizes}, params=params)
    except ValueError:  # no extents go with these
        pass
    try:
        return default_dims(spec, choices.of(SEEDS), given, params)
    except ValueError:
        assume(False)
        raise


def extents(spec: Spec, dims: Mapping[str, int], params: Mapping[str, Number]) -> Iterator[tuple[list[int], list[int]]]:
    """For each block how many values its `each` and its `over` variables take, or go up to."""

    def size(index: Index) -> int:
        try:
            return max(0, int(evaluate(index.bound, dims, params)))
        except ZeroDivisionError:  # absent
            return 0
        except ValueError:  # it differs from row to row
            named = [params[e.name] for e in walk(index.bound) if isinstance(e, ParamValue)]
            return max([0, *dims.values(), *(abs(number) for number in named if isinstance(number, int))])

    for block in spec.blocks:
        yield [*map(size, block.each)], [*map(size, block.over)]


def _is_small(spec: Spec, dims: Mapping[str, int], params: Mapping[str, Number]) -> bool:
    return largest(spec, dims, params) <= MOST_ELEMENTS and all(
        max(*rows, *keys, math.prod(rows) * math.prod(keys)) <= MOST_WORK and math.prod(rows) <= MOST_ROWS
        for rows, keys in extents(spec, dims, params)
    )


def _with_formulas(spec: Spec, dims: Mapping[str, int], given: Mapping[str, Number | None]) -> dict[str, Number]:
    """A value for each parameter; None stands for one that is left out. Rejects what divides by 0."""
    try:
        return with_defaults(spec.params, dims, given)
    except ZeroDivisionError:
        assume(False)
        raise


def _numbers(param: Param) -> list[Number | None]:
    """What a parameter may be; None leaves it out."""
    usual: list[Number | None] = [] if param.default is None else [param.default]
    usual += [] if param.formula is None else [None] * 2
    match param.kind:
        case Kind.BOOL:
            return [*usual, True, False]
        case Kind.INT:
            return [*(*usual, *INTS) * 8, *(edge for edge in EDGES if abs(edge) <= 2**62)]
    return [*usual, *FLOATS]


def _meets(spec: Spec, dims: Mapping[str, int], params: Mapping[str, Number]) -> bool:
    try:
        return all(evaluate(condition, dims, params) for condition in spec.requires)
    except ArithmeticError:
        return False


def _edged(array: Array, rng: np.random.Generator) -> Array:
    """Integers of more than 8 bits with some that stand where their type, or another one, ends."""
    if array.dtype.kind != "i" or array.dtype.itemsize == 1:
        return array
    limits = np.iinfo(array.dtype)
    edges = [edge for edge in (*EDGES, 0, 1, -1, limits.min, limits.max) if limits.min <= edge <= limits.max]
    return np.where(_eighth(array, rng), rng.choice(np.array(edges, array.dtype), array.shape), array)


def _tamed(number: Number | None) -> Number | None:
    """A parameter that is no larger than what it is compared with may be."""
    return number if isinstance(number, bool | float | None) else max(-TAME, min(number, TAME))


def _kinds(element: str) -> tuple[str, ...]:
    """What an input may hold, mostly what is usual: where many inputs are special most outputs are NaN or nothing.

    Of a type of 16 bits, which loops of a program's own widen, more are special; of one of 8 a good part are denormal.
    """
    size = ELEMENTS[element].itemsize
    usual = {1: ("normal", "denormal"), 2: ("normal",)}.get(size, ("normal", "normal"))
    return (*usual * len(VALUES), *VALUES)


def _revalued(array: Array, element: str, kind: str, rng: np.random.Generator) -> Array:
    normal = 2.0 ** ELEMENTS[element].lowest_exponent
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        return np.asarray(encode(VALUES[kind](decode(array, element), rng, normal), element))
