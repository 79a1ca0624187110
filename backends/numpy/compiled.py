"""What is fused as functions of plain loops, which Numba compiles: an element is read once, and stored if it is kept.

The loops have the axes of a tile, from the outermost to the innermost, as they lie in memory. Their statements are the
operations of the IR, one a line, on single numbers: a compiler does several elements at once. Sums are of `PART` terms
each, and then of those: one that goes on over thousands of terms forgets what is small beside it.
"""

from __future__ import annotations

from collections.abc import Sequence

from attndsl.backends.names import Names
from attndsl.backends.numpy.expressions import NumPyExpressions, dtype, literal
from attndsl.backends.numpy.pointwise import NUMPY_SPELLINGS
from attndsl.backends.numpy.writable import mask_of
from attndsl.backends.text import COMPARISON_SIGNS
from attndsl.backends.writer import Writer
from attndsl.ir import spec, tile
from attndsl.ir.meaning import predicate
from attndsl.ir.rewrite import constant, uniform
from attndsl.ir.traits import Axis
from attndsl.ir.xdsl import Operation, SSAValue, arith, i1, index, math

PART = 512
"""How many terms along an axis are summed before their sum is added to that of the others."""

COMPILED_SPELLINGS: dict[type[Operation], str] = {
    **{kind: row.scalar for kind, row in NUMPY_SPELLINGS.items()},
    math.ExpOp: "_exp({0})",
}
"""How an operation on single numbers is spelled where Numba compiles it."""


class CompiledFunctions:
    """The functions of a file, each once; `source` is the text of the spec that comments quote."""

    def __init__(self, text: NumPyExpressions, source: str) -> None:
        self._text = text
        self._out = Writer(source)
        self._names: dict[tuple[str, ...], str] = {}

    def source(self) -> str:
        """All functions so far."""
        return f"{self._out.text()}\n\n" if self._names else ""

    def call(self, op: tile.FusedOp) -> str:
        """The expression that computes what an operation fuses: it gives what has no home, and writes what has one."""
        function = _Function(self._text, op)
        lines = (*function.lines(),)
        if lines not in self._names:
            name = self._names[lines] = f"_fused_{len(self._names) + 1}" if self._names else "_fused"
            if len(self._names) > 1:
                self._out.line("")
                self._out.line("")
            self._out.line("@_compiled")
            self._out.line(f"def {name}({', '.join(function.arguments.values())}):")
            with self._out.indented():
                self._out.at(op.location)
                for line in lines:
                    self._out.line(line)
        return f"{self._names[lines]}({', '.join(function.arguments)})"


