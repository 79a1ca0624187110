"""The typed spec: what a spec means, in one small scalar language with nothing left to look up.

Every expression denotes one scalar for given values of its index variables. What was a vector in the source is a
scalar that depends on an *axis* variable; a dot product is a sum over one, a `ReduceAxis`; a `let` has been expanded
where it is used. Equal expressions are the same object as far as the checker can tell (they form a graph, not a tree),
so a walk over them must remember where it has been.

Absence (docs/language.md, "Absence"): an expression is *absent*, for some values of its index variables, where it
reads a tensor through an index that is out of range or itself absent, or divides an integer by zero; `and`, `or` and
`select` reach only the operands that they need. A `Reduce` leaves out the key positions at which its mask is false or
any of its mask, score or value is absent, the latter two for any values of their axis variables; it is absent itself
where its sink is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Literal as OneOf
from typing import NamedTuple

from attndsl.calling import Arguments
from attndsl.syntax.source import Source, Span


class Kind(Enum):
    """What a scalar is: integers have 64 bits, floats are real numbers of no stated width."""

    BOOL = "bool"
    INT = "int"
    FLOAT = "float"


FLOAT_TYPES = ("f16", "bf16", "f32", "f64")
"""Element types of floats that a type variable may stand for: one that says nothing stands for any of them."""

INT_TYPES = ("i8", "u8", "i16", "u16", "i32", "u32", "i64")
"""Element types of ints. A type variable may stand for some of them."""

STORAGE_KINDS = {
    **dict.fromkeys((*FLOAT_TYPES, "f8e4m3", "f8e5m2"), Kind.FLOAT),
    **dict.fromkeys(INT_TYPES, Kind.INT),
    "bool": Kind.BOOL,
}
"""Every element type and the kind of scalar that reading it gives. f8e4m3 is the finite form (`e4m3fn`)."""

ROUNDED_INTS = ("i8", "u8")
"""Element types of ints that a float may be written to: the nearest int that they hold."""


COMPUTED: Mapping[Kind, str] = {Kind.FLOAT: "computed", Kind.INT: "computed int", Kind.BOOL: "computed bool"}
"""The element types of what the checker has kept between blocks, by its kind; see `computed_in`."""


def computed_in(elements: Collection[str]) -> dict[str, str]:
    """What COMPUTED elements are stored as, beside tensors of these element types: floats as sums are kept."""
    stored = {Kind.FLOAT: "f64" if "f64" in elements else "f32", Kind.INT: "i64", Kind.BOOL: "bool"}
    return {element: stored[kind] for kind, element in COMPUTED.items()}


@dataclass(frozen=True, eq=False, slots=True)
class Index:
    """An index variable, told from others by identity.

    `extent` and `bound` are integer expressions: the variable takes the values 0 … min(extent, bound) - 1. `bound`
    reads no tensor, and that of an `each` variable depends on no other. An `each` variable's extent may read tensors
    at earlier `each` variables, an `over` variable's at any `each` variable; an `axis` variable's is made of dims,
    parameters and numbers. An absent extent is 0.
    """

    name: str
    role: OneOf["each", "over", "axis"]
    extent: Expr
    bound: Expr
    span: Span


Role = OneOf["input", "output", "inout", "temp"]
"""What a tensor is for a call."""


@dataclass(frozen=True, eq=False, slots=True)
class Tensor:
    """An input, an output, an `inout`, or a `temp`, which blocks write and read and no caller sees.

    An `inout` is a caller's, in whose place blocks write; where they write nothing it stays as it is.

    `element` is a type variable's name, a key of STORAGE_KINDS, or COMPUTED; extents are made of dims, those of what is
    COMPUTED of parameters too. An input that has a `default` may be left out of a call: it is then full of that, a
    number which its type holds. Along its `broadcast` axes, by number, a call may give it an extent of 1: what is there
    stands for all.
    """

    name: str
    role: Role
    element: str
    extents: tuple[Expr, ...]
    span: Span
    default: Constant | None = None
    broadcast: tuple[int, ...] = ()

    @property
    def is_computed(self) -> bool:
        """Whether the checker has made it, and no spec declares it."""
        return self.element in COMPUTED.values()


@dataclass(frozen=True, slots=True)
class Param:
    """A number or flag given at a call; one that has neither a `default` nor a `formula` must be.

    A formula is what it is where it is left out, made of dims and of parameters before it.
    """

    name: str
    kind: Kind
    default: int | float | bool | None
    span: Span
    formula: Expr | None = None


# --- expressions; `kind` is what the scalar is, `span` where it was written


@dataclass(frozen=True, eq=False, slots=True)
class Expr:
    """A scalar expression, told from others by identity."""

    kind: Kind
    span: Span


@dataclass(frozen=True, eq=False, slots=True)
class Constant(Expr):
    """A number or truth value. A FLOAT may be infinite."""

    value: int | float | bool


@dataclass(frozen=True, eq=False, slots=True)
class DimValue(Expr):
    """The extent that a dim has at a call, an INT."""

    name: str


@dataclass(frozen=True, eq=False, slots=True)
class ParamValue(Expr):
    """A parameter's value at a call."""

    name: str


