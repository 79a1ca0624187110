"""What a caller must know of a spec: its dims, types, parameters, inputs, outputs and conditions, as plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from attndsl.calling import Arguments
from attndsl.checking.elements import usual_element
from attndsl.checking.extents import Origin, Term, origins
from attndsl.checking.spelling import show
from attndsl.checking.symbolic import Expression, evaluate, leaves, line_of, order_of


@dataclass(frozen=True, slots=True)
class ParamSignature:
    """A parameter; `kind` is `int`, `float` or `bool`. A call must give one that has neither a default nor a formula.

    A formula says what it is where it is left out, in dims and in parameters before it. A size is one that extents are
    made of: it is as large as a dim may be.
    """

    name: str
    kind: str
    default: int | float | bool | None
    formula: Expression | None = None
    size: bool = False

    @property
    def optional(self) -> bool:
        """Whether it may be left out."""
        return self.default is not None or self.formula is not None

    @property
    def default_text(self) -> str:
        """What it is where it is left out; `…` where it may not be."""
        if self.formula is not None:
            return show(self.formula)
        return "…" if self.default is None else str(self.default)


@dataclass(frozen=True, slots=True)
class TensorSignature:
    """An input or output; `element` is a type variable or an element type, extents are made of dims and parameters.

    An input that has a `default` may be left out. One that is `in_place` is an inout: a call writes it too. Along its
    `broadcast` axes a call may give an input an extent of 1. An output that is `like` an input has its axes in the same
    order in memory: `counterparts` has an axis of that for each of its own, None for those that are outermost.
    """

    name: str
    element: str
    extents: tuple[Expression, ...]
    default: int | float | bool | None = None
    in_place: bool = False
    broadcast: tuple[int, ...] = ()
    like: str = ""
    counterparts: tuple[int | None, ...] = ()

    @property
    def lines(self) -> list[Term]:
        """What each extent tells of a dim: one that a call may give as 1 tells nothing."""
        return [None if axis in self.broadcast else line_of(extent) for axis, extent in enumerate(self.extents)]


@dataclass(frozen=True)
class Signature:
    """How a spec is called.

    `types` maps each type variable to the element types that it may stand for, `requires` hold at every call, and
    `work` has a product for each contraction: the extents that it runs through, for the first row and for the last,
    which differ where an extent depends on the row. `features` are the dims that the extents of feature axes rest on,
    sorted: code for a GPU is made for their extents. `meaning` is the same for all texts that mean the same.
    """

    name: str
    dims: tuple[str, ...]
    types: Mapping[str, tuple[str, ...]]
    params: tuple[ParamSignature, ...]
    inputs: tuple[TensorSignature, ...]
    outputs: tuple[TensorSignature, ...]
    requires: tuple[Expression, ...]
    work: tuple[tuple[tuple[Expression, Expression], ...], ...]
    features: tuple[str, ...] = ()
    meaning: str = ""

    @property
    def arguments(self) -> Arguments[TensorSignature]:
        """The tensors in the order in which a call has them."""
        return Arguments(self.inputs, self.outputs)

    @cached_property
    def names(self) -> frozenset[str]:
        """What a call may give, by name: inputs, parameters, and types that only outputs have."""
        inputs, params = (tensor.name for tensor in self.inputs), (param.name for param in self.params)
        return frozenset([*inputs, *params, *self.said])

    @cached_property
    def needed(self) -> frozenset[str]:
        """What it must give: all but what may be left out."""
        return self.names - {param.name for param in self.params if param.optional} - {*self.optional}

    @cached_property
    def said(self) -> tuple[str, ...]:
        """The type variables that no input has, and that a call says therefore."""
        told = {tensor.element for tensor in self.inputs}
        return tuple(name for name, choices in self.types.items() if name not in told and len(choices) > 1)

    @cached_property
    def optional(self) -> tuple[str, ...]:
        """The inputs that a call may leave out."""
        return tuple(tensor.name for tensor in self.inputs if tensor.default is not None)

    @cached_property
    def broadcast(self) -> bool:
        """Whether a call may give an extent of some input as 1."""
        return any(tensor.broadcast for tensor in self.inputs)

    @cached_property
    def in_place(self) -> tuple[int, ...]:
        """Which of the inputs a call writes, by their places among them."""
        return tuple(number for number, tensor in enumerate(self.inputs) if tensor.in_place)

    @cached_property
    def origins(self) -> dict[str, Origin]:
        """Where a call reads each dim off."""
        return origins((tensor.name, tensor.lines) for tensor in self.inputs)

    @cached_property
    def formulas(self) -> Mapping[str, Expression]:
        """Those of the parameters that have one."""
        return {param.name: param.formula for param in self.params if param.formula is not None}

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The dims, and the parameters that have formulas, each after what a call needs to know it."""
        return tuple(order_of(self.origins, self.formulas))

    @cached_property
    def shaping(self) -> tuple[str, ...]:
        """The parameters that extents of inputs and outputs are made of, and those that tell them by formulas."""
        extents = [extent for tensor in (*self.inputs, *self.outputs) for extent in tensor.extents]
        found = {name for extent in extents for kind, name in leaves(extent) if kind == "param"}
        for param in reversed(self.params):
            if param.name in found and param.formula is not None:
                found |= {name for kind, name in leaves(param.formula) if kind == "param"}
        return tuple(param.name for param in self.params if param.name in found)

    @cached_property
    def reals(self) -> tuple[str, ...]:
        """The `f32` parameters."""
        return tuple(param.name for param in self.params if param.kind == "float")

    def operations(self, dims: Mapping[str, int], params: Mapping[str, int | float | bool]) -> int:
        """How many floating-point operations the contractions are, were no position masked: two a term.

        An extent that depends on the row counts with the mean of the first row's and the last's. One that divides by 0
        is 0.
        """

        def size(extent: Expression) -> int:
            try:
                return max(0, int(evaluate(extent, dims, params)))
            except ZeroDivisionError:
                return 0

        products = ([size(first) + size(last) for first, last in product] for product in self.work)
        return sum(2 * math.prod(product) // 2 ** len(product) for product in products)

    def to_json(self) -> dict[str, Any]:
        """The signature as values that `json` can write."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Signature:
        """What `to_json` gave, after a journey through JSON."""
        return cls(
            name=data["name"],
            dims=tuple(data["dims"]),
            types={name: tuple(choices) for name, choices in data["types"].items()},
            params=tuple(
                ParamSignature(**{**param, "formula": _expression(param["formula"])}) for param in data["params"]
            ),
            inputs=tuple(map(_tensor, data["inputs"])),
            outputs=tuple(map(_tensor, data["outputs"])),
            requires=tuple(map(_expression, data["requires"])),
            work=tuple(tuple((_expression(a), _expression(b)) for a, b in product) for product in data["work"]),
            features=tuple(data["features"]),
            meaning=data["meaning"],
        )

    def default_types(self) -> dict[str, str]:
        """A type for each type variable when no array says: f32 or i32 where it is allowed, else the first choice."""
        return {name: usual_element(choices) for name, choices in self.types.items()}


def _tensor(data: Mapping[str, Any]) -> TensorSignature:
    extents = tuple(map(_expression, data["extents"]))
    axes = {name: tuple(data[name]) for name in ("broadcast", "counterparts")}
    return TensorSignature(**{**data, "extents": extents, **axes})


def _expression(data: Any) -> Expression:
    return tuple(map(_expression, data)) if isinstance(data, list | tuple) else data
