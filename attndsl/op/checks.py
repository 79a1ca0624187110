"""The checks of a call: from names and shapes to types, dims and output shapes, or a CallError that says what is off.

Shapes may be symbolic (torch's SymInt), as they are while torch traces a program.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from inspect import Parameter
from keyword import iskeyword
from typing import Any, Protocol

from attndsl.checking.numbers import LARGEST_PARAMETER, LARGEST_SIZE, single
from attndsl.checking.spelling import show
from attndsl.checking.symbolic import Expression, evaluate, names, settled
from attndsl.driver.hints import did_you_mean
from attndsl.driver.signature import ParamSignature, Signature, TensorSignature
from attndsl.op import errors

KINDS: dict[str, type[int] | type[float]] = {"int": int, "float": float, "bool": bool}
"""The type of a parameter of each kind."""


class Shaped(Protocol):
    """An array or a tensor."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents."""


@dataclass(frozen=True, slots=True)
class Given:
    """What a call gives for an input: `elements` are the element types that its dtype can hold."""

    elements: tuple[str, ...]
    dtype: str
    shape: tuple[int, ...]
    device: str = "cpu"


@dataclass(frozen=True, slots=True)
class Bound:
    """What a call says of a spec: an element type for each type variable, extents for dims and for each output.

    `params` has a value for each parameter, also for those that formulas tell.
    """

    types: dict[str, str]
    dims: dict[str, int]
    shapes: tuple[tuple[int, ...], ...]
    params: Mapping[str, Any]