@dataclass(frozen=True, eq=False, slots=True)
class IndexValue(Expr):
    """The value of an index variable, an INT."""

    index: Index


@dataclass(frozen=True, eq=False, slots=True)
class Read(Expr):
    """An element of an input, or of what an earlier block wrote, one integer expression a dimension."""

    tensor: Tensor
    indices: tuple[Expr, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Apply(Expr):
    """A pointwise operator of `attndsl.checking.operators.OPERATORS`, by its name there."""

    operator: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, eq=False, slots=True)
class ReduceAxis(Expr):
    """A reduction of `body` over all values of an axis variable; a sum is a contraction, of ints too.

    Absent where any of its terms is.
    """

    function: str  # of FOLDS
    index: Index
    body: Expr


class Fold(NamedTuple):
    """A reduction of one value: the operator of OPERATORS that merges two results, and the result of nothing."""

    merge: str
    empty: float


FOLDS = {"sum": Fold("fadd", 0.0), "max": Fold("fmax", -math.inf), "min": Fold("fmin", math.inf)}
"""The reductions that fold one value of each key, or of each value of an axis variable, by their names."""

WEIGHING = ("softmax", "logsumexp")
"""The reductions that weigh keys by the exponentials of scores, and take a sink."""


POSITIONS = ("argmax", "topk")
"""The reductions that tell which key position it is."""


@dataclass(frozen=True, eq=False, slots=True)
class Reduce(Expr):
    """A reduction over the block's key positions, a FLOAT; of POSITIONS an INT.

    ========== ===========================================================================================
    function   value, over the positions j that are present
    ========== ===========================================================================================
    softmax    sum of exp(score) * value / (exp(sink) + sum of exp(score)); 0 where the denominator is 0
    logsumexp  log(exp(sink) + sum of exp(score)); -inf where nothing is present
    sum        sum of score; 0 where nothing is present
    max        the largest score; -inf where nothing is present
    min        the smallest score; inf where nothing is present
    argmax     value, an INT, where score is the largest, the smallest of several; -1 where nothing is present, or NaN
    topk       value, an INT, where score is number `nth` of `count` in order: NaN first, then the largest, of equals
               the smaller value; -1 where there are fewer, or score is NaN
    ========== ===========================================================================================

    `mask` is None for true, `value` is None except for softmax and POSITIONS, `sink` is None for -inf (no term). A sink
    depends on no `over` variable. `nth` and `count` are of topk alone, INTs with 0 <= nth < count; count is made of
    dims and parameters.
    """

    function: str  # of FOLDS, WEIGHING or POSITIONS
    score: Expr
    mask: Expr | None
    value: Expr | None
    sink: Expr | None
    nth: Expr | None = None
    count: Expr | None = None

    @property
    def parts(self) -> dict[str, Expr | None]:
        """What it is made of, by the names of the fields."""
        return {
            "score": self.score,
            "mask": self.mask,
            "value": self.value,
            "sink": self.sink,
            "nth": self.nth,
            "count": self.count,
        }


