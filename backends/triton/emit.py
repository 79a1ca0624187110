"""`tile` IR to a Triton file.

Each kernel becomes a function under triton.jit. An axis is a `tl.arange`, which the pass pad-axes has made full; a
program variable is a digit of the program's number; a loop is a `for`. The file's launcher has the spec's name and
takes its inputs, then its outputs, which the caller has allocated and which it writes whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from attndsl.backends.gpu.launcher import HostText, Launched, Launcher, kernel_name
from attndsl.backends.gpu.parameters import Parameters, size_key
from attndsl.backends.names import Names, function_name, number_names, spec_names
from attndsl.backends.text import Text
from attndsl.backends.triton.access import TritonAccess, joined
from attndsl.backends.triton.expressions import TritonExpressions
from attndsl.backends.triton.helpers import helpers_text
from attndsl.backends.triton.legal import LEGAL
from attndsl.backends.triton.pointwise import scalar_type
from attndsl.backends.writer import Writer
from attndsl.ir import spec, tile
from attndsl.ir.analyses.facts import executed
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.rewrite import constant, number_in
from attndsl.ir.statements import of_kind
from attndsl.ir.xdsl import Block, ModuleOp, Operation, SSAValue, arith, i1, scf
from attndsl.python_names import pointer_name, python_name


def emit(module: ModuleOp, source: str = "") -> str:
    """The text of a Triton file for a module at the `tile` level, with full axes.

    `source` is the text of the spec, whose lines the comments quote. Raises IllegalModule.
    """
    return emit_with(module, source, LEGAL.require(module), TritonKernel)


def emit_with(
    module: ModuleOp,
    source: str,
    axes: AxesAnalysis,
    writer_of: Callable[..., TritonKernel],
    imports: str = "",
    helpers: str = "",
) -> str:
    """The text of a file whose kernels `writer_of` writes, and that has more imports and functions of the host."""
    tensors = [op for op in module.body.block.ops if isinstance(op, spec.TensorOp)]
    kernels = [op for op in module.body.block.ops if isinstance(op, tile.KernelOp)]
    params = [op for op in module.body.block.ops if isinstance(op, spec.ParameterOp)]
    out, numbers = Writer(source), number_names(module)
    launched = []
    for kernel in kernels:
        parameters = Parameters.of(kernel, tensors)
        writer = writer_of(kernel, parameters, Names(numbers), axes, out)
        writer.write()
        launched.append(Launched(writer.name, kernel, parameters, HostText(kernel)))
    name = function_name([kernel.entry.data for kernel in kernels])
    kernels_text = out.text()
    launcher = Launcher(name, spec.arguments(module), params, spec_names(module), out)
    launcher.write(launched)
    boxes = any(each.taken.boxes for each in launched)
    helpers = helpers_text(kernels_text) + helpers
    return _header(name, boxes) + imports + helpers + launcher.tables(launched) + "\n\n" + out.text()


def _header(name: str, boxes: bool) -> str:
    imports = "import torch\nimport triton\nimport triton.language as tl\n"
    if boxes:
        imports += "import triton.tools.tensor_descriptor\n"
    return f'"""{name}, compiled by attndsl. Needs torch and triton alone."""\n\n{imports}'


class TritonKernel:
    """Writes the function of one kernel."""

    def __init__(
        self, kernel: tile.KernelOp, parameters: Parameters, names: Names, axes: AxesAnalysis, out: Writer
    ) -> None:
        self.kernel = kernel
        self.parameters = parameters
        self.out = out
        self.name = kernel_name(kernel)
        self.names = names
        self.boxes = {box: names.like(f"{python_name(box.tensor)}_box") for box in parameters.boxes}
        self.copied = {op: name for box, name in self.boxes.items() for op in box.loads}
        self.counts = {op: names.like(f"n_{op.variable.data}") for op in parameters.counts}
        self._bind_arguments()
        self.arguments = self._arguments()
        self.text = self._expressions(axes)
        self.access = TritonAccess(parameters.tensors, self.text)
        self.executed = executed(kernel, frozenset(parameters.quotients))

    def _expressions(self, axes: AxesAnalysis) -> TritonExpressions:
        return TritonExpressions(self.kernel, self.names, axes, self.parameters.static)

    def _bind_arguments(self) -> None:
        """Gives names to what a launch works out for the kernel."""
        for n, quotient in enumerate(self.parameters.quotients):
            self.names.bind(quotient, self.names.like(f"{quotient.name_hint or 'quotient'}_{n}"))
        sizes = {size_key(size): self.names.like(size.name_hint or "size") for size in self.parameters.sizes}
        for op in of_kind(self.kernel, tile.PaddedOp):
            if size_key(op.result) in sizes:
                self.names.bind(op.result, sizes[size_key(op.result)])

    def _arguments(self) -> list[str]:
        taken = self.parameters
        arguments = []
        for tensor in taken.tensors:
            strides = taken.strides[tensor.sym_name.data]
            arguments += [pointer_name(tensor.sym_name.data), *(f"{s}: tl.int64" for s in strides[:-1]), *strides[-1:]]
        arguments += [f"{name}: tl.int64" for name in (*map(python_name, taken.dims), *taken.splits)]
        arguments += [f"{python_name(op.param.data)}: tl.{scalar_type(op.result.type)}" for op in taken.params]
        arguments += [f"{name}: tl.int64" for name in map(self.names.__getitem__, taken.quotients)]
        arguments += [f"{name}: tl.int32" for name in self.counts.values()]
        sizes = [*map(python_name, taken.static), *map(self.names.__getitem__, taken.sizes)]
        arguments += [f"{name}: tl.constexpr" for name in ("INDEX", *sizes, *taken.choices)]
        return [*arguments, *self.boxes.values()]

    def write(self) -> None:
        """The whole function."""
        self._heading("triton.jit", self.arguments)
        with self.out.indented():
            if any(isinstance(op, tile.IdentityOp) for op in self.executed):
                self.out.line(self._largest())
            self._programs()
            self._block(self.kernel.body.block)
        self.out.line("")
        self.out.line("")

    def _largest(self) -> str:
        """What the least of no places is."""
        return f"{self.text.largest}: tl.constexpr = {2**31 - 1} if INDEX == tl.int32 else {2**63 - 1}"

    def _heading(self, decorator: str, arguments: Sequence[str]) -> None:
        made_for = {s for strides in self.parameters.strides.values() for s in strides} - self.parameters.varying
        typed = [a.partition(":")[0] for a in self.arguments if ":" in a and not a.endswith("constexpr")]
        free = [name for name in typed if name not in made_for]
        if free:
            self.out.listed(f"@{decorator}(do_not_specialize=[", [f'"{name}"' for name in free], "])")
        else:
            self.out.line(f"@{decorator}")
        self.out.listed(f"def {self.name}(", arguments, "):")

    def _programs(self) -> None:
        """The values of the program variables: digits of the program's number, the last varying fastest."""
        programs = of_kind(self.kernel, tile.ProgramOp)
        if not programs:
            return
        number = self.names.fresh("program")
        self.out.line(f"{number} = tl.program_id(0)")
        self._digits(number, programs, [op.result for op in programs])

    def _digits(self, number: str, programs: Sequence[tile.ProgramOp], values: Sequence[SSAValue]) -> None:
        """Lets values be those of the program variables in the program of a number."""
        for place, (op, value) in enumerate(zip(programs, values, strict=True)):
            later = [self.counts[other] for other in programs[place + 1 :]]
            digit = number
            if later:
                digit += f" // {later[0]}" if len(later) == 1 else f" // ({' * '.join(later)})"
            if place > 0:
                digit += f" % {self.counts[op]}"
            if op.descending is not None:
                digit = f"({self.counts[op]} - 1 - {digit})"
            step = "" if constant(op.step) == 1 else f" * {self.text[op.step].code}"
            kind = "INDEX" if self.text.runs_narrow(value) else "tl.int64"
            digit = f"{digit if digit == number or op.descending is not None else f'({digit})'}.to({kind})"
            self.out.line(f"{self.names[value]} = {digit}{step}")

    # --- statements

    def _block(self, block: Block) -> None:
        for op in block.ops:
            if op in self.executed:
                self._statement(op)

    def _line(self, op: Operation, text: str) -> None:
        self.out.at(op.location)
        self.out.line(text)

    def _statement(self, op: Operation) -> None:
        match op:
            case tile.ProgramOp():
                if op.bound is not None:
                    self._line(op, f"if {self.text[op.result].code} >= {self.text[op.extent].within(2)}:")
                    with self.out.indented():
                        self.out.line("return")
            case tile.RangeOp():
                self._line(op, f"{self.names[op.result]} = {self._range(op)}")
            case tile.LoopOp():
                self._loop(op)
            case scf.IfOp():
                self._choice(op)
            case tile.LoadOp():
                self._load(op)
            case tile.StoreOp():
                self._call(op, "", self.access.store(op))
            case tile.YieldOp() | scf.YieldOp() | spec.AssumeOp() | spec.DimOp() | spec.ParamOp() | spec.ChoiceOp():
                pass
            case tile.OuterLoopOp():
                pass  # a line of the loop that it stands in
            case tile.PaddedOp() | tile.PlaceOp() | tile.WidenedOp() | tile.IdentityOp() | arith.ConstantOp():
                pass
            case _:
                self._value(op)

    def _range(self, op: tile.RangeOp) -> str:
        values = f"tl.arange(0, {self.text[op.size].code})"
        moved = values if constant(op.start) == 0 else f"({self.text[op.start].within(6)} + {values})"
        narrow = self.text.runs_narrow(op.result)
        return self.text.as_index(op.result, Text(moved)) if narrow else f"{moved}.to(tl.int64)"

    def _load(self, op: tile.LoadOp) -> None:
        """A load; one of a box copies it, where the launch has a descriptor of it."""
        prefix, box = f"{self.names[op.result]} = ", self.copied.get(op)
        if box is None:
            self._call(op, prefix, self.access.load(op))
            return
        for condition, parts in (("if {} is None:", self.access.load(op)), ("else:", self.access.copy(op, box))):
            self._line(op, condition.format(box))
            with self.out.indented():
                self._call(op, prefix, parts)

    def _call(self, op: Operation, prefix: str, parts: list[str]) -> None:
        self.out.at(op.location)
        for line in joined(parts, prefix, self.out.room):
            self.out.line(line)

    def _value(self, op: Operation) -> None:
        result = op.results[0]
        text = self.text.make(op)
        if self.text.inlines(result, text):
            self.text.keep(result, text)
        else:
            if result.name_hint is None and result.type == i1:
                self.names.bind(result, self.names.fresh("seen"))
            self._line(op, f"{self.names[result]} = {text.code}")

    def _loop(self, op: tile.LoopOp) -> None:
        block = op.body.block
        carried = block.args[1:]
        for argument, start, result in zip(carried, op.iter_args, op.results, strict=True):
            if isinstance(start.owner, tile.LoopOp) and start.owner.parent is op.parent:
                name = self.names[start]  # the state goes on where the loop before it ended
            else:
                name = self.names.fresh(result.name_hint or argument.name_hint or "state")
                self._line(op, f"{name} = {self.text[start].code}")
            self.names.bind(argument, name)
            self.names.bind(result, name)
        low, high, step = (self.text[v].code for v in (op.lb, op.ub, op.step))
        span = f"{low}, {high}" if step == "1" else f"{low}, {high}, {step}"
        span = f"range({span})" if op.stages is None else f"tl.range({span}, num_stages={number_in(op.stages)})"
        with ExitStack() as nest:
            if op.outer is not None:
                self._line(op.outer, f"for {self.names[op.outer.result]} in range({self.text[op.outer.extent].code}):")
                nest.enter_context(self.out.indented())
            self._line(op, f"for {self.names[block.args[0]]} in {span}:")
            with self.out.indented():
                self._block(block)
                self._yield(carried, op.end.values)

    def _choice(self, op: scf.IfOp) -> None:
        """States that are kept where the condition holds, and computed anew elsewhere."""
        kept, anew = (region.block for region in op.regions)
        first, last = kept.last_op, anew.last_op
        assert first is kept.first_op and first is not None and last is not None
        for state, result in zip(first.operands, op.results, strict=True):
            self.names.bind(result, self.names[state])
        self._line(op, f"if {self.text[op.cond].within(2)} == 0:  # {self._remark(op)}")
        with self.out.indented():
            self._block(anew)
            self._yield(op.results, last.operands)

    def _remark(self, op: scf.IfOp) -> str:
        """When states are computed anew."""
        return "rare: a key that a row does not see is NaN or Inf"

    def _yield(self, carried: Sequence[SSAValue], values: Sequence[SSAValue]) -> None:
        changed = [(self.names[c], self.text[v].code) for c, v in zip(carried, values, strict=True) if c is not v]
        if changed:
            targets, texts = zip(*changed, strict=True)
            line = f"{', '.join(targets)} = {', '.join(texts)}"
            if len(line) <= self.out.room:
                self.out.line(line)
            else:
                self.out.listed(f"{', '.join(targets)} = (", texts, ")")
