"""The syntax tree: what was written, with its place, before any name is looked up."""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.syntax.source import Span


@dataclass(frozen=True, slots=True)
class Node:
    """A piece of the tree; `span` is where it stands in the source."""

    span: Span


@dataclass(frozen=True, slots=True)
class Name(Node):
    """An identifier, `Hq`."""

    text: str


# --- expressions


@dataclass(frozen=True, slots=True)
class Number(Node):
    """A number as written; an `int` where it has neither point nor exponent."""

    value: int | float


@dataclass(frozen=True, slots=True)
class Boolean(Node):
    """`true` or `false`."""

    value: bool


@dataclass(frozen=True, slots=True)
class Reference(Node):
    """A name used as a value."""

    name: Name


@dataclass(frozen=True, slots=True)
class Whole(Node):
    """A `:` among subscripts: all of an axis."""


@dataclass(frozen=True, slots=True)
class Slice(Node):
    """`2 : D` among subscripts: an axis from one place up to another; its own end where one is left out, not both."""

    start: Expression | None
    stop: Expression | None


@dataclass(frozen=True, slots=True)
class Subscripted(Node):
    """`q[b, h, i, :]`."""

    name: Name
    subscripts: tuple[Subscript, ...]


@dataclass(frozen=True, slots=True)
class KeywordArgument(Node):
    """`sink = s` among the arguments of a call."""

    name: Name
    value: Expression


@dataclass(frozen=True, slots=True)
class Call(Node):
    """`sqrt(D)`, `softmax(score, mask)`, `sum(x, mask)`."""

    function: Name
    arguments: tuple[Expression | KeywordArgument, ...]


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """`-x`, `+x` or `not x`."""

    operator: str
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """Two operands of `+ - * / % . & | ^ << >> and or`; `operator_span` is where the operator stands."""

    operator: str
    operator_span: Span
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Comparison(Node):
    """A chain of comparisons, `a <= j < b`: true where each neighbouring pair is."""

    operands: tuple[Expression, ...]
    operators: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conditional(Node):
    """`if condition then one else other`."""

    condition: Expression
    then: Expression
    otherwise: Expression


@dataclass(frozen=True, slots=True)
class Axis(Node):
    """`r in R`: a name bound to every index below an extent."""

    name: Name
    extent: Expression


@dataclass(frozen=True, slots=True)
class AxisReduction(Node):
    """`sum(r in R) w[r] * c[r]`."""

    function: Name
    axes: tuple[Axis, ...]
    body: Expression


Expression = (
    Number | Boolean | Reference | Subscripted | Call | Unary | Binary | Comparison | Conditional | AxisReduction
)
Subscript = Expression | Whole | Slice


# --- statements


@dataclass(frozen=True, slots=True)
class Parameter(Node):
    """`window: int = 4096` in the header."""

    name: Name
    type: Name
    default: Expression | None


@dataclass(frozen=True, slots=True)
class Dims(Node):
    """`dims B, H, M`."""

    names: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class TypeVariable(Node):
    """`T` or `T = f16 | bf16`; with no choices, any floating-point type."""

    name: Name
    choices: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class Types(Node):
    """`types T, U`."""

    variables: tuple[TypeVariable, ...]


@dataclass(frozen=True, slots=True)
class TensorDeclaration(Node):
    """`input bias : T[H?, M, N] = 0.0`; `role` is `input`, `output`, `inout` or `temp`.

    `broadcast` has the axes whose extents a call may give as 1, by number.
    """

    role: str
    name: Name
    element: Name
    extents: tuple[Expression, ...]
    broadcast: tuple[int, ...]
    default: Expression | None


@dataclass(frozen=True, slots=True)
class Require(Node):
    """`require Hq % Hkv == 0`."""

    condition: Expression


@dataclass(frozen=True, slots=True)
class Binder(Node):
    """`i in cu[b + 1] - cu[b] up to max_q`."""

    name: Name
    extent: Expression
    bound: Expression | None


@dataclass(frozen=True, slots=True)
class Each(Node):
    """`each b in B, h in H`: the rows; it opens a block."""

    binders: tuple[Binder, ...]


@dataclass(frozen=True, slots=True)
class Over(Node):
    """`over j in N`: the key positions of a row."""

    binders: tuple[Binder, ...]


@dataclass(frozen=True, slots=True)
class IndexParam(Node):
    """A plain name among a definition's parameters: any integer stands for it."""

    name: Name


@dataclass(frozen=True, slots=True)
class AxisParam(Node):
    """`d in D` among a definition's parameters: an axis of the value."""

    name: Name
    extent: Expression


@dataclass(frozen=True, slots=True)
class WholeParam(Node):
    """`:` among a definition's parameters: an axis that the right-hand side carries."""


LetParam = IndexParam | AxisParam | WholeParam


@dataclass(frozen=True, slots=True)
class Let(Node):
    """`let g = …`, `let k[d in D] = …`, `let k[b, g, j, :] = …`."""

    name: Name
    params: tuple[LetParam, ...]
    value: Expression


@dataclass(frozen=True, slots=True)
class Definition(Node):
    """`score = …` or `mask = …`: a `let` whose kind its name fixes."""

    name: Name
    value: Expression


@dataclass(frozen=True, slots=True)
class WriteStatement(Node):
    """`o[b, h, i, :] = …`, or `o[b, h / 4, i, :] += …`, which `adds` to what is there."""

    name: Name
    subscripts: tuple[Subscript, ...]
    value: Expression
    adds: bool = False


@dataclass(frozen=True, slots=True)
class Setting(Node):
    """`split_k = auto` in a schedule."""

    name: Name
    value: bool | int | float | Name


@dataclass(frozen=True, slots=True)
class Schedule(Node):
    """`schedule { split_k = auto }`."""

    settings: tuple[Setting, ...]


Statement = Dims | Types | TensorDeclaration | Require | Each | Over | Let | Definition | WriteStatement | Schedule


@dataclass(frozen=True, slots=True)
class AttentionNode(Node):
    """A whole spec."""

    name: Name
    parameters: tuple[Parameter, ...]
    statements: tuple[Statement, ...]
