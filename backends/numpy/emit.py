"""`tile` IR to a NumPy file.

An axis is a slice where its values go straight into a subscript, an `np.arange` where they are computed with; programs
and loops are `for` statements. The file's one function has the spec's name and takes its inputs, then its outputs,
which the caller has allocated and which it writes whole. Where threads may share programs, their `for` statements stand
in a function in it, and whoever calls the file's may hand in one that calls that in several threads.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from attndsl.backends.branches import write_branches
from attndsl.backends.dims import dim_statements
from attndsl.backends.names import Names, function_name, python_text, spec_names
from attndsl.backends.numpy.access import NumPyAccess
from attndsl.backends.numpy.compiled import CompiledFunctions
from attndsl.backends.numpy.expressions import NumPyExpressions, literal
from attndsl.backends.numpy.legal import LEGAL
from attndsl.backends.numpy.prelude import PRELUDE
from attndsl.backends.numpy.scratch import Scratch
from attndsl.backends.numpy.writable import is_last_use, is_writable, mask_of
from attndsl.backends.text import ATOM, helpers_called
from attndsl.backends.writer import Writer
from attndsl.calling import Arguments
from attndsl.ir import spec, tile
from attndsl.ir.rewrite import number_in
from attndsl.ir.statements import of_kind, operations
from attndsl.ir.workspaces import left_by_several
from attndsl.ir.xdsl import Block, ModuleOp, Operation, SSAValue, StringAttr, arith, i1, scf
from attndsl.python_names import python_name
from attndsl.storage import ELEMENTS

BITS = {"bf16": "uint16", "f8e4m3": "uint8", "f8e5m2": "uint8"}
"""Element types that NumPy lacks, and the type of the bit patterns that stand for them in arrays."""

ARRAYS = {element: str(row.dtype) for element, row in ELEMENTS.items()}
"""The types of arrays that workspaces are."""


def emit(module: ModuleOp, source: str = "") -> str:
    """The text of a NumPy file for a module at the `tile` level.

    `source` is the text of the spec, whose lines the comments quote. Raises IllegalModule.
    """
    LEGAL.require(module)
    kernels = [op for op in module.body.block.ops if isinstance(op, tile.KernelOp)]
    params = [op for op in module.body.block.ops if isinstance(op, spec.ParameterOp)]
    workspaces = [op for op in module.body.block.ops if isinstance(op, spec.TensorOp) and op.role.data == "workspace"]
    return _Emitter(spec.arguments(module), workspaces, params, Names(spec_names(module)), source).file(kernels)


class _Emitter:
    def __init__(
        self,
        tensors: Arguments[spec.TensorOp],
        workspaces: list[spec.TensorOp],
        params: list[spec.ParameterOp],
        names: Names,
        source: str,
    ) -> None:
        self.tensors = tensors
        self.workspaces = workspaces
        self.params = params
        self.out = Writer(source)
        self.names = names
        self.text = NumPyExpressions(names)
        self.access = NumPyAccess([*tensors, *workspaces], self.text)
        self.scratch = Scratch(self.text, self.access)
        self.compiled = CompiledFunctions(self.text, source)
        self.shared: _Shared | None = None
        self.shared_workspaces: set[str] = set()

    # --- the file

    def file(self, kernels: list[tile.KernelOp]) -> str:
        name = function_name([kernel.entry.data for kernel in kernels])
        ops = [op for kernel in kernels for op in operations(kernel)]
        arguments = [python_name(t.sym_name.data) for t in self.tensors]
        conditions = [each for kernel in kernels for each in (kernel.when, kernel.unless) if each is not None]
        dims = {op.dim.data for op in ops if isinstance(op, spec.DimOp)}
        dims = dims.union(*(each.dims for each in conditions), *(each.extents.dims for each in self.workspaces))
        keywords = [*map(self.keyword, self.params)]
        shared = [op for op in ops if isinstance(op, tile.ThreadsOp)]
        alone = "_alone_in_steps" if any(op.steps is not None for op in shared) else "_alone"
        keywords += [f"_run={alone}"] if shared else []
        keywords = ["*", *keywords] if keywords else []
        self.out.line('@np.errstate(all="ignore")')
        signature = f"def {name}({', '.join([*arguments, *keywords])}):"
        self.out.line(signature)
        with self.out.indented():
            self.docstring(name)
            described = len(self.out.text())
            for statement in dim_statements(self.tensors, sorted(dims)):
                self.out.line(statement)
            for tensor in self.tensors:
                if tensor.partial is not None:
                    self.out.line(f"{python_name(tensor.sym_name.data)}[...] = 0  # what no row writes is 0")
            self.shared_workspaces = left_by_several(kernels)
            for workspace in self.workspaces:
                if workspace.sym_name.data in self.shared_workspaces:
                    self.allocate(workspace)
            write_branches(self.out, kernels, lambda kernel: kernel, self.kernels)
        text = self.out.text()
        functions = self.compiled.source()
        return self.header(name, functions + text[described:] + signature) + functions + text

    @staticmethod
    def keyword(param: spec.ParameterOp) -> str:
        """A parameter of the function, with the default that the spec gives it."""
        name = python_name(param.sym_name.data)
        return name if param.default is None else f"{name}={literal(number_in(param.default), param.type)}"

    @staticmethod
    def header(name: str, kernels: str) -> str:
        called, more = list[str](), helpers_called(PRELUDE, kernels)
        while len(more) > len(called):
            called, more = more, helpers_called(PRELUDE, "\n".join([kernels, *(PRELUDE[helper] for helper in more)]))
        helpers = "\n".join(PRELUDE[helper] for helper in sorted(called))
        needs, imports = "Needs NumPy alone.", "import numpy as np\n"
        if "_has_numba" in called:
            needs, imports = "Needs NumPy alone, and is faster with Numba.", f"from functools import cache\n\n{imports}"
        return f'"""{name}, compiled by attndsl. {needs}"""\n\n{imports}{helpers}\n\n'

    def docstring(self, name: str) -> None:
        self.out.line('"""Writes the outputs of the spec; allocate them before.')
        self.out.line("")
        for tensor in self.tensors:
            element = tensor.element.data
            bits = f", as {BITS[element]} bits" if element in BITS else ""
            shape = ", ".join(map(python_text, tensor.shape))
            self.out.line(f"{tensor.sym_name.data}: {tensor.role.data}, {element}[{shape}]{bits}")
        self.out.line('"""')

    # --- statements

    def kernels(self, kernels: list[tile.KernelOp]) -> None:
        for kernel in kernels:
            self.kernel(kernel)

    def kernel(self, kernel: tile.KernelOp) -> None:
        self.out.line("")
        stored = {op.tensor.string_value() for op in of_kind(kernel, tile.StoreOp)}
        for workspace in self.workspaces:
            if workspace.sym_name.data in stored - self.shared_workspaces:
                self.allocate(workspace)
        self.names.begin_scope()
        self.text.arrange(kernel)
        self.shared = _Shared.of(kernel, self.names)
        with self.out.saved_indentation():
            self.block(kernel.body.block)
        if self.shared is not None:
            self.out.gap()
            worth = self.condition(self.shared.where, self.text[self.shared.where].code)
            self.out.line(f"_run({self.shared.function}, {worth})")

    def allocate(self, workspace: spec.TensorOp) -> None:
        shape = "".join(f"{python_text(extent)}, " for extent in workspace.shape)
        shape = shape.rstrip(" ") if len(workspace.shape) == 1 else shape[:-2]
        made = "empty" if workspace.partial is None else "zeros"
        dtype = ARRAYS[workspace.element.data]
        self.out.line(f"{python_name(workspace.sym_name.data)} = np.{made}(({shape}), np.{dtype})")

    def block(self, block: Block) -> None:
        for op in block.ops:
            self.out.at(op.location)
            self.statement(op)

    def statement(self, op: Operation) -> None:
        match op:
            case tile.ThreadsOp():
                assert self.shared is not None
                self.out.gap()
                self.out.line(f"def {self.shared.function}({self.shared.mine}):")
                self.out.indent()
            case tile.ProgramOp():
                self.program(op)
            case tile.RangeOp():
                self.range(op)
            case tile.LoopOp():
                self.loop(op)
            case tile.FusedOp():
                self.fused(op)
            case scf.IfOp():
                self.choice(op)
            case tile.MaskOp():
                self.mask(op)
            case tile.StoreOp():
                self.store(op)
            case tile.HomeOp():
                self.out.line(self.scratch.declaration(op))
            case tile.OuterLoopOp() | tile.YieldOp() | scf.YieldOp() | spec.AssumeOp():
                pass
            case _ if isinstance(op, tile.STATEMENTS):
                pass
            case spec.DimOp():
                self.names.bind(op.result, python_name(op.dim.data))
            case spec.ParamOp():
                self.text.param(op)
            case _:
                self.value(op)

    def program(self, op: tile.ProgramOp) -> None:
        start, extent, step = self.names[op.result], self.text.scalar(op.extent), self.text.scalar(op.step)
        span = f"range({extent})" if step == "1" else f"range(0, {extent}, {step})"
        if self.shared is not None and op.variable == self.shared.variable:
            span = f"{self.shared.mine}({span})"
        if self.shared is not None and op.variable == self.shared.steps:
            span = f"{self.shared.mine}.steps({span})"
        self.out.line(f"for {start} in {span}:")
        self.out.indent()

    def value(self, op: Operation) -> None:
        """An operation with one result: kept for its one use where it reads better there, else given a name."""
        result = op.results[0]
        if isinstance(op, arith.AddiOp | arith.SubiOp) and self.access.is_range_only(op):
            return
        if self.text.homes and (into := tile.into_of(result)) is not None:
            for statement in self.scratch.statements(op, into):
                self.out.line(statement)
            return
        text = self.access.load(op) if isinstance(op, tile.LoadOp) else self.text.make(op)
        alike = isinstance(op, spec.ToFloatOp) and result in self.text.kept
        if alike or isinstance(op, arith.ConstantOp) or self.text.inlines(result, text):
            self.text.keep(result, text)
        else:
            if result.name_hint is None and result.type == i1 and result not in self.names:
                self.names.bind(result, self.names.fresh("seen"))
            self.out.line(f"{self.names[result]} = {self.condition(result, text.code)}")

    def condition(self, value: SSAValue, code: str) -> str:
        """The expression of a value that stands alone, where conditions need no parentheses."""
        return self.text.bare(value, code) if isinstance(value.owner, arith.AndIOp | arith.OrIOp) else code

    def range(self, op: tile.RangeOp) -> None:
        """The end of an axis, and its values where something other than a subscript needs them."""
        span = self.text.span(op.result)
        if span.definition:
            self.out.line(span.definition)
        if self.access.needs_values(op):
            self.out.line(f"{self.names[op.result]} = np.arange({span.start}, {span.stop})")

    def loop(self, op: tile.LoopOp) -> None:
        block = op.body.block
        for argument, start, result in zip(block.args[1:], op.iter_args, op.results, strict=True):
            if isinstance(start.owner, tile.LoopOp) and is_last_use(start, op):
                name = self.names[start]  # the state goes on where the loop before it ended
            else:
                name = self.names.fresh(result.name_hint or argument.name_hint or "state")
                self.out.line(f"{name} = {self.text[start].code}")
            self.names.bind(argument, name)
            self.names.bind(result, name)
        low, high, step = (self.text.scalar(v) for v in (op.lb, op.ub, op.step))
        span = f"{low}, {high}, {step}" if step != "1" else f"{low}, {high}" if low != "0" else high
        with self.names.scope(), ExitStack() as nest:
            if op.outer is not None:
                self.out.line(f"for {self.names[op.outer.result]} in range({self.text.scalar(op.outer.extent)}):")
                nest.enter_context(self.out.indented())
            self.out.line(f"for {self.names[block.args[0]]} in range({span}):")
            with self.out.indented():
                self.block(block)
                names = [self.names[argument] for argument in block.args[1:]]
                self.out.line(f"{', '.join(names)} = {', '.join(self.text[v].code for v in op.end.values)}")

    def fused(self, op: tile.FusedOp) -> None:
        """What is fused: a call of a compiled function where that can be and is worth it, else its operations."""
        names = []
        for value, result in zip(op.end.values, op.res, strict=True):
            if (into := tile.into_of(value)) is not None:
                for statement in self.scratch.declared(into, op.parent):
                    self.out.line(statement)
            elif (mask := mask_of(value)) is not None:
                if result in self.names:
                    self.names.bind(value, self.names[result])
                self.write_over(mask)
            else:
                hint = "seen" if result.type == i1 else "t"
                self.names.bind(value, self.names.fresh(result.name_hint or hint))
                names.append(self.names[value])
            self.names.bind(result, self.names[value])
        call = self.compiled.call(op)
        self.out.line(f"if {self.text[op.where].code} and _has_numba():")
        with self.out.indented():
            self.out.line(f"{', '.join(names)} = {call}" if names else call)
        self.out.line("else:")
        with self.out.indented():
            self.block(op.body.block)
            for value in op.end.values:
                if self.text[value].code != self.names[value]:
                    self.out.line(f"{self.names[value]} = {self.text[value].code}")

    def choice(self, op: scf.IfOp) -> None:
        """One of two blocks. What the second one passes on keeps its name, where nothing reads it afterwards."""
        then, otherwise = (region.block for region in op.regions)
        made, kept = (list(block.ops)[-1].operands for block in (then, otherwise))
        for result, new, old in zip(op.results, made, kept, strict=True):
            if old in self.names and is_last_use(old, op):
                self.names.bind(result, self.names[old])
            lives = tile.into_of(old) is not None and mask_of(new) is None
            if isinstance(new.owner, Operation) and new.owner.next_op is then.last_op and not lives:
                self.names.bind(new, self.names[result])
        self.out.line(f"if {self.condition(op.cond, self.text[op.cond].code)}:")
        self.outcome(then, op, made)
        if len(otherwise.ops) > 1 or any(
            self.text[v].code != self.names[r] for r, v in zip(op.results, kept, strict=True)
        ):
            self.out.line("else:")
            self.outcome(otherwise, op, kept)

    def outcome(self, block: Block, op: scf.IfOp, values: Sequence[SSAValue]) -> None:
        """A block of a choice, and the names of what it gives."""
        with self.out.indented():
            self.block(block)
            pairs = [
                (self.names[result], self.text[value].code) for result, value in zip(op.results, values, strict=True)
            ]
            if renamed := [pair for pair in pairs if pair[0] != pair[1]]:
                names, texts = (", ".join(each) for each in zip(*renamed, strict=True))
                # What goes by the name of a home goes there.
                kept = list(op.false_region.block.ops)[-1].operands
                homes = {self.names[v] for v in kept if v in self.names and tile.into_of(v) is not None}
                if names in homes:
                    self.out.line(f"np.copyto({names}, {texts})")
                elif len(f"{names} = {texts}") <= self.out.room or _depend(renamed):
                    self.out.line(f"{names} = {texts}")
                else:
                    for name, text in renamed:
                        self.out.line(f"{name} = {text}")
            elif len(block.ops) == 1:
                self.out.line("pass")

    def mask(self, op: tile.MaskOp) -> None:
        """A part of a tile that is written over."""
        if not isinstance(op.parent_op(), tile.FusedOp):
            self.write_over(op)
        self.out.line(self.text.masked(op))

    def write_over(self, op: tile.MaskOp) -> None:
        """Gives what a mask makes the name of its tile, or of a copy where the tile is a view or is read afterwards."""
        if op.value in self.names and is_writable(op.value, op):
            self.names.bind(op.result, self.names[op.value])
        else:
            self.out.line(f"{self.names[op.result]} = {self.text[op.value].within(ATOM)}.copy()")

    def store(self, op: tile.StoreOp) -> None:
        if self.shared is None or self.shared.steps is None or not op.meets:
            self.out.line(self.access.store(op))
            return
        loop = op.parent_op()
        assert isinstance(loop, tile.LoopOp) and loop.axis is not None, "the verifier holds that"
        end = self.text.span(loop.axis.result).stop
        place = end if loop.outer is None else f"({self.names[loop.outer.result]}, {end})"
        self.out.line(f"{self.shared.mine}.wait({place})")
        self.out.line(self.access.store(op))
        self.out.line(f"{self.shared.mine}.past({place})")


def _depend(assigned: Sequence[tuple[str, str]]) -> bool:
    """Whether an expression has a name in it that an earlier one of the list goes by."""
    return any(re.search(rf"\b{name}\b", text) for n, (name, _) in enumerate(assigned) for _, text in assigned[n + 1 :])


@dataclass(frozen=True)
class _Shared:
    """The function of the programs that threads share: its name, and that of its argument, which tells a thread's own.

    Each thread walks all programs, and of one `variable` takes those that are its own. Where they go in `steps`, it
    waits for the step before.
    """

    where: SSAValue
    variable: StringAttr
    steps: StringAttr | None
    function: str
    mine: str

    @classmethod
    def of(cls, kernel: tile.KernelOp, names: Names) -> _Shared | None:
        """That of a kernel, None where nothing says that threads share its programs."""
        said = next((op for op in kernel.body.block.ops if isinstance(op, tile.ThreadsOp)), None)
        if said is None:
            return None
        return cls(said.where, said.variable, said.steps, names.fresh("tiles"), names.fresh("mine"))
