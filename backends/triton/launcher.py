"""The function that a user of a generated file calls: shapes to dims, grids from program variables, launches."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from attndsl.backends.dims import dim_statements
from attndsl.backends.names import Names
from attndsl.backends.triton.access import DECODED
from attndsl.backends.triton.facts import is_nonnegative
from attndsl.backends.triton.parameters import Parameters, is_launch_time
from attndsl.backends.writer import Writer
from attndsl.ir import spec, tile
from attndsl.ir.meaning import predicate
from attndsl.ir.rewrite import constant, number
from attndsl.ir.xdsl import Operation, SSAValue, arith
from attndsl.python_names import python_name

INFIX: dict[type[Operation], str] = {
    arith.AddiOp: "+",
    arith.SubiOp: "-",
    arith.MuliOp: "*",
    arith.FloorDivSIOp: "//",
    spec.ModOp: "%",
    arith.AndIOp: "&",
    arith.OrIOp: "|",
    arith.XOrIOp: "^",
    arith.ShLIOp: "<<",
    arith.ShRSIOp: ">>",
}
CALLS: dict[type[Operation], str] = {arith.MinSIOp: "min", arith.MaxSIOp: "max"}
COMPARISONS = {"eq": "==", "ne": "!=", "slt": "<", "sle": "<=", "sgt": ">", "sge": ">="}


def host_text(value: SSAValue, nested: bool = False) -> str:
    """An integer or condition of dims and parameters, as Python computes it."""
    known = constant(value)
    if known is not None:
        return str(known)
    op = value.owner
    assert isinstance(op, Operation) and is_launch_time(value), "the size of a launch reads no data"
    match op:
        case spec.DimOp():
            return python_name(op.dim.data)
        case spec.ParamOp():
            return python_name(op.param.data)
        case tile.PaddedOp():
            return f"max(16, triton.next_power_of_2({host_text(op.size)}))"
        case arith.SelectOp():
            condition, then, otherwise = (host_text(v, nested=True) for v in op.operands)
            return f"({then} if {condition} else {otherwise})"
        case arith.CmpiOp():
            sign = COMPARISONS[predicate(op)]
        case _ if type(op) in CALLS:
            return f"{CALLS[type(op)]}({', '.join(map(host_text, op.operands))})"
        case _:
            sign = INFIX[type(op)]
    left, right = (host_text(v, nested=True) for v in op.operands)
    return f"({left} {sign} {right})" if nested else f"{left} {sign} {right}"


def host_value(size: SSAValue, dims: Mapping[str, int]) -> int:
    """What `tile.padded` of an integer of dims is, where those have these extents."""
    op = size.owner
    assert isinstance(op, tile.PaddedOp)
    extents = {python_name(dim): extent for dim, extent in dims.items()}
    # The text is our own, of dims and arithmetic alone.
    return tile.padded(eval(host_text(op.size), {"__builtins__": {}, "min": min, "max": max}, extents))


def count_text(program: tile.ProgramOp) -> str:
    """How many values a program variable has, no more than `bound`, as Python computes it."""
    limit = program.bound or program.extent
    text = host_text(limit)
    if not is_nonnegative(limit):
        text = f"max(0, {text})"
    return text if constant(program.step) == 1 else f"triton.cdiv({text}, {host_text(program.step)})"


class Launcher:
    """Writes the function for the kernels of one spec."""

    def __init__(
        self, name: str, tensors: Sequence[spec.TensorOp], params: Sequence[spec.ParameterOp], out: Writer
    ) -> None:
        self.name = name
        self.tensors = tensors
        self.params = params
        self.out = out

    def write(self, kernels: Iterable[tuple[str, tile.KernelOp, Parameters]]) -> None:
        """The whole function; each kernel comes with its name."""
        kernels = list(kernels)
        dims = {op.dim.data for _, kernel, _ in kernels for op in kernel.walk() if isinstance(op, spec.DimOp)}
        arguments = [python_name(t.sym_name.data) for t in self.tensors]
        keywords = ["*", *map(_keyword, self.params)] if self.params else []
        taken_names = [*arguments, *(python_name(p.sym_name.data) for p in self.params), *map(python_name, dims)]
        self.out.line(f"def {self.name}({', '.join([*arguments, *keywords])}):")
        with self.out.indented():
            self._docstring()
            for statement in dim_statements(self.tensors, dims):
                self.out.line(statement)
            for tensor in self.tensors:
                if tensor.role.data == "output":
                    self.out.line(f"{python_name(tensor.sym_name.data)}.zero_()  # what no program writes is 0")
            for name, kernel, taken in kernels:
                self._launch(name, kernel, taken, Names([name, *taken_names]))

    def _docstring(self) -> None:
        self.out.line('"""Writes the outputs of the spec; allocate them before.')
        self.out.line("")
        for tensor in self.tensors:
            shape = ", ".join(e.data for e in tensor.extents)
            self.out.line(f"{tensor.sym_name.data}: {tensor.role.data}, {tensor.element.data}[{shape}]")
        self.out.line('"""')

    def _launch(self, name: str, kernel: tile.KernelOp, taken: Parameters, names: Names) -> None:
        programs = [op for op in kernel.walk() if isinstance(op, tile.ProgramOp)]
        counts = {program: names.fresh(f"n_{program.variable.data}") for program in programs}
        for program, count in counts.items():
            self.out.line(f"{count} = {count_text(program)}")
        # One axis of the grid: the others end at 65535.
        grid = " * ".join(counts.values()) or "1"
        self.out.line(f"{name}[({grid},)](")
        with self.out.indented():
            for tensor in taken.tensors:
                self.out.line(f"{_pointer(tensor)}, *{python_name(tensor.sym_name.data)}.stride(),")
            numbers = [python_name(name) for name in (*taken.dims, *(op.param.data for op in taken.params))]
            numbers += [counts[op] for op in taken.counts]
            if numbers:
                self.out.line(f"{', '.join(numbers)},")
            sizes = [f"{python_name(dim)}={python_name(dim)}" for dim in taken.static]
            for text in (*sizes, *(f"{size.name_hint}={host_text(size)}" for size in taken.sizes)):
                self.out.line(f"{text},")
            self.out.line("num_warps=4, enable_fp_fusion=True,")
        self.out.line(")")


def _keyword(param: spec.ParameterOp) -> str:
    """A parameter of the function, with the default that the spec gives it."""
    name = python_name(param.sym_name.data)
    return name if param.default is None else f"{name}={_literal(number(param.default))}"


def _literal(value: int | float | bool) -> str:
    """A number as Python writes it, floats with no more digits than tell f32 numbers apart."""
    if not isinstance(value, float):
        return str(value)
    return str(np.float32(value)) if math.isfinite(value) else f'float("{value}")'


def _pointer(tensor: spec.TensorOp) -> str:
    name = python_name(tensor.sym_name.data)
    return f"{name}.view(torch.uint8)" if tensor.element.data in DECODED else name
