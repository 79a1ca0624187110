"""Values of `tile` IR as Python expressions over NumPy arrays.

A value's array has those axes that it depends on, in one order for all: rows, keys, features. A value
without axes is a Python or NumPy number.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from math import copysign, isinf
from typing import NamedTuple

import numpy as np

from attndsl.backends.names import Names
from attndsl.backends.numpy.pointwise import NUMPY_REDUCTIONS, NUMPY_SPELLINGS
from attndsl.backends.numpy.writable import sharing
from attndsl.backends.text import ATOM, COMPARISON_LEVEL, COMPARISON_SIGNS, Text, Values
from attndsl.ir import spec, tile
from attndsl.ir.analyses.arrangement import batch_axes, row_axis
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.ends import stops_in_time
from attndsl.ir.meaning import predicate
from attndsl.ir.rewrite import constant
from attndsl.ir.statements import named
from attndsl.ir.traits import Axes, Axis, monoid_of
from attndsl.ir.xdsl import Attribute, Operation, SSAValue, arith, f32, f64, i1, index, scf
from attndsl.python_names import python_name

LONGEST = 60
"""How many characters an expression may have to be put into the place of its one use."""

LONGEST_EXTENT = 12
"""How many characters the extent of an axis may have that is written out wherever the axis is."""


FOUR = 4
"""By how many rows a loop multiplies at once what is deferred: of as many numbers a product is worth being streamed."""


class Deferral(NamedTuple):
    """By what axis of rows a tile is multiplied, and how many numbers it has at least that is read only then."""

    rows: Axis
    least: int


class AxisSpan(NamedTuple):
    """An axis as a half-open range, and the statement that gives its end a name, if it has one.

    One that is not `cut` short has as many values as its size says.
    """

    start: str
    stop: str
    definition: str
    cut: bool = True


def dtype(type_: Attribute) -> str:
    """The NumPy type of a tile's values."""
    if type_ == index:
        return "np.int64"
    if type_ == i1:
        return "np.bool_"
    return "np.float64" if type_ == f64 else "np.float32"


