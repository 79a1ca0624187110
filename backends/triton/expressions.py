"""Values as Triton text: which are written where they are used, and how tiles of different axes are lined up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from attndsl.backends.names import Names
from attndsl.backends.text import ATOM, COMPARISON_LEVEL, COMPARISON_SIGNS, Text, Values
from attndsl.backends.triton.pointwise import (
    TRITON_REDUCTIONS,
    TRITON_SPELLINGS,
    TRUNCATING,
    TritonSpelling,
    scalar_type,
)
from attndsl.ir import spec, tile
from attndsl.ir.analyses.facts import Unsigned, leaves
from attndsl.ir.analyses.stored import Stored
from attndsl.ir.analyses.widths import is_short
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.meaning import predicate
from attndsl.ir.rewrite import constant
from attndsl.ir.statements import named
from attndsl.ir.traits import monoid_of
from attndsl.ir.xdsl import Block, Operation, SSAValue, arith, f32, f64, i1, index
from attndsl.python_names import python_name

HALF_TYPES = {"f16": "float16", "bf16": "bfloat16"}
"""What Triton calls the element types of 16 bits."""

LONGEST_INLINE = 48
"""Longer texts get a name of their own."""


class TritonExpressions(Values):
    """The text of the values of one kernel; `largest` names the largest INDEX."""

    def __init__(self, kernel: tile.KernelOp, names: Names, axes: AxesAnalysis, static: Iterable[str]) -> None:
        super().__init__(names, axes)
        self.arrange(kernel)
        self.stored = Stored.of(kernel)
        self._narrow, self._wraps = (named(kernel, statement) for statement in (tile.NarrowOp, tile.WrapsOp))
        self._is_unsigned = Unsigned(kernel)
        self._by_bits = kernel.by_bits is not None
        self.largest = names.like("LARGEST")
        self._static = frozenset(static)

    # --- axes

    def shape(self, axes: Sequence[SSAValue]) -> str:
        """The shape of a tile with these axes."""
        return f"[{', '.join(self.size(axis) for axis in axes)}]"

    def size(self, axis: SSAValue) -> str:
        """How many values an axis has."""
        assert isinstance(axis.owner, tile.RangeOp)
        return self[axis.owner.size].code

    def lined_up(self, value: SSAValue, axes: Sequence[SSAValue]) -> Text:
        """A value, ready to be combined with tiles that have the axes `axes`."""
        if isinstance(value.owner, tile.WidenedOp):
            return self._widened(value.owner, self.lined_up(value.owner.value, axes))
        own = self.axes_of(value)
        text = self[value]
        if not own or own == tuple(axes):
            return text
        subscript = ", ".join(":" if axis in own else "None" for axis in axes)
        return Text(f"{text.within(ATOM)}[{subscript}]")

    def position(self, axis: SSAValue, axes: Sequence[SSAValue], typed: bool) -> str:
        """How far an axis is from its start, lined up with tiles that have the axes `axes`; `typed`, as an INDEX."""
        subscript = ", ".join(":" if other is axis else "None" for other in axes)
        cast = ".to(INDEX)" if typed else ""
        return f"tl.arange(0, {self.size(axis)}){f'[{subscript}]' if len(axes) > 1 else ''}{cast}"

    # --- values

    def __getitem__(self, value: SSAValue) -> Text:
        """How a value is referred to."""
        known = constant(value)
        if known is not None:
            return _number(known, value)
        owner = value.owner
        if isinstance(owner, spec.DimOp):
            return Text(python_name(owner.dim.data))
        if isinstance(owner, spec.ParamOp):
            return Text(python_name(owner.param.data))
        if isinstance(owner, spec.ChoiceOp):
            return Text(owner.choice.data)
        if isinstance(owner, tile.IdentityOp):
            return Text(self.largest) if owner.of.data == "min" else Text(f"-{self.largest}", 8)
        if isinstance(owner, tile.WidenedOp):
            return self._widened(owner, self[owner.value])
        return super().__getitem__(value)

    def inlines(self, value: SSAValue, text: Text) -> bool:
        """Whether a value reads better where it is used than under a name of its own."""
        owner = value.owner
        users = _readers(value)
        if len(users) == 1 and isinstance(users[0], tile.PlaceOp) and list(users[0].operands) == [value]:
            users = tile.users(users[0].result)  # it is an index as a whole, and is computed before a loop that reads
        if isinstance(owner, tile.RenameAxisOp):
            return isinstance(owner.value.owner, tile.LoadOp)
        if isinstance(owner, tile.BroadcastOp):
            return constant(owner.value) is not None or not owner.axes
        if isinstance(owner, tile.LoadOp) or value.name_hint is not None or len(users) != 1:
            return False
        (user,) = users
        if isinstance(user, tile.LoopOp) or user.parent is not owner.parent:
            return False
        return len(text.code) <= LONGEST_INLINE

    def make(self, op: Operation) -> Text:
        """The text of an operation with one result; its operands have been made before."""
        match op:
            case arith.CmpiOp() | arith.CmpfOp():
                return self._comparison(op)
            case arith.XOrIOp() if constant(op.rhs) is True:
                return Text(f"~{self[op.lhs].within(8)}", 8)
            case spec.ToFloatOp():
                return Text(f"tl.cast({self[op.operand].code}, tl.{scalar_type(op.result.type)})")
            case spec.RandomOp():
                axes = self.axes_of(op.result)
                numbers = f"_random({self.lined_up(op.seed, axes).code}, {self.lined_up(op.offset, axes).code})"
                return Text(numbers if op.result.type == f32 else f"{numbers}.to(tl.float64)")
            case tile.BroadcastOp():
                return self._broadcast(op)
            case tile.RenameAxisOp():
                # A loop carries what it read as memory holds it: Triton's pipeliner looks for the load itself.
                text = self[op.value]
                return text if isinstance(op.value.owner, tile.LoadOp) else Text(f"{text.code}.to(tl.int64)")
            case tile.RepeatOp():
                return self._repeat(op)
            case tile.ReduceOp():
                return self._reduce(op)
            case tile.DotOp():
                return self._dot(op)
            case arith.FloorDivSIOp() | spec.ModOp() if all(map(self._is_unsigned, op.operands)):
                return self._spell(op, TRUNCATING[type(op)])
        return self._spell(op, TRITON_SPELLINGS[type(op)])

    def _spell(self, op: Operation, spelling: TritonSpelling) -> Text:
        axes = self.axes_of(op.results[0])
        narrow = op.results[0] in self._narrow
        indices = [v for v in op.operands if v.type == index]
        wide = not narrow and (all(map(self._is_short, indices)) or not all(map(is_short, indices)))
        operands = [self.operand(v, axes, narrow, wide) for v in op.operands]
        if op.results[0] in self._wraps and self._is_static(op.results[0]):
            operands[0] = Text(f"tl.cast({operands[0].code}, tl.int64)")  # a plain integer does not wrap
        if spelling.level == ATOM:
            return Text(spelling.template.format(*(text.code for text in operands)))
        # Only the right operand of an infix operator needs parentheses where it binds as tightly.
        codes = [text.within(spelling.level + (n > 0)) for n, text in enumerate(operands)]
        text = Text(spelling.template.format(*codes), spelling.level)
        # What is the same for a whole tile is computed in 64 bits from here on.
        return text if axes or not narrow else Text(f"{text.within(ATOM)}.to(tl.int64)")

    def _is_short(self, value: SSAValue) -> bool:
        """Whether an operand does not widen others to 64 bits."""
        return self._is_number(value) or self.runs_narrow(value)

    def _is_number(self, value: SSAValue) -> bool:
        """Whether an integer may be plain where Triton sees it: it is known, or its interpreter counts turns so."""
        turns = (Block, tile.OuterLoopOp)
        return all(isinstance(leaf.owner, turns) or self._is_known(leaf) for leaf in leaves(value))

    def runs_narrow(self, value: SSAValue) -> bool:
        """Whether the elements of a tile are an INDEX."""
        return value.type == index and value in self._narrow and bool(self.axes(value))

    def counts_turns(self, value: SSAValue) -> bool:
        """Whether a number is computed of turns, which have 32 bits where warps have roles."""
        return False

    def as_index(self, value: SSAValue, text: Text) -> str:
        """A text, cast to INDEX."""
        return f"tl.cast({text.code}, INDEX)" if self._is_number(value) else f"{text.within(ATOM)}.to(INDEX)"

    def operand(self, value: SSAValue, axes: Sequence[SSAValue], narrow: bool, wide: bool = False) -> Text:
        """An operand, lined up; a number that is the same for the whole tile is cast where the tile is narrow.

        What is narrow is cast where the result must be `wide`; elsewhere Triton widens it by itself.
        """
        if not axes and _is_plain(value):
            # The functions of Triton's interpreter take no plain number.
            return Text(f"tl.cast({self[value].code}, tl.float32)")
        text = self.lined_up(value, axes)
        if value.type == f64 and constant(value) is not None:
            return Text(_double(text.code))
        if not narrow and wide and (value in self.stored.short or self.runs_narrow(value)):
            return Text(f"{text.within(ATOM)}.to(tl.int64)")
        given = constant(value) is not None or isinstance(value.owner, tile.IdentityOp)
        if not narrow or value.type != index or given or self.runs_narrow(value):
            return text
        return Text(self.as_index(value, text))

    def _comparison(self, op: arith.CmpiOp | arith.CmpfOp) -> Text:
        axes = self.axes_of(op.result)
        numbers = [v for v in op.operands if constant(v) is None and self._is_number(v)]
        wide = bool(numbers) or not all(map(is_short, op.operands))
        operands = [self.operand(v, axes, op.result in self._narrow, wide) for v in op.operands]
        left, right = (text.within(COMPARISON_LEVEL + 1) for text in operands)
        text = f"{left} {COMPARISON_SIGNS[predicate(op)]} {right}"
        if all(self._is_static(v) for v in op.operands):
            # What is known when the kernel is compiled would be a Python bool, whose ~ is a number.
            return Text(f"tl.cast({text}, tl.int1)")
        return Text(text, COMPARISON_LEVEL)

    def _is_static(self, value: SSAValue) -> bool:
        return all(map(self._is_known, leaves(value)))

    def _is_known(self, leaf: SSAValue) -> bool:
        """Whether an integer is known when the kernel is compiled."""
        dim = leaf.owner
        return constant(leaf) is not None or (isinstance(dim, spec.DimOp) and dim.dim.data in self._static)

    def _broadcast(self, op: tile.BroadcastOp) -> Text:
        axes = self.axes_of(op.result)
        if constant(op.value) is not None or _is_plain(op.value):
            return Text(f"tl.full({self.shape(axes)}, {self[op.value].code}, tl.{scalar_type(op.value.type)})")
        if self.axes_of(op.value) == axes:
            # A loop may start with it that carries 64 bits: what is computed of plain numbers has 32.
            computed = op.value.type == index and not isinstance(op.value.owner, spec.DimOp | tile.LoadOp)
            text = self[op.value]
            return Text(f"tl.cast({text.code}, tl.int64)") if computed and not axes else text
        text = self.lined_up(op.value, axes)
        return Text(f"tl.broadcast_to({text.code}, {self.shape(axes)})")

    def _repeat(self, op: tile.RepeatOp) -> Text:
        """A tile with one axis more, along which it is broadcast, and which is then a part of the axis before it."""
        axes = self.axes_of(op.value)
        place = axes.index(op.old) + 1
        subscript = ", ".join([":"] * place + ["None"] + [":"] * (len(axes) - place))
        sizes = [self.size(axis) for axis in axes]
        sizes.insert(place, str(op.times.value.data))
        apart = f"tl.broadcast_to({self[op.value].within(ATOM)}[{subscript}], [{', '.join(sizes)}])"
        return Text(f"tl.reshape({apart}, {self.shape(self.axes_of(op.result))})")

    # --- reductions

    def _reduce(self, op: tile.ReduceOp) -> Text:
        body, axis = self[op.body], self.axes_of(op.body).index(op.over)
        spelling = TRITON_REDUCTIONS[monoid_of(op).operation(op.body.type)]
        code = body.within(ATOM) if "{0}." in spelling.template else body.code
        return Text(spelling.template.format(code, axis=axis), spelling.level)

    def _dot(self, op: tile.DotOp) -> Text:
        batch, *sides = op.sides(self.axes)
        rows, columns = self.ordered(frozenset().union(*sides))
        first, second = (op.lhs, op.rhs) if rows in self.axes(op.lhs) else (op.rhs, op.lhs)
        left = self.turned(first, (*batch, rows, op.over))
        right = self.turned(second, (*batch, op.over, columns))
        kind = op.rounded.data if op.rounded is not None else "ieee"
        if kind in HALF_TYPES:
            left, right = self._rounded(first, left, kind), self._rounded(second, right, kind)
            product = Text(f"tl.dot({left.code}, {right.code})")
        else:
            product = Text(f'tl.dot({left.code}, {right.code}, input_precision="{kind}")')
        return _permuted(product, (*batch, rows, columns), self.axes_of(op.result))

    def widening(self, element: str, type_: str) -> tuple[str, str]:
        """What stands before and after a number that memory holds as `element`, to make it one of `type_`."""
        if element != "bf16" or not self._by_bits:
            return "", f".to(tl.{type_})"
        return "_from_bf16(", ")" if type_ == "float32" else f").to(tl.{type_})"

    def _widened(self, op: tile.WidenedOp, text: Text) -> Text:
        """What is spelled of a tile that is kept, be it lined up or turned, as the tile that it is widened to."""
        before, after = self.widening(self.stored.halves[op.value], scalar_type(op.result.type))
        return Text(f"{before}{text.within(ATOM)}{after}")

    def _rounded(self, value: SSAValue, text: Text, element: str) -> Text:
        kept = self.stored.halves.get(value) == element
        return text if kept else Text(f"{text.within(ATOM)}.to(tl.{HALF_TYPES[element]})")

    def turned(self, value: SSAValue, axes: Sequence[SSAValue]) -> Text:
        """A tile with its axes in the order `axes`."""
        if isinstance(value.owner, tile.WidenedOp):
            return self._widened(value.owner, self.turned(value.owner.value, axes))
        return _permuted(self[value], self.axes_of(value), axes)


def _permuted(text: Text, own: Sequence[SSAValue], axes: Sequence[SSAValue]) -> Text:
    """A tile whose axes are `own`, with them in the order `axes`."""
    if tuple(own) == tuple(axes):
        return text
    if len(axes) == 2:
        return Text(f"tl.trans({text.code})")
    return Text(f"tl.permute({text.code}, ({', '.join(str(own.index(axis)) for axis in axes)}))")


def _readers(value: SSAValue) -> list[Operation]:
    """The operations that are spelled with a value, once for each use: what widens it is a part of their text."""
    found = []
    for user in tile.users(value):
        found += tile.users(user.result) if isinstance(user, tile.WidenedOp) else [user]
    return found


def _is_plain(value: SSAValue) -> bool:
    """Whether a real number is one of Python's in Triton's interpreter."""
    return value.type == f32 and isinstance(value.owner, spec.ParamOp)


def _number(value: float | bool, like: SSAValue) -> Text:
    if like.type == i1 or like.type == index:
        return Text(str(value), ATOM if value >= 0 else 8)
    text = str(np.float32(value) if like.type == f32 else np.float64(value))
    if text in ("inf", "-inf", "nan"):
        return Text(f'float("{text}")')
    return Text(text, 8 if text.startswith("-") else ATOM)


def _double(text: str) -> str:
    """A number of 64 bits: where a function takes one that is no tensor, Triton makes 32 bits of it."""
    return f"tl.full([], {text}, tl.float64)"
