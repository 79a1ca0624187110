"""A derived spec as text that a person would write: what is used twice has a name, and axes are `:` where they can."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from attndsl.checking.operators import OPERATORS
from attndsl.checking.spelling import ATOM, LANGUAGE, NEGATION, PRODUCT, SUM, Spelled
from attndsl.checking.text import expression_text
from attndsl.checking.typed import (
    FLOAT_TYPES,
    POSITIONS,
    Apply,
    Block,
    Constant,
    DimValue,
    Expr,
    Index,
    IndexValue,
    Kind,
    Param,
    ParamValue,
    Read,
    Reduce,
    ReduceAxis,
    Spec,
    Tensor,
    Write,
    operands,
    walk,
)
from attndsl.gradient.places import slice_of
from attndsl.syntax.parse import words

Names = Mapping[Expr, str]
"""What expressions are called, where they are named at all."""


def source_text(spec: Spec, names: Names, comment: Sequence[str] = ()) -> str:
    """A typed spec as a person would write it; `names` has names for some of its expressions."""
    lines = [f"# {line}" for line in comment]
    params = ", ".join(map(_parameter, spec.params))
    lines.append(f"attention {spec.name}{f'({params})' if params else ''} {{")
    if spec.dims:
        lines.append("dims " + ", ".join(spec.dims))
    if spec.types:
        lines.append("types " + ", ".join(_type(*each) for each in spec.types.items()))
    lines.append("")
    lines += map(_tensor, spec.tensors.values())
    requires = [condition for condition in spec.requires if not _is_divisor(condition)]
    lines += ["", *(f"require {expression_text(condition)}" for condition in requires)]
    taken = {*spec.tensors, *spec.dims, *spec.types, *(param.name for param in spec.params), spec.name}
    if spec.schedule:
        given = {name: value if isinstance(value, str) else str(value).lower() for name, value in spec.schedule.items()}
        settings = (f"{name} = {value}" for name, value in given.items())
        lines += ["", f"schedule {{ {'; '.join(settings)} }}"]
    for block in spec.blocks:
        lines += ["", *block_lines(block, names, taken)]
    return "\n".join(_indented(lines)) + "\n}\n"


def _indented(lines: Iterable[str]) -> Iterator[str]:
    inside = False
    for line in lines:
        yield f"    {line}" if inside and line else line
        inside = inside or line.startswith("attention ")


def _parameter(param: Param) -> str:
    default = "" if param.default is None else f" = {LANGUAGE.literal(param.default).text}"
    if param.formula is not None:
        default = f" = {expression_text(param.formula)}"
    return f"{param.name}: {'f32' if param.kind is Kind.FLOAT else param.kind.value}{default}"


def _type(name: str, choices: tuple[str, ...]) -> str:
    return name if choices == FLOAT_TYPES else f"{name} = {' | '.join(choices)}"


def _tensor(tensor: Tensor) -> str:
    extents = (expression_text(e) + "?" * (n in tensor.broadcast) for n, e in enumerate(tensor.extents))
    default = "" if tensor.default is None else f" = {expression_text(tensor.default)}"
    return f"{tensor.role} {tensor.name} : {tensor.element}[{', '.join(extents)}]{default}"


def block_lines(block: Block, names: Names, taken: Iterable[str], lets: bool = True) -> list[str]:
    """A block: its variables, what it names, and its writes; without `lets` nothing is named."""
    lines = ["each " + ", ".join(map(_binder, block.each))]
    if block.over:
        lines.append("over " + ", ".join(map(_binder, block.over)))
    speller = _Speller(block, names, {*taken, *(index.name for index in (*block.each, *block.over))}, lets)
    named, writes = speller.lets(), [speller.write(write) for write in block.writes]
    return [*lines, "", *([*named, ""] if named else []), *writes]


def _binder(index: Index, name: str | None = None) -> str:
    """An index variable with its extent, and with how large that can be where data or rows say it."""
    extent, bound = expression_text(index.extent), expression_text(index.bound)
    return f"{name or index.name} in {extent}" + (f" up to {bound}" if extent != bound else "")


class _Speller:
    """Expressions of one block. An expression that is used in several places, and is no mere element, is a `let`."""

    def __init__(self, block: Block, names: Names, taken: set[str], lets: bool) -> None:
        self._taken = taken
        roots = [expr for write in block.writes for expr in (*write.indices, write.value)]
        self._order = [*walk(*roots)]
        axes = dict.fromkeys((*(axis for write in block.writes for axis in write.axes), *_axes(self._order)))
        self._axis = {axis: self._fresh(axis.name) for axis in axes}
        uses = Counter(part for expr in self._order for part in operands(expr)) + Counter(roots)
        self._named: dict[Expr, str] = {}
        self._axes: dict[Expr, tuple[Index, ...]] = {}
        free: dict[Expr, frozenset[Index]] = {}
        for expr in self._order:
            free[expr] = _free(expr, free)
            if lets and ((uses[expr] > 1 and _is_worth(expr)) or expr in names):
                self._axes[expr] = tuple(sorted(free[expr], key=lambda index: index.name))
                self._named[expr] = self._fresh(names.get(expr, "term"))
        self._free = free

    def lets(self) -> list[str]:
        """The names of the block, each after those that it is made of."""
        lines = []
        for expr, name in self._named.items():
            axes = self._binders(self._axes[expr])
            value = self._spell(expr, NONE, defining=True).text
            plain = name in ("score", "mask") and not axes
            lines.append(f"{name} = {value}" if plain else f"let {name}{f'[{axes}]' if axes else ''} = {value}")
        return lines

    def write(self, write: Write) -> str:
        """A write; along its axes it is `:`, of a name where its value cannot be spelt so."""
        sign = "+=" if write.adds else "="
        whole = frozenset(write.axes)
        places = self._places(write.tensor, write.indices, whole)
        own = self._free[write.value]
        if len(whole) < 2 and all(axis in own and self._is_vector(write.value, axis) for axis in whole):
            return f"{write.tensor.name}[{places}] {sign} {self._spell(write.value, whole).text}"
        name = self._fresh("all")
        axes, rest = self._binders(write.axes), ", ".join(":" for _ in write.axes)
        return (
            f"let {name}[{axes}] = {self._spell(write.value, NONE).text}\n"
            f"    {write.tensor.name}[{places}] {sign} {name}[{rest}]"
        )

    def _binders(self, axes: Iterable[Index]) -> str:
        return ", ".join(_binder(axis, self._axis[axis]) for axis in axes)

    def _fresh(self, name: str) -> str:
        found, number = name, 1
        while found in self._taken or found in words():
            number += 1
            found = f"{name}_{number}"
        self._taken.add(found)
        return found

    def _is_vector(self, expr: Expr, axis: Index) -> bool:
        """Whether an expression can be spelt for all of an axis at once: where it has it, as a subscript of a read."""
        if axis not in self._free[expr]:
            return True
        if expr in self._named:
            return True
        match expr:
            case Read(tensor=tensor, indices=indices):
                found = [n for n, index in enumerate(indices) if axis in self._free[index]]
                return len(found) == 1 and slice_of(tensor, found[0], indices[found[0]], axis) is not None
            case Apply(kind=Kind.FLOAT, operator=operator):
                return operator != "fselect" and all(self._is_vector(part, axis) for part in expr.arguments)
            case Reduce(function="sum", score=score, mask=mask):
                return (mask is None or axis not in self._free[mask]) and self._is_vector(score, axis)
            case Reduce(function="softmax", value=value) if value is not None:
                weights = (part for part in (expr.score, expr.mask, expr.sink) if part is not None)
                return all(axis not in self._free[part] for part in weights) and self._is_vector(value, axis)
        return False

    def _places(self, tensor: Tensor, indices: Sequence[Expr], whole: frozenset[Index]) -> str:
        """Subscripts; those of axes that are taken whole are slices."""
        texts = []
        for number, index in enumerate(indices):
            (axis,) = self._free[index] & whole or (None,)
            texts.append(
                self._spell(index, whole).text if axis is None else slice_of(tensor, number, index, axis) or "?"
            )
        return ", ".join(texts)

    def _spell(self, expr: Expr, whole: frozenset[Index], defining: bool = False) -> Spelled:
        """The text of an expression, for all of the axes `whole` at once."""
        if expr in self._named and not defining:
            axes = ", ".join(":" if axis in whole else self._axis[axis] for axis in self._axes[expr])
            return Spelled(self._named[expr] + (f"[{axes}]" if axes else ""))
        match expr:
            case Constant(value=value) if isinstance(value, float) and value in (float("inf"), float("-inf")):
                return Spelled("inf") if value > 0 else Spelled("-inf", NEGATION)
            case Constant(value=value):
                return LANGUAGE.literal(value)
            case DimValue() | ParamValue():
                return Spelled(expr.name)
            case IndexValue(index=index):
                return Spelled(self._axis.get(index, index.name))
            case Read():
                return Spelled(f"{expr.tensor.name}[{self._places(expr.tensor, expr.indices, whole)}]")
            case ReduceAxis():
                return self._reduced(expr, whole)
            case Reduce():
                told = ("value",) if expr.function in (*POSITIONS, "softmax") else ()
                parts = ((name, part) for name, part in expr.parts.items() if part is not None and name not in told)
                texts = [("sink = " if n == "sink" else "") + self._spell(p, whole).text for n, p in parts]
                text = f"{expr.function}({', '.join(texts)})"
                if expr.function != "softmax" or expr.value is None:
                    return Spelled(text)
                return Spelled(f"{text} . {self._spell(expr.value, whole).within(ATOM)}", PRODUCT)
            case Apply(operator=operator, arguments=arguments):
                if OPERATORS[operator].curve is not None:  # an int is taken for a real number there
                    arguments = tuple(map(_promoted, arguments))
                return LANGUAGE.apply(operator, [self._spell(part, whole) for part in arguments])
        raise AssertionError(expr)

    def _reduced(self, expr: ReduceAxis, whole: frozenset[Index]) -> Spelled:
        """A sum of products of two vectors as a product of them, any other reduction as it is."""
        body, axis = expr.body, expr.index
        if isinstance(body, Apply) and body.operator == "fmul" and expr.function == "sum":
            halves = body.arguments
            if not whole and all(axis in self._free[half] and self._is_vector(half, axis) for half in halves):
                left, right = (self._spell(half, frozenset((axis,))).within(ATOM) for half in halves)
                return Spelled(f"{left} . {right}", PRODUCT)
        text = self._spell(body, whole - {axis}).within(PRODUCT)  # what it binds is its own
        function = _OF_CONDITIONS[expr.function] if expr.kind is Kind.BOOL else expr.function
        return Spelled(f"{function}({self._binders([axis])}) {text}", SUM + 1)


NONE: frozenset[Index] = frozenset()

_OF_CONDITIONS = {"max": "any", "min": "all"}
"""What reductions of truth values are called."""


def _axes(exprs: Iterable[Expr]) -> Iterator[Index]:
    """The axis variables of expressions."""
    for expr in exprs:
        if isinstance(expr, ReduceAxis) or (isinstance(expr, IndexValue) and expr.index.role == "axis"):
            yield expr.index


def _is_divisor(condition: Expr) -> bool:
    """Whether a condition is one that a reading of the spec adds by itself: that no divisor is 0."""
    if not isinstance(condition, Apply) or condition.operator != "ine":
        return False
    right = condition.arguments[1]
    return isinstance(right, Constant) and right.value == 0


def _promoted(expr: Expr) -> Expr:
    return expr.arguments[0] if isinstance(expr, Apply) and expr.operator == "float" else expr


def _is_worth(expr: Expr) -> bool:
    """Whether an expression that is used more than once has a name: no element, number or product of few ints."""
    return isinstance(expr, Reduce | ReduceAxis) or (
        isinstance(expr, Apply) and expr.kind is Kind.FLOAT and any(isinstance(e, Read | Reduce) for e in walk(expr))
    )


def _free(expr: Expr, known: Mapping[Expr, frozenset[Index]]) -> frozenset[Index]:
    """The axis variables that an expression depends on."""
    if isinstance(expr, IndexValue):
        return frozenset({expr.index} if expr.index.role == "axis" else ())
    found = frozenset[Index]().union(*(known[part] for part in operands(expr)))
    return found - {expr.index} if isinstance(expr, ReduceAxis) else found
