"""`tile` IR whose warps have roles to a file of Triton and Gluon.

The file is that of the plain kernels, and beside them holds those with roles: a function for each role, and one that
makes the rings and lets the roles begin. Its launcher takes them where boxes of the tensors of a call can be copied.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from attndsl.backends.gluon.expressions import WARPS, GluonExpressions, found_anew, goes_through_loops, shared_layout
from attndsl.backends.gluon.helpers import (
    ADDS,
    ALIKE,
    ANEW,
    BOXES,
    CLEAR,
    DESCRIPTOR,
    FUSED,
    HEADS,
    IMPORTS,
    OUTSIDE,
    PACKED,
    PIECES,
    SECTIONS,
    SHARED,
    STORE_ROWS,
    TAKES,
    TANH,
    WIDE_TILES,
)
from attndsl.backends.gluon.legal import LEGAL
from attndsl.backends.gluon.stages import GLUON_TYPES, StagesWriter, plain_name
from attndsl.backends.gpu.launcher import IN_ROLES, IN_WIDE_ROLES, WHOLE, kernel_name, stem
from attndsl.backends.text import Text
from attndsl.backends.triton.emit import TritonKernel, emit_with
from attndsl.backends.writer import Writer
from attndsl.ir import gathers, roles, tile, walks
from attndsl.ir.analyses.role_parts import NoRoles
from attndsl.ir.analyses.roled import roled
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.meaning import is_approximate
from attndsl.ir.rewrite import constant
from attndsl.ir.rings import (
    BOXED,
    RELAYED,
    BoardOp,
    BoxesOp,
    ExchangeOp,
    Holder,
    OrderOp,
    OutboxOp,
    RelayOp,
    RingOp,
    barred,
    holders_of,
)
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import ModuleOp, Operation, arith, scf
from attndsl.printable import printable
from attndsl.python_names import pointer_name

BESIDE = (walks.SeekOp, walks.TaskOp)
"""What has a function of its own, which roles call."""

Apart = roles.RoleOp | walks.SeekOp | walks.TaskOp
"""What has a function of its own: a role, and what roles call."""

REMARKS: dict[type[Operation], str] = {
    walks.TaskOp: "Computes a tile again, key by key: some key that a row does not see is NaN or Inf.",
    walks.SeekOp: "The number of the tile of a rank, of those that there are, and where it was found.",
    roles.LoaderOp: "Loads what is no box, and hands on what products and scores take of it.",
    roles.ProducerOp: "Copies boxes of keys and values into rings, as far ahead as these have stages.",
    roles.ConsumersOp: "Folds the keys of its rows: a tile of scores becomes weights while the next one is made.",
}
"""What each role does."""

FOLDS_EACH = (
    "Folds the keys of its rows: each tile of scores of a turn as soon as it is made, and sums within the turn."
)
"""What consumers do whose turns have several tiles of scores."""

COPIES_AND_HANDS = "Copies boxes of keys and values into rings, and hands on numbers of each key beside them."
"""What the role that copies does beside such turns."""

FOLLOWS = "Multiplies weights that are handed on with its own features of values."
"""What consumers do that follow."""


def emit(module: ModuleOp, source: str = "") -> str:
    """The text of a file for a module at the `tile` level, some of whose kernels may have roles.

    `source` is the text of the spec, whose lines the comments quote. Raises IllegalModule.
    """
    axes = LEGAL.require(module)
    kernels = [op for op in module.body.block.ops if isinstance(op, tile.KernelOp)]
    remarks = "".join(f"\n{line}\n" for line in _without_roles(kernels))
    if not any(kernel.form == IN_ROLES for kernel in kernels):
        return emit_with(module, source, axes, TritonKernel, remarks)
    ops = list(module.walk())
    ending = any(isinstance(op, roles.PutOp) and op.rows is not None for op in ops)
    told = any(isinstance(op, walks.RunOp) or (isinstance(op, walks.TurnsOp) and op.alike is not None) for op in ops)
    pieces = any(isinstance(op, RingOp) and op.pieces != op.box for op in ops)
    nan = any(isinstance(op, RingOp) and op.nan is not None for op in ops)
    anew = any(isinstance(op, roles.ProductOp) and op.anew is not None for op in ops)
    shares = any(isinstance(op, roles.ConsumersOp) and op.follow is not None for op in ops)
    descriptor = DESCRIPTOR.format(**OUTSIDE if nan else dict.fromkeys(OUTSIDE, ""))
    heads = any(isinstance(op, tile.PackOp) for op in ops)
    packs = PACKED if any(isinstance(op, roles.OperandOp) and goes_through_loops(op) for op in ops) else ""
    tanh = TANH if any(map(is_approximate, ops)) else ""
    clears = CLEAR if any(isinstance(op, roles.ClearOp) for op in ops) else ""
    sections = SECTIONS if any(isinstance(op, walks.SectionOp) for op in ops) else ""
    fused = any(kernel.instead is not None for kernel in kernels)
    wide = any(kernel.form == IN_WIDE_ROLES for kernel in kernels)
    functions = (
        BOXES
        + (WIDE_TILES if wide else "")
        + (FUSED if fused else "")
        + (SHARED if shares else "")
        + (HEADS if heads else "")
        + descriptor
    )
    functions += TAKES + (ALIKE if told or ending else "") + (ANEW if anew else "") + sections + tanh + packs + clears
    functions += STORE_ROWS if ending else ""
    adds = any(isinstance(op, roles.PutOp) and op.adds is not None for op in ops)
    imports = IMPORTS + (PIECES if pieces else "") + (ADDS if adds else "")
    return emit_with(module, source, axes, _writer, imports + remarks, functions)


def _without_roles(kernels: list[tile.KernelOp]) -> Iterator[str]:
    """Comments: of each kernel whose warps could have roles, by what it does, and have none, why."""
    done = {kernel.entry for kernel in kernels if kernel.form == IN_ROLES}
    for kernel in kernels:
        if kernel.form == WHOLE and kernel.entry not in done and kernel.scheduled_as is None:
            try:
                roled(kernel)
            except NoRoles as reason:
                yield f"# The warps of {kernel_name(kernel)} have no roles: {printable(str(reason))}."


def _writer(kernel: tile.KernelOp, *given: object) -> TritonKernel:
    kind = GluonKernel if kernel.with_roles and kernel.scheduled_as is None else TritonKernel
    return kind(kernel, *given)  # type: ignore[arg-type]


class GluonKernel(StagesWriter):
    """Writes the functions of a kernel whose warps have roles."""

    def _expressions(self, axes: AxesAnalysis) -> GluonExpressions:
        return GluonExpressions(self.kernel, self.names, axes, self.parameters.static)

    def write(self) -> None:
        """The function of each role, and the kernel's."""
        begins, out = stem(self.kernel), self.out
        ops = list(self.kernel.body.block.ops)
        self.boxed = [op for op in ops if isinstance(op, BoxesOp)]
        self.tiles = self.names.like("tiles")
        found = [op for op in ops if isinstance(op, roles.RoleOp)]
        self.role_names = {op: self.names.like(f"{begins}_{_called(op)}") for op in found}
        beside = [op for op in self.kernel.walk() if isinstance(op, BESIDE)]
        self.beside_names = {op: self.names.like(f"{begins}_{_called(op)}") for op in beside}
        self.descriptors: dict[BoxesOp, str] = {}
        self.memory: dict[str, str] = {}
        self.pieces: dict[str, str] = {}
        self.barriers: dict[tuple[str, str], str] = {}
        for ring in self.boxed:
            self.descriptors[ring] = self.names.like(f"{plain_name(ring)}_boxes")
        self.holders = holders_of(found[0])
        self.text.begin(_keys(self.holders[0]), self.memory)
        for holder in self.holders:
            self._name(holder)
        # What stands before the roles is written first, so that they know the names of what it computes.
        main = self.out = Writer(out.source)
        with main.indented():
            if any(isinstance(op, tile.IdentityOp) for op in self.executed):
                main.line(self._largest())
            main.line(f"{self.tiles} = {_product(self.counts.values())}")
            self._block(self.kernel.body.block)
        known = self._known()
        self.taken: dict[Operation, list[str]] = {}
        for op in (*beside, *found):
            self._apart(op, known, out)
        self.out = out
        boxes = [self.descriptors[ring] for ring in self.boxed]
        self._heading("gluon.jit", [_gluon(argument) for argument in [*boxes, *self.arguments]])
        out.append(main, _gluon)
        with out.indented():
            self._begin(found)
        out.line("")
        out.line("")

    def _known(self) -> dict[str, str]:
        """What a role may be given: names, and what its function says of them."""
        known = dict.fromkeys([*dict.fromkeys(self.descriptors.values()), self.tiles], "")
        known |= {name: type_ for name, _, type_ in (argument.partition(":") for argument in self.arguments)}
        values = [result for op in self.kernel.body.block.ops for result in op.results]
        known |= dict.fromkeys((self.names[value] for value in values if value in self.names), "")
        memory = [name for ring in self.memory for name in (self.memory[ring], *self._barriers(ring))]
        memory += self.pieces.values()
        return known | dict.fromkeys(memory, "")

    def _apart(self, op: Apart, known: dict[str, str], out: Writer) -> None:
        """The function of a role, a seek or a task, which is given what its text names."""
        copies = isinstance(op, roles.ProducerOp)
        self.text.begin_role(copies or isinstance(op, roles.LoaderOp), 1 if copies else WARPS)
        body, own = Writer(out.source), list[str]()
        self.out = body
        with body.indented():
            if isinstance(op, walks.SeekOp):
                own = [self.names.fresh(name) for name in ("rank", "place", "ahead")]
                self._seek(op, *own)
            elif isinstance(op, walks.TaskOp):
                own = [self.names[op.body.block.args[0]], f"{self._part(op)}: gl.constexpr"]
            elif isinstance(op, roles.ConsumersOp):
                own = [f"{self.names[op.body.block.args[0]]}: gl.constexpr"]
            if not isinstance(op, walks.SeekOp):
                self._block(op.body.block)
        code = "\n".join(line for line in body.text().splitlines() if not line.lstrip().startswith("#"))
        words = set(re.findall(r"\b[^\W\d]\w*", code))
        largest = [_gluon(self._largest())] if self.text.largest in words else []
        words |= {"INDEX"} if largest else set()
        self.taken[op] = [name for name in known if name in words]
        arguments = [f"{name}: gl.constexpr" if "constexpr" in known[name] else name for name in self.taken[op]]
        name = self.role_names[op] if isinstance(op, roles.RoleOp) else self.beside_names[op]
        out.line("@gluon.jit(noinline=True)" if isinstance(op, walks.TaskOp) else "@gluon.jit")
        out.listed(f"def {name}(", [*own, *arguments], "):")
        with out.indented():
            out.line(f"# {_remark_of(op)}")
            for line in (*largest, *self.text.definitions()):
                out.line(line)
        out.append(body, _gluon)
        out.line("")
        out.line("")

    def _seek(self, op: walks.SeekOp, rank: str, place: str, ahead: str) -> None:
        """Goes from place to place, each with as many tiles as its rows have, until one has the tile of a rank."""
        last, outer = op.programs[-1], op.programs[: len(op.ends.block.args)]
        beside = [self.counts[each] for each in op.programs[len(outer) : -1]]
        places = _product([self.counts[each] for each in outer])
        there, passes = (self.names.fresh(name) for name in ("there", "passes"))
        # What a loop changes is no constant before it.
        self._line(op, f"{there} = {rank} * 0")
        self._line(op, f"{passes} = {rank} >= 0")
        self._line(op, f"while {passes}:")
        with self.out.indented():
            within = self.names.fresh("within")
            self._line(op, f"{within} = gl.minimum({place}, {places} - 1)")
            self._digits(within, outer, op.ends.block.args)
            self._block(op.ends.block)
            step = int(constant(last.step) or 1)
            reached = f"gl.maximum({self.text[op.end].within(5)}, 0) + {step - 1}"
            most = self.counts[last]
            self._line(op, f"{there} = gl.minimum(({reached}) // {step}, {most}).to(gl.int32)")
            here = _product([there, *beside])
            self._line(op, f"{passes} = ({place} < {places}) & ({rank} >= {ahead} + {here})")
            self._line(op, f"{ahead} = gl.where({passes}, {ahead} + {here}, {ahead})")
            self._line(op, f"{place} = gl.where({passes}, {place} + 1, {place})")
        more, digit, several, first = (self.names.fresh(name) for name in ("more", "digit", "several", "first"))
        # Of few tiles all heads, say, have their first ones before one has its second.
        self._line(op, f"{first} = {_product([there, *beside])} <= {op.abreast.value.data}")
        self._line(op, f"{several} = gl.where({first}, {_product(beside)}, gl.maximum({there}, 1))")
        self._line(op, f"{more}, {digit} = ({rank} - {ahead}) // {several}, ({rank} - {ahead}) % {several}")
        self._line(op, f"{more}, {digit} = gl.where({first}, {digit}, {more}), gl.where({first}, {more}, {digit})")
        self._line(op, f"{more} += {place} * {_product(beside)}")
        if last.descending is not None:
            # The largest values are first, and those that there are last.
            self._line(op, f"{digit} += {self.counts[last]} - {there}")
        number = f"{more} * {self.counts[last]} + {digit}"
        self._line(op, f"return gl.where({place} < {places}, {number}, {self.tiles}), {place}, {ahead}")

    def _begin(self, found: list[roles.RoleOp]) -> None:
        """Makes the rings, and lets the roles begin: the first consumer is the kernel's own warps."""
        out = self.out
        for holder in self.holders:
            if isinstance(holder, OutboxOp) and holder.within is not None:
                continue
            if isinstance(holder, OrderOp):
                self._barriers_of(holder)
                continue
            name, stages = self.memory[holder.sym_name.data], holder.stages.value.data
            if isinstance(holder, BoardOp):
                made = f"gl.int32, [{stages}, 1], {ONE_NUMBER}"
            elif isinstance(holder, RelayOp | ExchangeOp):
                element, sizes = GLUON_TYPES.get(holder.element.data, "gl.float32"), holder.shape
                stages *= holder.among.value.data if isinstance(holder, ExchangeOp) else 1
                layout = shared_layout(sizes[1], RELAYED[holder.element.data]) if len(sizes) == 2 else ONE_NUMBER
                made = f"{element}, [{', '.join(map(str, [stages, *sizes]))}], {layout}"
            else:
                rows, columns = holder.box.values()
                kind = holder.element.data
                layout = shared_layout(columns, BOXED[kind])
                made = f"{GLUON_TYPES[kind]}, [{stages}, {rows}, {columns}], {layout}"
            out.line(f"{name} = gl.allocate_shared_memory({made})")
            if isinstance(holder, RingOp) and holder.sym_name.data in self.pieces:
                self._pieces_of(holder)
            if barred(holder):
                self._barriers_of(holder)
        out.line("fence_async_shared()")
        parts, warps, registers = [], list[int](), list[int]()
        for op in sorted(found, key=lambda op: isinstance(op, roles.ProducerOp)):
            given = ", ".join(self.taken[op])
            for part in range(op.count.value.data if isinstance(op, roles.ConsumersOp) else 1):
                number = f"{part}, " if isinstance(op, roles.ConsumersOp) else ""
                parts.append((self.role_names[op], f"{number}{given}"))
                warps.append(1 if isinstance(op, roles.ProducerOp) else 4)
                registers.append(op.registers.value.data)
        out.line("gl.warp_specialize([")
        with out.indented():
            for name, given in parts:
                out.listed(f"({name}, (", given.split(", "), ")),")
        out.line(f"], {warps[1:]}, {registers[1:]})")

    # --- statements

    def _statement(self, op: Operation) -> None:
        match op:
            case BoxesOp() | BoardOp() | RelayOp() | OrderOp() | ExchangeOp() | roles.RoleOp():
                pass
            case walks.WalkOp():
                self._walk(op)
            case walks.SectionOp():
                given = [self.text[op.number].code, self.text[op.many].code, self.tiles, self.counts[op.programs[-1]]]
                self._line(op, f"{self.names[op.result]} = _in_section({', '.join(given)})")
            case walks.ProgramsOp():
                self._digits(self.text[op.number].code, op.programs, op.values)
            case walks.TurnsOp():
                tiles = self.text[op.tiles].code
                turns = f"gl.maximum({tiles}, 1).to(gl.int32)" if op.any is None else f"gl.cast({tiles}, gl.int32)"
                self._line(op, f"{self.names[op.result]} = {turns if op.alike is None else f'_alike({turns})'}")
            case walks.TaskOp():
                pass
            case scf.IfOp() if not op.results:
                self._right(op)
            case scf.IfOp() if self.text.loads:
                self._either(op)
            case walks.RunOp():
                self._run(op)
            case walks.ShareOp():
                first, part = self.text[op.first].code, self.text[op.part].code
                self._line(op, f"{self.names[op.result]} = {first} + {part} * {op.rows.value.data}")
            case walks.TakeOp():
                counter = pointer_name(op.counter.string_value())
                walked = self.text[op.walked].code
                self._line(op, f"{self.names[op.result]} = _next_tile({counter}, {walked}, {self.tiles})")
            case walks.SeekOp():
                names = [self.names[value] for value in op.results]
                given = [self.text[value].code for value in (op.rank, op.place, op.ahead)]
                self.out.at(op.location)
                self.out.listed(f"{', '.join(names)} = {self.beside_names[op]}(", [*given, *self.taken[op]], ")")
            case walks.EndsOp():
                pass
            case walks.PostOp():
                number = f"gl.full([1], 0, gl.int32, {THREADS.format(1)}) + {self.text[op.number].within(9)}"
                self._line(op, f"{self._stage(op)}.store({number})")
                self._line(op, f"mbarrier.arrive({self._barrier(op, 'full')}, count=1)")
            case walks.NumberOp():
                self._line(op, f"{self.names[op.result]} = gl.sum({self._stage(op)}.load({THREADS.format(4)}), 0)")
            case roles.TurnOp():
                self._turn(op)
            case roles.WaitOp():
                barrier = self._barrier(op, op.barrier.data)
                self._line(op, f"mbarrier.wait({barrier}, {self.text[op.phase].code})")
            case roles.ExpectOp():
                self._line(op, f"mbarrier.expect({self._barrier(op, 'full')}, {op.count.value.data})")
            case roles.CopyOp():
                boxes, barrier = self.descriptors[op.declaration], self._barrier(op, "full")
                corner = self._corner([op.start[axis] for axis in op.declaration.order])
                self._copy(op, boxes, barrier, corner, self._stage(op))
            case gathers.GatherOp():
                self._gather(op)
            case gathers.StartsOp():
                pass
            case roles.ReleaseOp():
                self._release(op)
            case roles.PassOp():
                self._line(op, f"mbarrier.arrive({self._barrier(op, 'full')}, count=1)")
            case roles.PutOp():
                self._put(op)
            case roles.ViewOp() if not all(isinstance(user, FACTORS) for user in tile.users(op.result)):
                layout = self.text.own(self.text.axes_of(op.result))
                holder = op.holder
                assert isinstance(holder, RingOp | RelayOp | ExchangeOp)
                widened = ".to(gl.float32)" if holder.element.data in ("f16", "bf16") else ""
                self._line(op, f"{self.names[op.result]} = {self._view(op)}.load({layout}){widened}")
            case roles.ViewOp():
                self.text.keep(op.result, Text(self._view(op)))
            case arith.MuliOp() if self._is_known(op.result):
                # A part of a stage begins where its function knows it to.
                self._line(op, f"{self.names[op.result]}: gl.constexpr = {self.text.make(op).code}")
            case roles.AlongOp():
                self.text.keep(op.result, self.text[op.value])
            case roles.ProductOp():
                self._call(op, f"{self.names[op.result]} = ", self.text.product(op))
            case roles.OperandOp() if op.shared is not None:
                self._line(op, f"{self.names[op.result]} = {self.text.make(op).code}")
                if found_anew(op.result):
                    self._line(op, f"{self.names[op.result]}.index(0).store({self.text.rounded(op).code})")
                self._line(op, "fence_async_shared()")
            case roles.AwaitOp():
                self._await(op)
            case arith.AddiOp() | arith.AndIOp() if self.text.is_place(op.results[0]):
                pass
            case tile.RangeOp() if all(isinstance(user, NAMING) for user in tile.users(op.result)):
                pass
            case Operation() if len(op.results) == 1 and self.text.is_anew(op.results[0]):
                pass
            case tile.LoadOp() if self._is_apart_in_memory(op) and not self.text.loads:
                with self.text.in_memory("MEMORY" if len(self.text.axes_of(op.result)) == 2 else "LINE"):
                    self._call(op, f"{self.names[op.result]} = ", self.access.load(op))
                if not all(isinstance(user, roles.OperandOp) for user in tile.users(op.result)):
                    layout = self.text.own(self.text.axes_of(op.result))
                    name = self.names[op.result]
                    self._line(op, f"{name} = gl.convert_layout({name}, {layout})")
            case roles.HandOp():
                self._hand(op)
            case roles.ClearOp():
                self._line(op, f"_clear({self._stage(op)}, {self.text[op.count].code}, {self._cleared(op)})")
            case tile.StoreOp() if len(self.text.axes_of(op.value)) == 2 and op.scattered is None:
                self._store(op)
            case _:
                super()._statement(op)

    def _is_apart_in_memory(self, op: tile.LoadOp) -> bool:
        """Whether threads read other elements than they compute with.

        That is so of tiles, and of a number of each key: a thread has those of a quarter of them, as all rows have.
        """
        axes = self.text.axes_of(op.result)
        return op.apart is None and (len(axes) == 2 or (len(axes) == 1 and not self.text.is_row(axes[0])))

    def _walk(self, op: walks.WalkOp) -> None:
        """Takes a tile, and another one after each, as long as there is one."""
        takes, does = op.take.block, op.body.block
        carried = does.args[1:]
        for start, first, argument in zip(op.start, takes.args, carried, strict=True):
            name = self.names[argument]
            self.names.bind(first, name)
            self._line(op, f"{name} = gl.to_tensor({self.text[start].code})")
        number = self.names[op.goes.number]
        self.names.bind(does.args[0], number)
        for argument, value in zip(carried, op.goes.values, strict=True):
            self.names.bind(value, self.names[argument])  # what a seek begins with, nothing asks for after it
        self._block(takes)
        self._line(op, f"while {number} < {self.tiles}:")
        with self.out.indented():
            self._block(does)
            changed = [(a, value) for a, value in zip(carried, op.carries.values, strict=True) if value is not a]
            names = (self.names[argument] for argument, _ in changed)
            counts = (f"({self.text[value].code}).to(gl.int32)" for _, value in changed)
            self.out.line(f"{', '.join(names)} = {', '.join(counts)}")
            self._block(takes)
        if any(isinstance(each, roles.PutOp) and each.outbox.within is None for each in operations(op)):
            self._line(op, "tma.store_wait(0)")

    def _right(self, op: scf.IfOp) -> None:
        """Stores what is right, or else does a task; all threads do the same, which a GPU does not see by itself."""
        right, wrong = (region.block for region in op.regions)
        self._line(op, f"if _alike(({self.text[op.cond].code}).to(gl.int32)) != 0:")
        with self.out.indented():
            self._block(right)
        self.out.line(f"else:  # {super()._remark(op)}")
        with self.out.indented():
            self._block(wrong)

    def _either(self, op: scf.IfOp) -> None:
        """Reads what a full tile has, or what there is of another."""
        (result,) = op.results
        name = self.names[result]
        for line, region in ((f"if {self.text[op.cond].code}:", op.true_region), ("else:", op.false_region)):
            self._line(op, line)
            last = region.block.last_op
            assert isinstance(last, scf.YieldOp)
            self.names.bind(last.operands[0], name)
            with self.out.indented():
                self._block(region.block)

    def _run(self, op: walks.RunOp) -> None:
        """Does a task, whose text is a function."""
        task = op.declaration
        given = [self.text[op.number].code, self._part(op), *self.taken[task]]
        self.out.at(op.location)
        self.out.listed(f"{self.beside_names[task]}(", given, ")")

    def _part(self, op: Operation) -> str:
        """The name of a consumer's number."""
        role = op.parent_op()
        while not isinstance(role, roles.RoleOp):
            assert role is not None
            role = role.parent_op()
        return self.names[role.body.block.args[0]]

    def _range(self, op: tile.RangeOp) -> str:
        return self.text.range(op)

    def _remark(self, op: scf.IfOp) -> str:
        if any(isinstance(each, tile.LoopOp) for each in operations(op)):
            return super()._remark(op)
        return "a tile of which some row does not see all"


