"""`tile` IR whose warps have roles to a file of Triton and Gluon.

The file is that of the plain kernels, and beside them holds those with roles: a function for each role, and one that
makes the rings and lets the roles begin. Its launcher takes them where boxes of the tensors of a call can be copied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from attndsl.backends.gluon.expressions import GluonExpressions, shared_layout
from attndsl.backends.gluon.legal import LEGAL
from attndsl.backends.gpu.launcher import BOX_STRIDES, IN_ROLES, WHOLE, kernel_name
from attndsl.backends.text import Text
from attndsl.backends.triton.emit import TritonKernel, emit_with
from attndsl.backends.writer import Writer
from attndsl.ir import roles, tile
from attndsl.ir.analyses.roled import NoRoles, roled
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.rewrite import constant
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import ModuleOp, Operation, arith, scf
from attndsl.printable import printable

IMPORTS = """from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared, mbarrier, tma, warpgroup_mma, warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

_copy_box = tma.async_load if hasattr(tma, "async_load") else tma.async_copy_global_to_shared
"""

BOXES = f'''{BOX_STRIDES}

def _has_roles(rows, device, *tensors):
    """Whether the warps of a program have roles: on a Hopper GPU, for many rows, where boxes can be copied."""
    if rows <= 64 or device.type != "cuda" or torch.cuda.get_device_capability(device)[0] != 9:
        return False
    return all(_box_strides(x) is not None for x in tensors)


def _boxes(x, sizes):
    """What tells the copying hardware where boxes of a tensor lie."""
    element = {{torch.float16: gl.float16, torch.bfloat16: gl.bfloat16}}[x.dtype]
    layout = gl.NVMMASharedLayout.get_default_for(sizes, element)
    return TensorDescriptor(x, [*x.shape], _box_strides(x), sizes, layout)
'''

REMARKS = {
    roles.ProducerOp: "Copies boxes of keys and values into rings, as far ahead as these have stages.",
    roles.ConsumersOp: "Folds the keys of its rows: a tile of scores becomes weights while the next one is made.",
}
"""What each role does."""

GLUON_TYPES = {"f16": "gl.float16", "bf16": "gl.bfloat16"}


def emit(module: ModuleOp, source: str = "") -> str:
    """The text of a file for a module at the `tile` level, some of whose kernels may have roles.

    `source` is the text of the spec, whose lines the comments quote. Raises IllegalModule.
    """
    axes = LEGAL.require(module)
    kernels = [op for op in module.body.block.ops if isinstance(op, tile.KernelOp)]
    remarks = "".join(f"\n{line}\n" for line in _without_roles(kernels))
    if not any(kernel.form == IN_ROLES for kernel in kernels):
        return emit_with(module, source, axes, TritonKernel, remarks)
    return emit_with(module, source, axes, _writer, IMPORTS + remarks, BOXES)


def _without_roles(kernels: list[tile.KernelOp]) -> Iterator[str]:
    """Comments: of each kernel whose warps could have roles, by what it does, and have none, why."""
    done = {kernel.entry for kernel in kernels if kernel.form == IN_ROLES}
    for kernel in kernels:
        if kernel.form == WHOLE and kernel.entry not in done:
            try:
                roled(kernel)
            except NoRoles as reason:
                yield f"# The warps of {kernel_name(kernel)} have no roles: {printable(str(reason))}."


def _writer(kernel: tile.KernelOp, *given: object) -> TritonKernel:
    kind = GluonKernel if kernel.form == IN_ROLES else TritonKernel
    return kind(kernel, *given)  # type: ignore[arg-type]


class GluonKernel(TritonKernel):
    """Writes the functions of a kernel whose warps have roles."""

    text: GluonExpressions

    def _expressions(self, axes: AxesAnalysis) -> GluonExpressions:
        return GluonExpressions(self.kernel, self.names, axes, self.parameters.static)

    def write(self) -> None:
        """The function of each role, and the kernel's."""
        entry, out = self.kernel.entry.data, self.out
        ops = list(self.kernel.body.block.ops)
        self.rings = [op for op in ops if isinstance(op, roles.RingOp)]
        found = [op for op in ops if isinstance(op, roles.RoleOp)]
        self.role_names = {op: self.names.like(f"{entry}_{_called(op)}") for op in found}
        self.text.begin(self.rings[0].box[self.rings[0].along.data[0].value.data])
        self.descriptors: dict[roles.RingOp, str] = {}
        self.memory: dict[str, str] = {}
        self.barriers: dict[tuple[str, str], str] = {}
        for ring in self.rings:
            self._name_ring(ring)
        # What stands before the roles is written first, so that they know the names of what it computes.
        main = self.out = Writer(out.source)
        with main.indented():
            self._programs()
            self._block(self.kernel.body.block)
        known = self._known()
        self.taken: dict[roles.RoleOp, list[str]] = {}
        for op in found:
            self._role(op, known, out)
        self.out = out
        boxes = [self.descriptors[ring] for ring in self.rings]
        self._heading("gluon.jit", [_gluon(argument) for argument in [*boxes, *self.arguments]])
        out.append(main, _gluon)
        with out.indented():
            self._begin(found)
        out.line("")
        out.line("")

    def _name_ring(self, ring: roles.RingOp) -> None:
        name = ring.sym_name.data
        plain = name.removesuffix("_ring")
        self.descriptors[ring] = self.names.like(f"{plain}_boxes")
        self.memory[name] = self.names.like(name)
        if ring.beside is None:
            for barrier in roles.BARRIERS:
                self.barriers[name, barrier] = self.names.like(f"{plain}_{barrier}")

    def _known(self) -> dict[str, str]:
        """What a role may be given: names, and what its function says of them."""
        known = dict.fromkeys(self.descriptors.values(), "")
        known |= {name: type_ for name, _, type_ in (argument.partition(":") for argument in self.arguments)}
        values = [result for op in self.kernel.body.block.ops for result in op.results]
        known |= dict.fromkeys((self.names[value] for value in values if value in self.names), "")
        rings = [name for ring in self.memory for name in (self.memory[ring], *self._barriers(ring))]
        return known | dict.fromkeys(rings, "")

    def _barriers(self, ring: str) -> list[str]:
        return [self.barriers[ring, barrier] for barrier in roles.BARRIERS if (ring, barrier) in self.barriers]

    def _role(self, op: roles.RoleOp, known: dict[str, str], out: Writer) -> None:
        """The function of a role, which is given what its text names."""
        self.text.layouts.clear()
        body = self.out = Writer(out.source)
        part = self.names.like("part") if isinstance(op, roles.ConsumersOp) else ""
        with body.indented():
            if isinstance(op, roles.ConsumersOp):
                first, step = self.names[op.body.block.args[0]], op.step.value.data
                self._line(op, f"{first} = {self.text[op.first].code} + {part} * {step}")
            self._block(op.body.block)
        code = "\n".join(line for line in body.text().splitlines() if not line.lstrip().startswith("#"))
        words = set(re.findall(r"\b[^\W\d]\w*", code))
        self.taken[op] = [name for name in known if name in words]
        arguments = [f"{name}: gl.constexpr" if "constexpr" in known[name] else name for name in self.taken[op]]
        if isinstance(op, roles.ConsumersOp):
            arguments.insert(0, f"{part}: gl.constexpr")
        out.line("@gluon.jit")
        out.listed(f"def {self.role_names[op]}(", arguments, "):")
        with out.indented():
            out.line(f"# {REMARKS[type(op)]}")
            for line in self.text.definitions():
                out.line(line)
        out.append(body, _gluon)
        out.line("")
        out.line("")

    def _begin(self, found: list[roles.RoleOp]) -> None:
        """Makes the rings, and lets the roles begin: the first consumer is the kernel's own warps."""
        out = self.out
        for ring in self.rings:
            name, (rows, columns) = ring.sym_name.data, ring.box.values()
            stages, element = ring.stages.value.data, GLUON_TYPES[ring.declaration.element.data]
            layout = shared_layout(columns)
            out.line(
                f"{self.memory[name]} = gl.allocate_shared_memory({element}, [{stages}, {rows}, {columns}], {layout})"
            )
            if ring.beside is not None:
                continue
            for barrier in self._barriers(name):
                out.line(f"{barrier} = gl.allocate_shared_memory(gl.int64, [{stages}, 1], mbarrier.MBarrierLayout())")
            stage = self.names.like("stage")
            out.line(f"for {stage} in gl.static_range({stages}):")
            with out.indented():
                for barrier, count in zip(self._barriers(name), (1, ring.readers.value.data), strict=True):
                    out.line(f"mbarrier.init({barrier}.index({stage}), count={count})")
        out.line("fence_async_shared()")
        parts, warps, registers = [], list[int](), list[int]()
        for op in sorted(found, key=lambda op: isinstance(op, roles.ProducerOp)):
            given = ", ".join(self.taken[op])
            for part in range(op.count.value.data if isinstance(op, roles.ConsumersOp) else 1):
                number = f"{part}, " if isinstance(op, roles.ConsumersOp) else ""
                parts.append((self.role_names[op], f"{number}{given}"))
                warps.append(4 if isinstance(op, roles.ConsumersOp) else 1)
                registers.append(op.registers.value.data)
        out.line("gl.warp_specialize([")
        with out.indented():
            for name, given in parts:
                out.listed(f"({name}, (", given.split(", "), ")),")
        out.line(f"], {warps[1:]}, {registers[1:]})")

    # --- statements

    def _statement(self, op: Operation) -> None:
        match op:
            case roles.RingOp() | roles.RoleOp():
                pass
            case roles.TurnOp():
                stages = op.stages.value.data
                turn = self.text[op.turn].within(7)
                self._line(op, f"{self.names[op.stage]} = ({turn} % {stages}).to(gl.int32)")
                self._line(op, f"{self.names[op.phase]} = ({turn} // {stages} % 2).to(gl.int32)")
            case roles.WaitOp():
                barrier = self._barrier(op, op.barrier.data)
                self._line(op, f"mbarrier.wait({barrier}, {self.text[op.phase].code})")
            case roles.ExpectOp():
                self._line(op, f"mbarrier.expect({self._barrier(op, 'full')}, {op.count.value.data})")
            case roles.CopyOp():
                self._copy(op)
            case roles.ReleaseOp():
                self._line(op, f"mbarrier.arrive({self._barrier(op, 'empty')}, count=1)")
            case roles.ViewOp():
                self.text.keep(
                    op.result, Text(f"{self.memory[op.ring.string_value()]}.index({self.text[op.stage].code})")
                )
            case roles.ProductOp():
                self._call(op, f"{self.names[op.result]} = ", self.text.product(op))
            case roles.OperandOp() if op.shared is not None:
                self._line(op, f"{self.names[op.result]} = {self.text.make(op).code}")
                self._line(op, "fence_async_shared()")
            case roles.AwaitOp():
                self._await(op)
            case arith.AddiOp() | arith.AndIOp() if self.text.is_place(op.results[0]):
                pass
            case tile.RangeOp() if all(isinstance(user, NAMING) for user in tile.users(op.result)):
                pass
            case tile.LoadOp() if len(self.text.axes_of(op.result)) == 2 and op.apart is None:
                with self.text.in_memory():
                    self._call(op, f"{self.names[op.result]} = ", self.access.load(op))
                if not all(isinstance(user, roles.OperandOp) for user in tile.users(op.result)):
                    layout = self.text.own(self.text.axes_of(op.result))
                    name = self.names[op.result]
                    self._line(op, f"{name} = gl.convert_layout({name}, {layout})")
            case tile.StoreOp() if len(self.text.axes_of(op.value)) == 2:
                self._store(op)
            case _:
                super()._statement(op)

    def _barrier(self, op: roles.StageOp, barrier: str) -> str:
        return f"{self.barriers[op.declaration.filled_with, barrier]}.index({self.text[op.stage].code})"

    def _copy(self, op: roles.CopyOp) -> None:
        ring, name = op.declaration, op.ring.string_value()
        start = [
            self.text[value].code if constant(value) is not None else f"{self.text[value].within(9)}.to(gl.int32)"
            for value in op.start
        ]
        given = [self.descriptors[ring], f"[{', '.join(start)}]", self._barrier(op, "full")]
        given.append(f"{self.memory[name]}.index({self.text[op.stage].code})")
        self._call(op, "", ["_copy_box(", *given, ")"])

    def _await(self, op: roles.AwaitOp) -> None:
        """The register operands of a product stay where they are until it is complete."""
        product = op.product.owner
        assert isinstance(product, roles.ProductOp)
        name, waited = self.names[op.result], self.text[op.product].code
        pending = op.pending.value.data
        if isinstance(product.lhs.owner, roles.OperandOp) and product.lhs.owner.shared is not None:
            self._line(op, f"{name} = warpgroup_mma_wait({pending}, deps=[{waited}])")
            return
        factor = self.text[product.lhs].code
        self._line(op, f"{name}, {factor} = warpgroup_mma_wait({pending}, deps=[{waited}, {factor}])")

    def _store(self, op: tile.StoreOp) -> None:
        columns = self.text.width(self.text.axes_of(op.value)[1])
        memory = self.text.layout("MEMORY", columns)
        stored = GLUON_TYPES.get(self.text.stored.element(op), "gl.float32")
        made = self.names.fresh("stored")
        value = self.text[op.value].within(9)
        self._line(op, f"{made} = gl.convert_layout({value}.to({stored}), {memory})")
        kept = self.text[op.value]
        self.text.keep(op.value, Text(made))
        with self.text.in_memory():
            self._call(op, "", self.access.store(op))
        self.text.keep(op.value, kept)

    def _range(self, op: tile.RangeOp) -> str:
        values = f"gl.arange(0, {self.text[op.size].code}, layout={self.text.own((op.result,))})"
        moved = values if constant(op.start) == 0 else f"({self.text[op.start].within(6)} + {values})"
        narrow = self.text.runs_narrow(op.result)
        return self.text.as_index(op.result, Text(moved)) if narrow else f"{moved}.to(gl.int64)"

    def _remark(self, op: scf.IfOp) -> str:
        if any(isinstance(each, tile.LoopOp) for each in operations(op)):
            return super()._remark(op)
        return "a tile of which some row does not see all"


NAMING = (roles.ViewOp, roles.ProductOp, roles.OperandOp)
"""What takes an axis only to say which one it means."""


def _called(op: roles.RoleOp) -> str:
    return "consumer" if isinstance(op, roles.ConsumersOp) else "producer"


def _gluon(text: str) -> str:
    """A text of Triton's language in Gluon's, which has the same functions under the same names."""
    return re.sub(r"\btl\.", "gl.", text)
