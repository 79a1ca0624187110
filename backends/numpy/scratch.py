"""Homes as NumPy arrays that are made once: tiles are written into parts of them, with `out=` where NumPy has it."""

from __future__ import annotations

from collections.abc import Iterator

from attndsl.backends.numpy.access import NumPyAccess
from attndsl.backends.numpy.expressions import Axis, NumPyExpressions, dtype
from attndsl.backends.numpy.pointwise import COMPARING, COMPARISON_SIGNS, POINTWISE
from attndsl.backends.text import Text
from attndsl.ir import tile
from attndsl.ir.meaning import predicate
from attndsl.ir.rewrite import number
from attndsl.ir.xdsl import Operation, SSAValue, arith


class Scratch:
    """Spells homes, and the operations whose tiles live there."""

    def __init__(self, text: NumPyExpressions, access: NumPyAccess) -> None:
        self.text = text
        self.access = access

    def declaration(self, op: tile.HomeOp) -> str:
        """The statement that makes the array of a home: its stages, if it has any, are the first axis."""
        name = self.text.homes[op.sym_name.data] = self.text.names.fresh(op.sym_name.data)
        sizes = [self.text.number(size) for size in op.sizes]
        if op.stages is not None:
            sizes.insert(0, str(number(op.stages)))
        return f"{name} = np.empty(({', '.join(sizes)}{',' if len(sizes) == 1 else ''}), {dtype(op.element)})"

    def statements(self, op: Operation, into: tile.IntoOp) -> Iterator[str]:
        """An operation whose tile lives in a home. Its name stands for the part of the array that the tile fills."""
        name, part = self.text.names[into.value], self.part(into)
        written = self.written(op, part)
        if written is not None:
            yield f"{name} = {written}"
            return
        yield f"{name} = {part}"
        yield f"np.copyto({name}, {self.copied(op)})"

    def part(self, into: tile.IntoOp) -> str:
        """The part of a home that a tile fills, with its axes in the order that all arrays keep."""
        axes = [self.text[into.stage].code] if into.stage is not None else []
        axes += [self.axis(axis) for axis in into.axes]
        while axes and axes[-1] == ":":
            axes.pop()
        name = self.text.homes[into.home.string_value()]
        part = Text(f"{name}[{', '.join(axes)}]" if axes else name)
        return self.text.turned(part, into.axes, self.text.axes_of(into.value)).code

    def axis(self, axis: Axis) -> str:
        """The part of an axis of a home that an axis fills: all of it, unless something cuts the axis short."""
        return f":{self.text.size(axis)}" if self.text.span(axis).cut else ":"

    def written(self, op: Operation, out: str) -> str | None:
        """An operation that writes into an array by itself, None where NumPy has none."""
        match op:
            case tile.ReduceOp():
                return self.text.reduce(op, f"out={out}").code
            case tile.DotOp():
                factors = self.text.factors(op)
                if factors is None or tuple(factors[2]) != self.text.axes_of(op.result):
                    return None
                return f"np.matmul({factors[0].code}, {factors[1].code}, out={out})"
            case arith.CmpiOp() | arith.CmpfOp():
                function = COMPARING[COMPARISON_SIGNS[predicate(op)]]
            case _ if type(op) in POINTWISE and (ufunc := POINTWISE[type(op)].ufunc) is not None:
                function = ufunc
            case _:
                return None
        return f"{function}({', '.join([*self.text.operands(op, 0), f'out={out}'])})"

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
