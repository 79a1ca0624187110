"""Homes as NumPy arrays that are made once: tiles are written into parts of them, with `out=` where NumPy has it."""

from __future__ import annotations

from collections.abc import Iterator

from attndsl.backends.numpy.access import NumPyAccess
from attndsl.backends.numpy.expressions import NumPyExpressions, dtype
from attndsl.backends.numpy.pointwise import COMPARING, NUMPY_SPELLINGS
from attndsl.backends.text import ATOM, COMPARISON_SIGNS, Text
from attndsl.ir import tile
from attndsl.ir.meaning import predicate
from attndsl.ir.rewrite import number_in
from attndsl.ir.xdsl import Block, Operation, SSAValue, arith


class Scratch:
    """Spells homes, and the operations whose tiles live there."""

    def __init__(self, text: NumPyExpressions, access: NumPyAccess) -> None:
        self.text = text
        self.access = access
        self._names: dict[tuple[Block | None, str], str] = {}

    def declaration(self, op: tile.HomeOp) -> str:
        """The statement that makes the array of a home: its stages, if it has any, are the first axis."""
        name = self.text.homes[op.sym_name.data] = self.text.names.fresh(op.sym_name.data)
        sizes = [self.text.scalar(size) for size in op.sizes]
        if op.stages is not None:
            sizes.insert(0, str(number_in(op.stages)))
        return f"{name} = np.empty(({', '.join(sizes)}{',' if len(sizes) == 1 else ''}), {dtype(op.element)})"

    def statements(self, op: Operation, into: tile.IntoOp) -> Iterator[str]:
        """An operation whose tile lives in a home: it goes by the name of the part of the array that it fills."""
        yield from self.declared(into, into.parent)
        name = self.text.names[into.value]
        yield self.written(op, name) or f"np.copyto({name}, {self.copied(op)})"

    def declared(self, into: tile.IntoOp, block: Block | None) -> Iterator[str]:
        """Lets a tile go by the name that the part of its home has in a block, or gets there."""
        part = self.part(into)
        around = block.parent_op() if block is not None else None
        if isinstance(around, tile.FusedOp) and (around.parent, part) in self._names:
            block = around.parent
        place = (block, part)
        if place not in self._names:
            name = self._names[place] = part if part.isidentifier() else self.text.names.fresh(_hint(into))
            if name != part:
                yield f"{name} = {part}"
        self.text.names.bind(into.value, self._names[place])

    def part(self, into: tile.IntoOp) -> str:
        """The array of a tile in its home: all of that, or, where something cuts an axis short, one in its memory.

        Elements lie side by side, as in an array of the tile's own: along rows with gaps NumPy takes longer.
        """
        name = self.text.homes[into.home.string_value()]
        part = name if into.stage is None else f"{name}[{self.text[into.stage].code}]"
        if any(self.text.span(axis).cut for axis in into.axes):
            sizes = ", ".join(map(self.text.size, into.axes))
            part = f"np.ndarray(({sizes}{',' if len(into.axes) == 1 else ''}), {dtype(into.value.type)}, {part})"
        return self.text.turned(Text(part), into.axes, self.text.axes_of(into.value)).code

    def written(self, op: Operation, out: str) -> str | None:
        """An operation that writes into an array by itself, None where NumPy has none."""
        match op:
            case tile.ReduceOp():
                return self.text.reduce(op, f"out={out}").code
            case tile.DotOp():
                factors = self.text.factors(op)
                if factors is None or tuple(factors[2]) != self.text.axes_of(op.result):
                    return None
                return self.text.product(op, factors[0].code, factors[1].code, f"out={out}")
            case arith.SelectOp():
                return self.selected(op, out)
            case arith.CmpiOp() | arith.CmpfOp():
                function = COMPARING[COMPARISON_SIGNS[predicate(op)]]
            case _ if type(op) in NUMPY_SPELLINGS and (ufunc := NUMPY_SPELLINGS[type(op)].ufunc) is not None:
                function = ufunc
            case _:
                return None
        operands = self.text.operands(op, 0)
        row = NUMPY_SPELLINGS.get(type(op))
        if row is not None and row.level and operands[0] == out and len(operands) == 2:
            return f"{out} {row.sign}= {operands[1]}"
        return f"{function}({', '.join([*operands, f'out={out}'])})"

    def selected(self, op: arith.SelectOp, out: str) -> str | None:
        """A choice between an array that is there already and what is written over it."""
        axes = self.text.axes_of(op.result)
        condition, first, second = (self.text.along(operand, axes) for operand in op.operands)
        if second.code == out:
            return f"np.copyto({out}, {first.code}, where={condition.code})"
        if first.code == out:
            no = "~" if self.text.axes(op.cond) else "not "
            return f"np.copyto({out}, {second.code}, where={no}{condition.within(ATOM)})"
        return None

    def copied(self, op: Operation) -> str:
        """What is copied into a home."""
        if isinstance(op, tile.LoadOp):
            return self.access.load(op).code
        if isinstance(op, tile.BroadcastOp):
            return self.broadcast(op.value, op.result)
        return self.text.make(op).code

    def broadcast(self, value: SSAValue, like: SSAValue) -> str:
        """A value that NumPy broadcasts when it copies it."""
        return self.text.along(value, self.text.axes_of(like)).code


def _hint(into: tile.IntoOp) -> str:
    """What the tiles that a block writes into a home are called: as the first of them that has a name."""
    block = into.parent
    assert block is not None
    alike = [op.value.name_hint for op in block.ops if isinstance(op, tile.IntoOp) and op.home == into.home]
    return next(filter(None, alike), into.home.string_value())