def split(signature: Signature, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The inputs and the parameters among a call's arguments, all of each, in the order of their declarations."""
    if not names_fit(signature, arguments):
        _check_names(signature, arguments)
    return {tensor.name: arguments[tensor.name] for tensor in signature.inputs}, parameters(signature, arguments)


def names_fit(signature: Signature, arguments: Mapping[str, Any]) -> bool:
    """Whether a call gives all that it must, and nothing that there is not."""
    # Comparing sets of names would be quicker to read: torch 2.11 traces no such comparison.
    return all(name in arguments for name in signature.needed) and all(name in signature.names for name in arguments)


def parameters(signature: Signature, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters among a call's arguments, which has all that it must, in the order of their declarations.

    None stands for one that a formula tells.
    """
    return {
        param.name: _parameter(signature, param, arguments.get(param.name, param.default)) for param in signature.params
    }


def _check_names(signature: Signature, arguments: Mapping[str, Any]) -> None:
    """Raises UnknownArgument or MissingArgument where one is unknown or missing."""
    known = [tensor.name for tensor in signature.inputs] + [param.name for param in signature.params]
    known += signature.said
    for name in arguments:
        if name not in known:
            hint = did_you_mean(name, known) or "."
            raise errors.UnknownArgument(signature.name, name, hint, example_call(signature))
    missing = [name for name in known if name in signature.needed and name not in arguments]
    if missing:
        raise errors.MissingArgument(signature.name, join(missing), example_call(signature))


def bind(signature: Signature, given: Mapping[str, Given], params: Mapping[str, Any]) -> Bound:
    """Types, dims and output shapes of a call; every element type, extent and requirement is checked.

    Requirements are of the f32 numbers that programs make of `f32` parameters.
    """
    types = _bind_types(signature, given)
    _check_ranks(signature, given)
    dims, known = dims_told(signature, given, params)
    _check_extents(signature, given, dims, known)
    params = complete(signature, signature.requires, dims, params)
    shapes = tuple(_output_shape(signature, tensor, dims, params) for tensor in signature.outputs)
    return Bound(types, dims, shapes, params)


def dims_told(
    signature: Signature, given: Mapping[str, Shaped], params: Mapping[str, Any]
) -> tuple[dict[str, int], Mapping[str, Any]]:
    """The dims, and the parameters that extents are made of. Raises CallError."""
    dims: dict[str, int] = {}
    known = {name: params[name] for name in signature.shaping}
    for name in signature.order:
        if name in signature.origins:
            dims[name] = _dim(signature, name, given, known)
        elif name in known:
            param = next(param for param in signature.params if param.name == name)
            known[name] = _settled(signature, param, known[name], dims, known)
    return dims, known


def complete(
    signature: Signature, requires: Iterable[Expression], dims: Mapping[str, int], params: Mapping[str, Any]
) -> Mapping[str, Any]:
    """A value for each parameter: that of its formula for None.

    Raises CallError where there is none, where an `f32` parameter has no number of f32, or where one of these
    requirements does not hold.
    """
    if signature.formulas:
        params = _computed(signature, dims, params)
    singles = params
    if signature.reals:
        singles = {**params, **{name: _single(signature, name, params[name]) for name in signature.reals}}
    for require in requires:
        if not _holds(require, dims, singles):
            raise errors.RequirementFails(signature.name, show(require), _because(signature, require, dims, singles))
    return params


def _computed(signature: Signature, dims: Mapping[str, int], params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters with those that formulas tell. Raises CallError."""
    found: dict[str, Any] = {}
    singles: dict[str, Any] = {}
    for param in signature.params:
        value = params[param.name]
        singles[param.name] = _settled(signature, param, value, dims, singles)
        found[param.name] = singles[param.name] if value is None else value
    return found


def _settled(
    signature: Signature, param: ParamSignature, value: Any, dims: Mapping[str, int], singles: Mapping[str, Any]
) -> Any:
    """What a program makes of a parameter: of None what its formula tells, of `f32` the f32 number.

    `singles` has what it makes of those before it. Raises CallError.
    """
    if value is None and param.formula is not None:
        try:
            value = evaluate(param.formula, dims, singles)
        except ZeroDivisionError:
            because = _because(signature, param.formula, dims, singles)
            raise errors.UndefinedDefault(signature.name, param.name, show(param.formula), because) from None
        if param.kind == "int" and type(value) is int:
            value = _parameter(signature, param, value)
    return _single(signature, param.name, value) if param.kind == "float" else value


def example_call(signature: Signature, known: Mapping[str, str] = {}) -> str:
    """A call as it is written, `gqa(q=…, k=…, window=4096)`, with the texts of some arguments where they are known."""
    arguments = {tensor.name: default_text(tensor) for tensor in signature.inputs}
    arguments.update((param.name, param.default_text) for param in signature.params)
    arguments.update((name, f'"{signature.types[name][0]}"') for name in signature.said)
    return f"{signature.name}({', '.join(f'{name}={text}' for name, text in {**arguments, **known}.items())})"


def listed(signature: Signature, out: Any) -> tuple[Any, ...]:
    """What `out=` has for each output, in their order. Raises OutputsCounted."""
    given = tuple(out) if isinstance(out, tuple | list) else (out,)
    if len(given) != len(signature.outputs):
        names = ", ".join(tensor.name for tensor in signature.outputs)
        call = names if len(signature.outputs) == 1 else f"({names})"
        raise errors.OutputsCounted(signature.name, len(given), len(signature.outputs), call)
    return given


def python_signature(signature: Signature) -> inspect.Signature:
    """How an operator is called, in Python's terms.

    An input whose name Python reserves can only be given by position there, and so are those before it; a parameter
    whose name it reserves is one of `**`.
    """
    inputs, taken = [tensor.name for tensor in signature.inputs], {*signature.names, "out"}
    reserved = max((number for number, name in enumerate(inputs, 1) if iskeyword(name)), default=0)
    found = [
        Parameter(_fresh(name, taken) if iskeyword(name) else name, Parameter.POSITIONAL_ONLY)
        for name in inputs[:reserved]
    ]
    optional = False
    for tensor in signature.inputs[reserved:]:
        optional = optional or tensor.default is not None  # Python has no default before what has none
        missing = None if optional else Parameter.empty
        found.append(Parameter(tensor.name, Parameter.POSITIONAL_OR_KEYWORD, default=missing))
    for param in signature.params:
        if not iskeyword(param.name):
            default = param.default if param.optional else Parameter.empty
            found.append(Parameter(param.name, Parameter.KEYWORD_ONLY, default=default, annotation=KINDS[param.kind]))
    found += [Parameter(n, Parameter.KEYWORD_ONLY, annotation=str) for n in signature.said if not iskeyword(n)]
    if "out" not in signature.names:
        found.append(Parameter("out", Parameter.KEYWORD_ONLY, default=None))
    if any(map(iskeyword, [*(param.name for param in signature.params), *signature.said])):
        found.append(Parameter(_fresh("parameters", taken), Parameter.VAR_KEYWORD))
    return inspect.Signature(found)


def _fresh(name: str, taken: set[str]) -> str:
    """This name, or one like it that no argument has."""
    while name in taken:
        name += "_"
    return name


def default_text(tensor: TensorSignature) -> str:
    """What an input is full of where it is left out; `…` where it may not be."""
    return "…" if tensor.default is None else str(tensor.default)


def join(words: Iterable[str], last: str = "and") -> str:
    """`a, b and c`."""
    *front, end = words
    return f"{', '.join(front)} {last} {end}" if front else end


def declaration(tensor: TensorSignature) -> str:
    """A tensor as the spec declares it, `q : T[B, H, M, D]`."""
    default = "" if tensor.default is None else f" = {tensor.default}"
    extents = [f"{show(e)}{'?' * (axis in tensor.broadcast)}" for axis, e in enumerate(tensor.extents)]
    return f"{tensor.name} : {tensor.element}[{', '.join(extents)}]{default}"


def shown(value: object) -> str:
    """A value as messages show it: of a long int, of which Python itself writes no more than 4300 digits, how long."""
    bits = value.bit_length() if isinstance(value, int) else 0
    return repr(value) if bits <= 256 else f"an int of {bits} bits"


def _parameter(signature: Signature, param: ParamSignature, value: Any) -> int | float | bool | None:
    if value is None and param.formula is not None:
        return None
    least, largest = (0, LARGEST_SIZE) if param.size else (-LARGEST_PARAMETER, LARGEST_PARAMETER)
    if type(value) is KINDS[param.kind] and (param.kind != "int" or least <= value <= largest):
        return value  # as most are
    if param.kind == "int" and type(value).__name__ == "SymInt":  # what torch traces is bounded by what it stands for
        return value  # type: ignore[no-any-return]
    import numpy as np

    is_bool = isinstance(value, bool | np.bool_)
    if param.kind == "bool" and is_bool:
        return bool(value)
    if param.kind == "int" and isinstance(value, int | np.integer) and not is_bool:
        if least <= int(value) <= largest:
            return int(value)
        room = "0 to 2^48, as extents are" if param.size else "-2^62 to 2^62"
        raise errors.WrongParameter(signature.name, param.name, shown(int(value)), f"an int from {room}")
    if param.kind == "float" and isinstance(value, int | float | np.integer | np.floating) and not is_bool:
        try:
            return float(value)
        except OverflowError:  # an int
            raise errors.WrongParameter(signature.name, param.name, str(value), "a number that fits in f32") from None
    article = "an int" if param.kind == "int" else f"a {param.kind}"
    raise errors.WrongParameter(signature.name, param.name, f"{value!r} ({type(value).__name__})", article)


def _single(signature: Signature, name: str, value: Any) -> Any:
    """The f32 number that a parameter is; one that torch traces stays as it is."""
    if type(value) is not float:
        return value
    try:
        return single(value)
    except OverflowError:
        raise errors.WrongParameter(signature.name, name, str(value), "a number that fits in f32") from None


def _bind_types(signature: Signature, given: Mapping[str, Given]) -> dict[str, str]:
    types: dict[str, str] = {}
    origins: dict[str, str] = {}
    for tensor in signature.inputs:
        argument, element = given[tensor.name], tensor.element
        if element in types:
            if types[element] not in argument.elements:
                origin = origins[element]
                raise errors.TypesDiffer(signature.name, tensor.name, argument.dtype, element, types[element], origin)
            continue
        choices = signature.types.get(element, (element,))
        fits = [choice for choice in choices if choice in argument.elements]
        if not fits:
            wanted = f"{element}, that is {join(choices, 'or')}" if element in signature.types else element
            raise errors.WrongElement(signature.name, tensor.name, argument.dtype, wanted)
        if element in signature.types:
            types[element], origins[element] = fits[0], tensor.name
    return {**signature.default_types(), **types}


def _check_ranks(signature: Signature, given: Mapping[str, Given]) -> None:
    for tensor in signature.inputs:
        shape, rank = given[tensor.name].shape, len(tensor.extents)
        if len(shape) != rank:
            raise errors.RanksDiffer(signature.name, tensor.name, tuple(shape), len(shape), rank, declaration(tensor))


def _dim(signature: Signature, dim: str, given: Mapping[str, Shaped], params: Mapping[str, Any]) -> int:
    """A dim as its origin says."""
    origin = signature.origins[dim]
    found, line = given[origin.tensor].shape[origin.axis], origin.line
    if line.rank == 0:
        size: int = found
    else:
        extent = next(tensor.extents[origin.axis] for tensor in signature.inputs if tensor.name == origin.tensor)
        because = _because(signature, extent, {}, params)
        try:
            line = settled(line, params)
        except ZeroDivisionError:
            error = errors.UndefinedExtent(signature.name, origin.tensor, origin.axis, show(extent), because)
            raise error from None
        if line.factor == 0:
            raise errors.NoDimTold(signature.name, origin.tensor, found, origin.axis, show(extent), dim, because)
        size = line.solve(found)
        if size < 0 or line.at(size) != found:
            raise errors.NoDimGives(signature.name, origin.tensor, found, origin.axis, show(extent), dim, because)
    if type(size) is int and size > LARGEST_SIZE:  # one that torch traces is bounded by what it stands for
        raise errors.DimTooLarge(signature.name, origin.tensor, dim, size, "2^48")
    return size


def _check_extents(
    signature: Signature, given: Mapping[str, Given], dims: Mapping[str, int], params: Mapping[str, Any]
) -> None:
    for tensor in signature.inputs:
        for axis, found in enumerate(given[tensor.name].shape):
            wanted = extent_of(signature, tensor, axis, dims, params)
            if found == wanted:
                continue
            match tensor.extents[axis]:
                case ("dim", str(dim)):
                    first = signature.origins[dim]
                    raise errors.DimsDiffer(
                        signature.name, tensor.name, dim, found, axis, first.tensor, wanted, first.axis
                    )
                case extent:
                    because = _because(signature, extent, dims, params)
                    raise errors.WrongExtent(signature.name, tensor.name, found, axis, show(extent), wanted, because)


def _output_shape(
    signature: Signature, tensor: TensorSignature, dims: Mapping[str, int], params: Mapping[str, Any]
) -> tuple[int, ...]:
    shape = tuple(extent_of(signature, tensor, axis, dims, params) for axis in range(len(tensor.extents)))
    for axis, size in enumerate(shape):
        if size < 0:
            extent = tensor.extents[axis]
            because = _because(signature, extent, dims, params)
            raise errors.ExtentIsNegative(signature.name, tensor.name, axis, show(extent), size, because)
    return shape


def extent_of(
    signature: Signature, tensor: TensorSignature, axis: int, dims: Mapping[str, int], params: Mapping[str, Any]
) -> int:
    """An extent of a tensor. Raises UndefinedExtent where it divides by 0."""
    extent = tensor.extents[axis]
    try:
        size: int = evaluate(extent, dims, params)
    except ZeroDivisionError:
        because = _because(signature, extent, dims, params)
        raise errors.UndefinedExtent(signature.name, tensor.name, axis, show(extent), because) from None
    return size


def _holds(require: Expression, dims: Mapping[str, int], params: Mapping[str, Any]) -> bool:
    try:
        return bool(evaluate(require, dims, params))
    except ZeroDivisionError:
        return False


def _because(signature: Signature, expression: Expression, dims: Mapping[str, int], params: Mapping[str, Any]) -> str:
    """The values in play and who gave them, `; here Hq = 6 (from q) and Hkv = 4 (from k)`."""
    values = []
    for name in dict.fromkeys(names(expression)):
        if name in dims:
            values.append(f"{name} = {dims[name]} (from {signature.origins[name].tensor})")
        elif name in params:
            values.append(f"{name} = {params[name]}")
    return f"; here {join(values)}" if values else ""