class NumPyExpressions(Values):
    """Spells values.

    `homes` has the array of each home that has been declared, `kept` what has memory's type, `deferred` what is read
    when it is multiplied, `wraps` what Python brings back to 64 bits, `batch` the axes of programs that are computed
    at once.
    """

    def __init__(self, names: Names) -> None:
        super().__init__(names, AxesAnalysis())
        self.homes: dict[str, str] = {}
        self.kept: frozenset[SSAValue] = frozenset()
        self.deferred: dict[SSAValue, Deferral] = {}
        self.wraps: frozenset[SSAValue] = frozenset()
        self.batch: Axes = frozenset()
        self._spans: dict[Axis, AxisSpan] = {}

    def arrange(self, kernel: tile.KernelOp) -> None:
        """Prepares for the values of a kernel."""
        super().arrange(kernel)
        self.kept, self.wraps = named(kernel, tile.KeptOp), named(kernel, tile.WrapsOp)
        deferred, rows = named(kernel, tile.DeferredOp), row_axis(kernel)
        self.deferred = {v: Deferral(rows, _products_with(v) // FOUR) for v in deferred if rows is not None}
        self.batch = batch_axes(kernel)
        self.by_loops = None if kernel.by_loops is None else kernel.by_loops.value.data

    # --- values

    def inlines(self, value: SSAValue, text: Text) -> bool:
        """Whether a value reads better in the place of its one use than under a name."""
        users = tile.users(value)
        if _is_extent(value, users):
            return len(text.code) <= LONGEST_EXTENT
        if len(users) != 1:
            return False
        (user,) = users
        starts = isinstance(user, tile.LoopOp) and value in user.iter_args  # it has a line of its own there
        if len(text.code) > LONGEST and not starts:
            return False
        owner = value.owner
        assert isinstance(owner, Operation)
        if isinstance(owner, (tile.LoadOp, tile.DotOp)) or (isinstance(user, tile.RangeOp) and user.size is not value):
            return False
        read = self.read(owner)
        tiles = any(self.axes(v) and not isinstance(v.owner, tile.RangeOp) for v in read)
        if user.parent is not owner.parent or (tiles and _writes_between(owner, user)):
            return False
        changed = _changed_between(owner, user)
        return not changed or changed.isdisjoint(chain.from_iterable(sharing(each, owner) for each in read))

    def read(self, op: Operation) -> set[SSAValue]:
        """The values whose names an operation's expression has in it."""
        found: set[SSAValue] = set()
        for operand in op.operands:
            if operand in self._kept and isinstance(operand.owner, Operation):
                found |= self.read(operand.owner)
            else:
                found.add(operand)
        return found

    def scalar(self, value: SSAValue) -> str:
        """A value without axes."""
        return self[value].code

    def param(self, op: spec.ParamOp) -> None:
        """Parameters are the function's keyword arguments."""
        code = python_name(op.param.data)
        self.keep(op.result, Text(code if op.result.type in (index, i1) else f"{dtype(op.result.type)}({code})"))

    # --- axes

    def span(self, axis: Axis) -> AxisSpan:
        """Where an axis starts and ends."""
        if axis not in self._spans:
            op = axis.owner
            assert isinstance(op, tile.RangeOp)
            start, stop = self[op.start], self[op.stop]
            if constant(op.start) == 0 and op.size is op.stop:
                self._spans[axis] = AxisSpan("0", stop.code, "", cut=False)
            elif stops_in_time(op):
                self._spans[axis] = AxisSpan(start.code, stop.code, "")
            else:
                end = self.names.fresh(f"{op.variable.data}_end")
                definition = f"{end} = min({start.code} + {self[op.size].within(6)}, {stop.code})"
                self._spans[axis] = AxisSpan(start.code, end, definition)
        return self._spans[axis]

    def end_of_axis(self, op: arith.MinSIOp) -> str | None:
        """The name of the end of an axis, where a number is that end."""
        for axis, span in self._spans.items():
            range_ = axis.owner
            if span.definition and isinstance(range_, tile.RangeOp) and op.rhs is range_.stop:
                reach = op.lhs.owner
                if isinstance(reach, arith.AddiOp) and (reach.lhs, reach.rhs) == (range_.start, range_.size):
                    return span.stop
        return None

    def size(self, axis: Axis) -> str:
        """How many values an axis has."""
        span = self.span(axis)
        return span.stop if span.start == "0" else f"{span.stop} - {span.start}"

    # --- arrays side by side

    def along(self, value: SSAValue, axes: Sequence[Axis]) -> Text:
        """A value's array, ready to broadcast against one whose axes are `axes`."""
        own = self.axes_of(value)
        text = self.permuted(value, [axis for axis in axes if axis in own])
        places = [axis in own for axis in axes]
        if not own or False not in places[places.index(True) :]:
            return text
        last = max(n for n, place in enumerate(places) if not place)
        subscript = ", ".join(":" if place else "None" for place in places[places.index(True) : last + 1])
        return Text(f"{text.within(ATOM)}[{subscript}]")

    def permuted(self, value: SSAValue, axes: Sequence[Axis]) -> Text:
        """A value's array with its axes in another order."""
        return self.turned(self[value], self.axes_of(value), axes)

    @staticmethod
    def turned(text: Text, own: Sequence[Axis], axes: Sequence[Axis]) -> Text:
        """An array whose axes are `own`, with them in the order `axes`."""
        if tuple(axes) == tuple(own):
            return text
        if len(own) == 2:
            return Text(f"{text.within(ATOM)}.T")
        if tuple(axes) == (*own[:-2], own[-1], own[-2]):
            return Text(f"{text.within(ATOM)}.mT")
        order = ", ".join(str(own.index(axis)) for axis in axes)
        return Text(f"{text.within(ATOM)}.transpose({order})")

    # --- operations

    def make(self, op: Operation) -> Text:
        """The expression of an operation with one result."""
        match op:
            case arith.ConstantOp():
                return Text(literal(constant(op.result), op.result.type))
            case arith.CmpiOp() | arith.CmpfOp():
                left, right = self.operands(op, COMPARISON_LEVEL)
                return Text(f"{left} {COMPARISON_SIGNS[predicate(op)]} {right}", COMPARISON_LEVEL)
            case spec.ToFloatOp():
                text, target = self[op.operand], dtype(op.result.type)
                if op.result in self.kept:
                    return text
                if not self.axes(op.operand):
                    return Text(f"{target}({text.code})")
                return Text(f"{text.within(ATOM)}.astype({target})")
            case spec.RandomOp():
                axes = self.ordered(self.axes(op.result))
                numbers = Text(f"_random({self.along(op.seed, axes).code}, {self.along(op.offset, axes).code})")
                return numbers if op.result.type == f32 else Text(f"{numbers.code}.astype(np.float64)")
            case arith.MinSIOp() if (end := self.end_of_axis(op)) is not None:
                return Text(end)
            case tile.BroadcastOp():
                return self.broadcast(op)
            case tile.DotOp():
                return self.dot(op)
            case tile.RepeatOp():
                axis = self.axes_of(op.value).index(op.old)
                return Text(f"np.repeat({self[op.value].code}, {op.times.value.data}, axis={axis})")
            case tile.FlattenOp():
                return self.flatten(op)
            case tile.ReduceOp():
                return self.reduce(op)
            case tile.TopOp():
                return self.top(op)
            case tile.FiniteOp():
                return Text(f"np.isfinite({self[op.value].code}).all()")
            case arith.AndIOp() | arith.OrIOp() | arith.XOrIOp() if op.result.type == i1:
                return self.logic(op)
        return self.pointwise(op)

    def pointwise(self, op: Operation) -> Text:
        row = NUMPY_SPELLINGS[type(op)]
        if self.axes(op.results[0]):
            return Text(row.array.format(*self.operands(op, row.level)), row.level or ATOM)
        operands = self.operands(op, row.level)
        numbers = [n for n, operand in enumerate(op.operands) if isinstance(operand.owner, arith.ConstantOp)]
        # A Python float is a double to NumPy where nothing else says what it is.
        if op.results[0].type not in (index, i1) and (len(numbers) == len(operands) or isinstance(op, arith.SelectOp)):
            for n in numbers:
                operands[n] = f"{dtype(op.results[0].type)}({operands[n]})"
        text = Text(row.scalar.format(*operands), row.level or ATOM)
        return Text(f"_int64({text.code})") if op.results[0] in self.wraps else text

    def operands(self, op: Operation, level: int) -> list[str]:
        """The operands of an operation, lined up with its result, in parentheses where `level` asks for them."""
        axes = self.axes_of(op.results[0])
        texts = [self.along(operand, axes) for operand in op.operands]
        # The first operand of a chain such as a - b - c needs no parentheses, the others do.
        return [
            text.within(level + (n > 0 or level <= COMPARISON_LEVEL)) if level else text.code
            for n, text in enumerate(texts)
        ]

    def logic(self, op: arith.AndIOp | arith.OrIOp | arith.XOrIOp) -> Text:
        axes = self.axes_of(op.result)
        left, right = (self.along(operand, axes) for operand in op.operands)
        if isinstance(op, arith.XOrIOp) and constant(op.rhs) is True:
            if axes:
                return Text(f"~{left.within(ATOM)}", 8)
            return Text(f"not {left.within(COMPARISON_LEVEL + 1)}", COMPARISON_LEVEL)
        if axes:
            row = NUMPY_SPELLINGS[type(op)]
            return Text(row.array.format(left.within(row.level), right.within(row.level + 1)), row.level)
        sign = {arith.AndIOp: "and", arith.OrIOp: "or", arith.XOrIOp: "!="}[type(op)]
        first = left.within(COMPARISON_LEVEL)
        first = self.bare(op.lhs, first) if type(op.lhs.owner) is type(op) else first
        return Text(f"({first} {sign} {right.within(COMPARISON_LEVEL)})")

    def bare(self, value: SSAValue, code: str) -> str:
        """A condition on single numbers, without the parentheses that it has where it is written out."""
        return code[1:-1] if value.type == i1 and code.startswith("(") and not self.axes(value) else code

    def broadcast(self, op: tile.BroadcastOp) -> Text:
        axes = self.axes_of(op.result)
        shape = "".join(f"{self.size(axis)}, " for axis in axes)
        shape = f"({shape.rstrip(' ') if len(axes) == 1 else shape[:-2]})"
        if not axes:
            return Text(f"{dtype(op.result.type)}({self[op.value].code})")
        if not self.axes(op.value):
            number, type_ = constant(op.value), dtype(op.result.type)
            if number in (0, 1) and copysign(1, number) > 0:
                return Text(f"np.{'ones' if number else 'zeros'}({shape}, {type_})")
            return Text(f"np.full({shape}, {self[op.value].code}, {type_})")
        code = f"np.broadcast_to({self.along(op.value, axes).code}, {shape})"
        return Text(f"{code}.copy()" if self.homes else code)  # it is a view, and what lives in a home is written over

    def flatten(self, op: tile.FlattenOp) -> Text:
        """Blocks laid end to end, of which the new axis has a part; or what is the same for a block, repeated."""
        axes, span, origin = self.axes_of(op.value), self.span(op.new), self[op.origin].within(7)
        value, place = self[op.value], axes.index(op.blocks)
        start, stop = f"{span.start} - {origin}", f"{span.stop} - {origin}"
        if op.within in axes:
            return Text(f"_laid({value.code}, {start}, {stop}{f', axis={place}' if place else ''})")
        axis = f", axis={place}" if len(axes) > 1 else ""
        cut = ", ".join([":"] * place + [f"{start}:{stop}"])
        return Text(f"np.repeat({value.code}, {self.size(op.within)}{axis})[{cut}]")

    def top(self, op: tile.TopOp) -> Text:
        """The helper takes and gives arrays whose last axis is what is ranked, or its places."""
        rest = self.ordered(self.axes(op.result) - {op.at})
        score, present = (self.along(value, [*rest, op.over]) for value in (op.score, op.present))
        shape = ", ".join(map(self.size, (*rest, op.at))) + ("" if rest else ",")
        found = Text(f"_top({score.code}, {present.code}, np.full(({shape}), -1))")
        return self.turned(found, [*rest, op.at], self.axes_of(op.result))

    def dot(self, op: tile.DotOp) -> Text:
        if (factors := self.factors(op)) is not None:
            a, b, axes = factors
            whole = Text(f"{a.within(7)} @ {b.within(8)}", 7)
            plain = op.slices is None and op.streamed is None
            product = whole if plain else Text(self.product(op, a.code, b.code))
            return self.turned(product, axes, self.axes_of(op.result))
        batch, left, right = map(self.ordered, op.sides(self.axes, self.batch))
        if op.where is None or not self.is_matrix_product(op) or not left:
            return self.general_dot(op)
        weights = self.along(op.lhs, [*batch, *left, op.over])
        values = self.along(op.rhs, [*batch, op.over, *right])
        condition = self.along(op.where, [*batch, *left, op.over])
        arguments = [weights.code, values.code, condition.code]
        if op.streamed is not None:
            numbers = f"_like({values.code}, b)" if op.rhs in self.deferred else "b"
            arguments.append(f"lambda a, b: {self.product(op, 'a', numbers)}")
        elif op.slices is not None:
            arguments.append("_by_eights")
        text = Text(f"_dot_where({', '.join(arguments)})")
        return self.turned(text, [*batch, *left, *right], self.axes_of(op.result))

    @staticmethod
    def product(op: tile.DotOp, *operands: str) -> str:
        """The call that multiplies two arrays, with what else it takes."""
        function = "np.matmul" if op.slices is None else "_by_eights"
        if op.streamed is None:
            return f"{function}({', '.join(operands)})"
        a, b, *more = operands
        by = [] if op.slices is None else [function]
        return f"_streamed({', '.join([a, b, str(op.streamed.value.data), *by, *more])})"

    def factors(self, op: tile.DotOp) -> tuple[Text, Text, Sequence[Axis]] | None:
        """What `@` multiplies, and the axes that it gives; None where a product is not for it."""
        if op.where is not None or not self.is_matrix_product(op):
            return None
        batch, left, right = map(self.ordered, op.sides(self.axes, self.batch))
        first, second = (op.lhs, left), (op.rhs, right)
        if left and right and self.ordered([*left, *right])[0] in right:
            first, second = second, first
        a = self.along(first[0], [*batch, *first[1], op.over])
        b = self.along(second[0], [*batch, op.over, *second[1]])
        return a, b, [*batch, *first[1], *second[1]]

    def is_matrix_product(self, op: tile.DotOp) -> bool:
        """Whether operands have at most one axis of their own, along batch axes one, or the second is a vector."""
        batch, left, right = op.sides(self.axes, self.batch)
        if self.axes(op.rhs) == {op.over} and op.where is None:
            return True
        if not all((1 if batch else 0) <= len(own) <= 1 for own in (left, right)):
            return False
        return op.where is None or self.axes(op.where) <= {*batch, *left, op.over}

    def general_dot(self, op: tile.DotOp) -> Text:
        """A product of values with more axes than a matrix has: elementwise, then summed."""
        used = self.axes(op.lhs) | self.axes(op.rhs) | (self.axes(op.where) if op.where is not None else frozenset())
        axes = self.ordered(used)
        product = f"{self.along(op.lhs, axes).within(7)} * {self.along(op.rhs, axes).within(8)}"
        if op.where is not None:
            product = f"np.where({self.along(op.where, axes).code}, {product}, 0)"
        else:
            product = f"({product})"
        return Text(f"{product}.sum(axis={axes.index(op.over)})")

    def masked(self, op: tile.MaskOp) -> str:
        """The statement that masks a part of an array, which is the result already."""
        axes = self.axes_of(op.result)
        part = [op.over if axis is op.whole else axis for axis in axes]
        cuts = [":"] * axes.index(op.whole) + [self.cut(op.over, op.whole)]
        written, hidden = f"{self[op.result].code}[{', '.join(cuts)}]", self.along(op.where, part).code
        return f"np.copyto({written}, {self[op.fill].code}, where={hidden})"

    def cut(self, part: Axis, whole: Axis) -> str:
        """The slice of an array's axis that holds a part of its values."""
        inner, outer = self.span(part), self.span(whole)
        before = "" if outer.start == "0" else f" - {outer.start}"
        start = f"{first} " if (first := self.before(part, whole)) else ""
        stop = "" if inner.stop == outer.stop else f" {inner.stop}{before}"
        return f"{start}:{stop}"

    def before(self, part: Axis, whole: Axis) -> str:
        """How many values of an axis stand before a part of them; nothing where none do."""
        inner, outer = self.span(part), self.span(whole)
        if inner.start == outer.start:
            return ""
        return inner.start if outer.start == "0" else f"{inner.start} - {outer.start}"

    def reduce(self, op: tile.ReduceOp, *more: str) -> Text:
        """A reduction; `more` are arguments that NumPy takes beside those that say what is reduced.

        Those of one kind in a row are one, but for sums: in what order these add up is the IR's to say.
        """
        over, body = [op.over], op.body
        while not isinstance(op, tile.SumOp) and body in self._kept and isinstance(inner := body.owner, type(op)):
            over.append(inner.over)
            body = inner.body
        axes = self.axes_of(body)
        places = sorted(map(axes.index, over))
        arguments = [] if len(places) == len(axes) else [f"axis={places[0] if len(places) == 1 else (*places,)}"]
        monoid = monoid_of(op)
        method = NUMPY_REDUCTIONS[monoid.operation(op.body.type)]
        if isinf(monoid.empty) and not all(map(_has_rows, over)):  # what NumPy does not give for nothing by itself
            limits = f"np.iinfo(np.int64).{'min' if monoid.empty < 0 else 'max'}"
            arguments.append(f"initial={limits if op.body.type == index else literal(monoid.empty, op.body.type)}")
        code = f"{self[body].within(ATOM)}.{method}({', '.join([*arguments, *more])})"
        if len(places) == len(axes) and op.body.type == index:
            code = f"int({code})"
        return Text(code)


def _has_rows(axis: Axis) -> bool:
    """Whether an axis is a program's rows, of which there is always one."""
    op = axis.owner
    assert isinstance(op, tile.RangeOp)
    return isinstance(op.start.owner, tile.ProgramOp) and op.stop is op.start.owner.extent


def _products_with(value: SSAValue) -> int:
    """How many multiplications a streamed product that takes a tile, or what is laid end to end of it, has at least."""
    user = tile.users(value)[0]
    if isinstance(user, tile.FlattenOp):
        return _products_with(user.result)
    assert isinstance(user, tile.DotOp) and user.streamed is not None
    return user.streamed.value.data


def _is_extent(value: SSAValue, users: Sequence[Operation]) -> bool:
    """Whether a number is the end of one axis that begins at 0, and nothing else."""
    axis = users[0] if users else None
    return isinstance(axis, tile.RangeOp) and users == [axis, axis] and constant(axis.start) == 0


def _writes_between(first: Operation, last: Operation) -> bool:
    """Whether a tile is written into a home between two operations of a block: what lay there is gone by the second."""
    op = first.next_op
    while op is not None and op is not last:
        if any(isinstance(inner, tile.IntoOp) for inner in op.walk()):
            return True
        op = op.next_op
    return False


def _changed_between(first: Operation, last: Operation) -> set[SSAValue]:
    """The values whose arrays a mask changes, or whose names a choice gives to others, between two operations."""
    changed: set[SSAValue] = set()
    op = first.next_op
    while op is not None and op is not last:
        for inner in op.walk() if isinstance(op, tile.FusedOp) else (op,):
            if isinstance(inner, tile.MaskOp):
                changed.add(inner.value)
        if isinstance(op, scf.IfOp):
            changed.update(operand for region in op.regions for operand in list(region.block.ops)[-1].operands)
        op = op.next_op
    return changed


def literal(value: int | float | bool | None, type_: Attribute) -> str:
    """A number as Python writes it, floats to the digits that tell the numbers of their type apart."""
    if isinstance(value, float):
        text = repr(value) if type_ == f64 else str(np.float32(value))
        if text.lstrip("-") in ("inf", "nan"):
            return text.replace("inf", "np.inf").replace("nan", "np.nan")
        return text if any(c in text for c in ".e") else f"{text}.0"
    return str(value)