@dataclass(frozen=True, slots=True)
class Write:
    """`tensor[indices] = value`, for every row and every value of the axis variables; `+=` where it `adds`.

    The value has the kind of the tensor's elements, or is a FLOAT that a tensor of ROUNDED_INTS takes the nearest of.

    A write whose index is out of range is dropped, one whose value is absent writes or adds 0, and an element that
    nothing writes is 0. What is added to an element adds up, in any order, from 0. An `inout` keeps what it holds where
    the value of a `=` is absent, and adds up from that.
    """

    tensor: Tensor
    indices: tuple[Expr, ...]
    axes: tuple[Index, ...]
    value: Expr
    span: Span
    adds: bool = False

    @property
    def keeps(self) -> bool:
        """Whether an element stays as it is where the value is absent."""
        return self.tensor.role == "inout" and not self.adds


@dataclass(frozen=True, slots=True)
class Block:
    """One `each … over …` and what it writes; `over` is empty where nothing is reduced.

    Blocks run one after another: what one of them reads, an earlier one has written, all rows of it.
    """

    each: tuple[Index, ...]
    over: tuple[Index, ...]
    writes: tuple[Write, ...]


@dataclass(frozen=True)
class Spec:
    """A checked spec.

    `types` maps a type variable to the element types it may stand for; `requires` are conditions on dims and
    parameters that every call meets; `schedule` holds what the spec pins of the compiler's choices.
    """

    name: str
    source: Source
    dims: tuple[str, ...]
    types: dict[str, tuple[str, ...]]
    params: tuple[Param, ...]
    tensors: dict[str, Tensor]
    requires: tuple[Expr, ...]
    blocks: tuple[Block, ...]
    schedule: dict[str, int | str] = field(default_factory=dict)

    def kind(self, tensor: Tensor) -> Kind:
        """The kind of scalar that a tensor's elements are; the choices of a type variable have one kind."""
        computed = next((kind for kind, element in COMPUTED.items() if tensor.element == element), None)
        return computed or STORAGE_KINDS.get(self.types.get(tensor.element, (tensor.element,))[0], Kind.FLOAT)

    @property
    def said(self) -> tuple[str, ...]:
        """The type variables that no input has: a call says which of their choices they are."""
        told = {tensor.element for tensor in self.inputs}
        return tuple(name for name, choices in self.types.items() if name not in told and len(choices) > 1)

    def where(self, types: Mapping[str, str]) -> Spec:
        """The spec of calls that say these types, where they say any."""
        return replace(self, types={**self.types, **{name: (types[name],) for name in self.said if name in types}})

    @cached_property
    def sizes(self) -> frozenset[str]:
        """The `int` parameters that extents of declared tensors are made of: calls give them from 0 on, as dims."""
        extents = (e for tensor in self.tensors.values() if not tensor.is_computed for e in tensor.extents)
        return frozenset(e.name for e in walk(*extents) if isinstance(e, ParamValue) and e.kind is Kind.INT)

    @property
    def arguments(self) -> Arguments[Tensor]:
        """The tensors in the order in which a call has them."""
        return Arguments.of(self.tensors.values(), lambda tensor: tensor.role)

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The tensors that a call gives, inputs and inouts, in the order of their declarations."""
        return self.arguments.inputs

    @property
    def written(self) -> tuple[Tensor, ...]:
        """The tensors that blocks write: all but inputs, in the order of their declarations."""
        return tuple(tensor for tensor in self.tensors.values() if tensor.role != "input")

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The tensors that a call makes, in the order of their declarations."""
        return self.arguments.outputs

    @property
    def results(self) -> tuple[Tensor, ...]:
        """What a caller sees written: outputs, then inouts, each in the order of their declarations."""
        return (*self.outputs, *(tensor for tensor in self.inputs if tensor.role == "inout"))


def operands(expr: Expr) -> tuple[Expr, ...]:
    """The expressions that `expr` is made of; not the extents of the variables it binds."""
    match expr:
        case Read():
            return expr.indices
        case Apply():
            return expr.arguments
        case ReduceAxis():
            return (expr.body,)
        case Reduce():
            return tuple(part for part in expr.parts.values() if part is not None)
        case _:
            return ()


def walk(*roots: Expr, through: Callable[[Expr], tuple[Expr, ...]] = operands) -> Iterator[Expr]:
    """Every expression reachable from `roots` `through` the operands of each, once each, operands first."""
    seen: set[int] = set()
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        expr, ready = stack.pop()
        if ready:
            yield expr
        elif id(expr) not in seen:
            seen.add(id(expr))
            stack.append((expr, True))
            stack.extend((operand, False) for operand in reversed(through(expr)))