FACTORS = (roles.ProductOp, roles.OperandOp)
"""What takes what lies in a stage as products do."""

NAMING = (roles.ViewOp, roles.ProductOp, roles.OperandOp, roles.AlongOp, roles.HandOp, roles.PutOp)
"""What takes an axis only to say which one it means."""


ONE_NUMBER = "gl.SwizzledSharedLayout(1, 1, 1, [0])"
"""The layout of a number in shared memory."""

THREADS = "gl.BlockedLayout([1], [32], [{}], [0])"
"""The layout of a number that all threads of so many warps have."""


def _keys(holder: Holder) -> int:
    """The keys of a tile: what is filled for each turn comes first."""
    assert isinstance(holder, RingOp | RelayOp)
    return holder.shape[0] if isinstance(holder, RelayOp) else next(iter(holder.box.values()))


def _product(counts: Iterable[str]) -> str:
    return " * ".join(counts) or "1"


def _remark_of(op: Apart) -> str:
    """What a role does, or what has a function of its own."""
    loops = [each for each in operations(op) if isinstance(each, tile.LoopOp)]
    match op:
        case roles.ConsumersOp() if op.follow is not None:
            return FOLLOWS
        case roles.ConsumersOp() if not any(
            isinstance(v.owner, roles.OperandOp) for loop in loops for v in loop.end.values
        ):
            return FOLDS_EACH
        case roles.ProducerOp() if any(isinstance(each, roles.HandOp) for each in operations(op)):
            return COPIES_AND_HANDS
    return REMARKS[type(op)]


def _called(op: Apart) -> str:
    match op:
        case walks.SeekOp():
            return "seek"
        case walks.TaskOp():
            return op.sym_name.data
        case roles.ConsumersOp():
            return "consumer" if op.follow is None else "follower"
    return "loader" if isinstance(op, roles.LoaderOp) else "producer"


def _gluon(text: str) -> str:
    """A text of Triton's language in Gluon's, which has the same functions under the same names."""
    return re.sub(r"\btl\.", "gl.", text)
