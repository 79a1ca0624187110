"""Bounds that a launch can compute: sums of products of its numbers, as Python and as an attribute of the IR."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import prod
from typing import NamedTuple

from attndsl.ir.xdsl import ArrayAttr, Attribute, IntegerAttr, StringAttr, SymbolRefAttr, VerifyException, index


class Factor(NamedTuple):
    """A number of a launch: the extent of a dim, the magnitude of a parameter, or a tensor's stride along an axis.

    `kind` is one of `dim`, `param` and `stride`, `name` what it is of, `axis` that of a stride.
    """

    kind: str
    name: str
    axis: int = 0


Bound = Counter[tuple[Factor, ...]]
"""A sum of products: how often each product counts, by its factors in order."""


def bounds_attribute(bound: Bound) -> ArrayAttr[Attribute]:
    """A bound in the IR: for each product how often it counts and its factors: `"M"`, `@window` or `[@k, 1]`."""
    return ArrayAttr(
        ArrayAttr([IntegerAttr(count, index), *map(_factor_attribute, factors)])
        for factors, count in sorted(bound.items())
    )


def bounds_of(attribute: Attribute) -> Bound:
    """The bound that an attribute is; raises VerifyException where it is none."""
    found = Bound()
    for each in attribute.data if isinstance(attribute, ArrayAttr) else ():
        match tuple(each) if isinstance(each, ArrayAttr) else ():
            case (IntegerAttr() as count, *factors):
                found[tuple(map(_factor, factors))] += count.value.data
            case _:
                raise VerifyException(f"a product begins with how often it counts, which {each} does not")
    return found


def largest(bound: Bound, dims: Mapping[str, int], params: Mapping[str, int | float | bool]) -> int:
    """The number that a bound is at a launch, strides left out."""
    sizes = {Factor("dim", name): size for name, size in dims.items()}
    sizes.update({Factor("param", name): abs(int(value)) for name, value in params.items()})
    known = [(factors, count) for factors, count in bound.items() if all(f.kind != "stride" for f in factors)]
    return sum(count * prod(sizes[factor] for factor in factors) for factors, count in known)


def _factor_attribute(factor: Factor) -> Attribute:
    match factor.kind:
        case "dim":
            return StringAttr(factor.name)
        case "param":
            return SymbolRefAttr(factor.name)
    return ArrayAttr([SymbolRefAttr(factor.name), IntegerAttr(factor.axis, index)])


def _factor(attribute: Attribute) -> Factor:
    match tuple(attribute) if isinstance(attribute, ArrayAttr) else attribute:
        case StringAttr() as dim:
            return Factor("dim", dim.data)
        case SymbolRefAttr() as param:
            return Factor("param", param.string_value())
        case (SymbolRefAttr() as tensor, IntegerAttr() as axis):
            return Factor("stride", tensor.string_value(), axis.value.data)
    raise VerifyException(f"a factor is a dim, a parameter or a tensor's stride, not {attribute}")