class _Function:
    """The loops of one operation. `arguments` has the parameter for each expression that the caller hands in."""

    def __init__(self, text: NumPyExpressions, op: tile.FusedOp) -> None:
        self.text = text
        self.names = Names(("np",))
        self.arguments: dict[str, str] = {}
        self.results = list(op.end.values)
        self.mask = mask_of(op.res[0]) if op.res else None
        self.inner = [each for each in op.body.block.ops if not isinstance(each, tile.IntoOp | tile.YieldOp)]
        used = dict.fromkeys(value for each in self.inner for value in computed_with(each))
        self.given = [value for value in used if value.owner not in self.inner and uniform(value) is None]
        homes = [value for value in self.results if tile.into_of(value) is not None]
        self.arrays = {value: self.parameter(value) for value in (*self.given, *homes)}
        axes = text.ordered(frozenset[Axis]().union(*map(text.axes, self.arrays)))
        self.axes = [*dict.fromkeys(map(self.walked, axes))]
        self.sizes = {axis: self.size(axis) for axis in self.axes}
        self.places = {axis: self.names.fresh(axis.name_hint or "n") for axis in self.axes}
        if self.mask is not None:
            self.arrays[self.mask.result] = self.arrays[self.mask.value]
            self.places[self.mask.whole] = self.place(self.mask)
        self.numbers: dict[SSAValue, str] = {}

    def lines(self) -> list[str]:
        """The statements, indented."""
        folds = [op for op in self.inner if _folds(op)]
        summed = min((self.axes.index(op.over) for op in folds), default=len(self.axes))
        loops = [f"for {self.places[axis]} in range({self.sizes[axis]}):" for axis in self.axes]
        if folds:
            loops[summed : summed + 1] = self.in_parts(self.axes[summed])
        at: list[list[str]] = [[] for _ in range(len(loops) + 1)]
        for value in self.given:
            own = [*map(self.walked, self.text.axes_of(value))]
            if read := self.read(value):
                place = self.axes.index(own[-1]) + 1 if own else 0
                at[place + (place > summed)].append(read)
        made = [value for value in self.results if value not in self.arrays]
        for value in made:
            self.arrays[value] = self.names.fresh(f"{value.name_hint or 't'}s")
            at[0].append(f"{self.arrays[value]} = {self.made(value, self.text.axes_of(value))}")
        behind: list[str] = []  # what follows the loop over a part
        sums: dict[SSAValue, str] = {}
        for op in folds:
            result = op.results[0]
            sums[result] = self.element(result)
            if self.axes.index(op.over) == summed:
                axes = self.text.axes_of(result)
                inner = [axis for axis in axes if self.axes.index(axis) > summed]
                part = self.names.fresh("part")
                at[summed + 1].append(f"{part} = {self.made(result, inner)}")
                sums[result] = self.subscripted(part, inner)
                behind.append(f"{self.subscripted(self.arrays[result], axes[: -len(inner)])} += {part}")
        for op in self.inner:
            result = op.results[0]
            if _folds(op):
                at[-1].append(f"{sums[result]} += {self.term(op)}")
            elif uniform(result) is None:
                name = self.names.fresh(result.name_hint or "t")
                at[-1].append(f"{name} = {self.spelled(op)}")
                self.numbers[result] = name
        at[-1] += [f"{self.element(v)} = {self.numbers[v]}" for v in self.results if not _folds(v.owner)]
        lines = []
        for depth, (statements, loop) in enumerate(zip(at, [*loops, None], strict=True)):
            lines += [f"{'    ' * depth}{statement}" for statement in [*statements, *([loop] if loop else [])]]
        lines += [f"{'    ' * (summed + 1)}{statement}" for statement in behind]
        return lines + ([f"return {', '.join(self.arrays[value] for value in made)}"] if made else [])

    def in_parts(self, axis: Axis) -> list[str]:
        """The loops over the parts of an axis, and over one of them."""
        start, size = self.names.fresh("start"), self.sizes[axis]
        stop = f"min({start} + {PART}, {size})"
        return [f"for {start} in range(0, {size}, {PART}):", f"for {self.places[axis]} in range({start}, {stop}):"]

    def made(self, value: SSAValue, axes: Sequence[Axis]) -> str:
        """The expression of an array for a result, or for a part of a sum."""
        sizes = [self.sizes[axis] for axis in axes]
        shape = f"({', '.join(sizes)})" if len(sizes) > 1 else sizes[0]
        return f"np.{'zeros' if _folds(value.owner) else 'empty'}({shape}, {dtype(value.type)})"

    def walked(self, axis: Axis) -> Axis:
        """The axis of the loop that walks an axis: of what is masked it walks a part."""
        return self.mask.over if self.mask is not None and axis is self.mask.whole else axis

    def place(self, mask: tile.MaskOp) -> str:
        """The place along the whole axis of what is masked: it is handed in as a whole, since a part of it has gaps."""
        before = self.text.before(mask.over, mask.whole)
        place = self.places[mask.over]
        return f"{self.given_as(before, 'before')} + {place}" if before else place

    def parameter(self, value: SSAValue) -> str:
        """The parameter for a value, or for what lies where that is to lie: the caller has one name for both.

        What is masked goes by the name of what becomes of it: the caller copies it first where it is still needed.
        """
        named = self.mask.result if self.mask is not None and value is self.mask.value else value
        lives = named is not value or tile.into_of(value) is not None
        hint = value.name_hint or "t"
        code = self.text.names[named] if lives else self.text[value].code
        return self.given_as(code, f"{hint}s" if self.text.axes(value) else hint)

    def given_as(self, code: str, hint: str) -> str:
        """The parameter for an expression of the caller."""
        if code not in self.arguments:
            self.arguments[code] = self.names.fresh(hint)
        return self.arguments[code]

    def size(self, axis: Axis) -> str:
        """How many values an axis has."""
        value = next(value for value in self.arrays if axis in self.text.axes(value))
        return f"{self.arrays[value]}.shape[{self.text.axes_of(value).index(axis)}]"

    def element(self, value: SSAValue) -> str:
        """The place of a number in its array."""
        return self.subscripted(self.arrays[value], self.text.axes_of(value))

    def subscripted(self, array: str, axes: Sequence[Axis]) -> str:
        """What an array has at the places of axes."""
        return f"{array}[{', '.join(self.places[axis] for axis in axes)}]" if axes else array

    def read(self, value: SSAValue) -> str | None:
        """The statement that gives a number a name, in the type that the IR gives it; None where it has one."""
        code = self.element(value) if self.text.axes(value) else self.arrays[value]
        if value.type == index and (value in self.text.kept):
            code = f"np.int64({code})"
        elif value.type not in (index, i1) and not self.text.axes(value):
            code = f"np.float32({code})"
        self.numbers[value] = code
        if code == self.arrays[value]:
            return None
        self.numbers[value] = self.names.fresh(value.name_hint or "t")
        return f"{self.numbers[value]} = {code}"

    def operand(self, value: SSAValue) -> str:
        """A number as an operation takes it."""
        number = uniform(value)
        if number is None:
            return self.numbers[value]
        text = literal(number, value.type)
        return text if value.type in (index, i1) else f"np.float32({text})"

    def spelled(self, op: Operation) -> str:
        """The expression of a pointwise operation."""
        operands = [*map(self.operand, computed_with(op))]
        match op:
            case arith.CmpiOp() | arith.CmpfOp():
                return f"{operands[0]} {COMPARISON_SIGNS[predicate(op)]} {operands[1]}"
            case tile.MaskOp():
                return "{1} if {2} else {0}".format(*operands)
            case spec.ToFloatOp():
                return f"np.float32({operands[0]})"
            case arith.XOrIOp() if constant(op.rhs) is True:
                return f"not {operands[0]}"
        return COMPILED_SPELLINGS[type(op)].format(*operands)

    def term(self, op: Operation) -> str:
        """What is added to a sum."""
        return " * ".join(self.operand(value) for value in computed_with(op) if uniform(value) != 1.0)


def computed_with(op: Operation) -> Sequence[SSAValue]:
    """The operands whose numbers an operation computes with: none is the axis of a sum."""
    match op:
        case tile.SumOp():
            return [op.body]
        case tile.DotOp():
            return [op.lhs, op.rhs]
        case tile.BroadcastOp():
            return [op.value]
        case tile.MaskOp():
            return [op.value, op.fill, op.where]
    return op.operands


def _folds(op: object) -> bool:
    return isinstance(op, tile.SumOp | tile.DotOp)
