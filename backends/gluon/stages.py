"""What roles share, as Gluon text: rings, relays and their barriers, and what is done with a stage of one."""

from __future__ import annotations

from collections.abc import Sequence

from attndsl.backends.gluon.expressions import GluonExpressions, in_shared_memory, lasts, shared_layout
from attndsl.backends.gpu.parameters import stride_names
from attndsl.backends.text import Text
from attndsl.backends.triton.emit import TritonKernel
from attndsl.ir import gathers, roles, tile
from attndsl.ir.rewrite import constant
from attndsl.ir.rings import (
    BARRIERS,
    Barred,
    BoxesOp,
    ExchangeOp,
    Holder,
    OrderOp,
    OutboxOp,
    RingOp,
    barred,
    barriers_of,
    completes,
    filled_with,
    holders_of,
)
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import Block, Operation, SSAValue, arith
from attndsl.python_names import pointer_name

GLUON_TYPES = {"f32": "gl.float32", "f16": "gl.float16", "bf16": "gl.bfloat16", "i8": "gl.int8", "u8": "gl.uint8"}


class StagesWriter(TritonKernel):
    """Writes what makes shared memory, and what fills, reads and releases it.

    `descriptors`, `memory`, `pieces` and `barriers` are the names of boxes, and of what roles share.
    """

    text: GluonExpressions
    descriptors: dict[BoxesOp, str]
    memory: dict[str, str]
    pieces: dict[str, str]
    barriers: dict[tuple[str, str], str]

    def _name(self, holder: Holder) -> None:
        name = holder.sym_name.data
        within = holder.within if isinstance(holder, OutboxOp) else None
        self.memory[name] = self.names.like(name) if within is None else self.memory[within.string_value()]
        if isinstance(holder, OrderOp):
            self.barriers[name, "full"] = self.memory[name]
            return
        if isinstance(holder, ExchangeOp):
            self.barriers[name, "full"] = self.names.like(f"{name}_full")
            return
        if isinstance(holder, RingOp) and holder.pieces != holder.box:
            self.pieces[name] = self.names.like(f"{plain_name(holder)}_pieces")
        if barred(holder):
            for barrier in BARRIERS:
                self.barriers[name, barrier] = self.names.like(f"{plain_name(holder)}_{barrier}")

    def _barriers(self, ring: str) -> list[str]:
        return [self.barriers[ring, barrier] for barrier in BARRIERS if (ring, barrier) in self.barriers]

    def _barriers_of(self, holder: Barred) -> None:
        """Makes the barriers of each stage of a memory, or of an order."""
        name, stages, out = holder.sym_name.data, holder.stages.value.data, self.out
        for barrier in self._barriers(name):
            out.line(f"{barrier} = gl.allocate_shared_memory(gl.int64, [{stages}, 1], mbarrier.MBarrierLayout())")
        stage = self.names.like("stage")
        out.line(f"for {stage} in gl.static_range({stages}):")
        with out.indented():
            for barrier, count in zip(self._barriers(name), barriers_of(holder).values(), strict=True):
                out.line(f"mbarrier.init({barrier}.index({stage}), count={count})")

    def _pieces_of(self, ring: RingOp) -> None:
        """Names the pieces of a ring: of a stage, so many columns of all rows lie behind one another."""
        name = ring.sym_name.data
        (rows, piece), (last, columns) = ring.copied.items()
        count = ring.stages.value.data * (ring.box[rows] // piece) * (ring.box[last] // columns)
        seen_as = [GLUON_TYPES[ring.declaration.element.data], f"[{count}, {piece}, {columns}]", shared_layout(columns)]
        self.out.listed(f"{self.pieces[name]} = _seen_as(", [self.memory[name], *seen_as], ")")

    def _turn(self, op: roles.TurnOp) -> None:
        turn, stages = self.text[op.turn].within(7), op.stages.value.data
        through = turn if stages == 1 else f"{turn} // {stages}"
        for value, text in ((op.stage, f"{turn} % {stages}"), (op.phase, f"{through} % 2")):
            if value.uses:
                self._line(op, f"{self.names[value]} = ({text}).to(gl.int32)")

    def _stage(self, op: roles.StageOp) -> str:
        holder, stage = op.holder, self.text[op.stage]
        if not isinstance(holder, ExchangeOp) or not isinstance(op, roles.HandOp | roles.ViewOp) or op.part is None:
            return f"{self.memory[op.ring.string_value()]}.index({stage.code})"
        place = f"{stage.within(7)} * {holder.among.value.data} + {self.text[op.part].code}"
        return f"{self.memory[holder.sym_name.data]}.index({place})"

    def _view(self, op: roles.ViewOp) -> str:
        """What a view sees of its stage."""
        if op.first is None or op.along is None:
            return self._stage(op)
        along = op.along.value.data
        return f"{self._stage(op)}.slice({self.text[op.first].code}, {op.lengths[along]}, dim={along})"

    def _barrier(self, op: roles.StageOp, barrier: str) -> str:
        holder = op.holder
        name = filled_with(holder)
        return f"{self.barriers[name, barrier]}.index({self.text[op.stage].code})"

    def _gather(self, op: gathers.GatherOp) -> None:
        """Copies a tile piece by piece, and of each so many columns at once as lie side by side in shared memory."""
        ring, first, key = op.declaration, self.text[op.first].within(7), self.names[op.starts.block.args[0]]
        (rows, piece), (last, columns) = ring.copied.items()
        pieces, parts = ring.box[rows] // piece, ring.box[last] // columns
        given = self.descriptors[ring], self._barrier(op, "full")
        if pieces == 1:
            self._line(op, f"{key} = {first}")
            self._block(op.starts.block)
            self._copy(op, *given, self._corner(op.start), self._stage(op))
            return
        memory, stage = self.pieces[ring.sym_name.data], self.text[op.stage].code
        number, part = self.names.fresh("piece"), self.names.fresh("part")
        self._line(op, f"for {number} in range({pieces}):")
        with self.out.indented():
            self._line(op, f"{key} = {first} + {number} * {piece}")
            self._block(op.starts.block)
            self._line(op, f"for {part} in gl.static_range({parts}):")
            with self.out.indented():
                corner = self._corner(op.start, f"{part} * {columns}")
                self._copy(op, *given, corner, f"{memory}.index(({stage} * {parts} + {part}) * {pieces} + {number})")

    def _copy(self, op: Operation, boxes: str, barrier: str, corner: str, memory: str) -> None:
        self._call(op, "", ["_copy_box(", boxes, corner, barrier, memory, ")"])

    def _corner(self, start: Sequence[SSAValue], further: str = "") -> str:
        """Where a box begins, so much further along its last axis."""
        places = [
            self.text[value].code if self._is_known(value) else f"{self.text[value].within(9)}.to(gl.int32)"
            for value in start
        ]
        if further:
            places[-1] = further if constant(start[-1]) == 0 else f"{places[-1]} + {further}"
        return f"[{', '.join(places)}]"

    @staticmethod
    def _is_known(value: SSAValue) -> bool:
        """Whether a place is a number, or one of a consumer's own, which its function knows."""
        op = value.owner
        factor = op.lhs if isinstance(op, arith.MuliOp) and constant(op.rhs) is not None else None
        return constant(value) is not None or (factor is not None and _is_number(factor))

    def _put(self, op: roles.PutOp) -> None:
        stage, element = self._stage(op), GLUON_TYPES[op.outbox.declaration.element.data]
        if op.outbox.within is None:
            self._line(op, f"tma.store_wait({_puts_beside(op) - 1})")
        stored = "" if element == "gl.float32" else f".to({element})"
        self._line(op, f"{stage}.store({self.text[op.value].within(9)}{stored})")
        corner = self._corner([op.start[axis] for axis in op.outbox.order])
        begins = "_store_box(" if op.adds is None else "_add_box("
        if op.rows is None:
            self._line(op, "fence_async_shared()")
            self._call(op, "", [begins, self.descriptors[op.outbox], corner, stage, ")"])
            return
        size, _ = op.outbox.box.values()
        self._line(op, f"if _alike(({self.text[op.rows].within(9)}).to(gl.int32)) >= {size}:")
        with self.out.indented():
            self._line(op, "fence_async_shared()")
            self._call(op, "", [begins, self.descriptors[op.outbox], corner, stage, ")"])
        self.out.line("else:  # rows behind are those of other tiles")
        with self.out.indented():
            self._call(op, "", ["_store_rows(", stage, self._rows_of(op), ")"])

    def _rows_of(self, op: roles.PutOp) -> str:
        """Of how many rows which are stored, and where: at which places, of so many rows each, and by which steps."""
        assert op.rows is not None and op.below is not None
        outbox = op.outbox
        tensor, (along, last), (_, columns) = outbox.declaration, outbox.box, outbox.box.values()
        across = None if outbox.across is None else outbox.across.value.data
        steps = stride_names(tensor)
        others = [(op.start[n], step) for n, step in enumerate(steps) if n != along]
        corner = [f"{self.text[place].within(7)} * {step}" for place, step in others if constant(place) != 0]
        begins = " + ".join([pointer_name(tensor.sym_name.data), *corner])
        rows, first, below = (self.text[value].code for value in (op.rows, op.start[along], op.below))
        pack = "1, 0"
        if outbox.pack is not None and across is not None:
            pack = f"{self.text[outbox.pack].within(9)}.to(gl.int32), {steps[across]}"
        layout = self.text.layout("MEMORY", columns)
        return f"{rows}, {first}, {below}, {begins}, {steps[along]}, {pack}, {steps[last]}, {layout}"

    def _release(self, op: roles.ReleaseOp) -> None:
        """Arrives at the barrier of a stage when what was read of it, or was put there, has left it."""
        if isinstance(op.holder, ExchangeOp):
            return  # none waits for it
        outboxes = [each for each in holders_of(op) if isinstance(each, OutboxOp) and each.ring is not None]
        if any(filled_with(each.ring) == op.ring.string_value() for each in outboxes if each.ring is not None):
            self._line(op, "tma.store_wait(0)")
        if op.fenced is not None:
            self._line(op, "fence_async_shared()")
        self._line(op, f"mbarrier.arrive({self._barrier(op, 'empty')}, count=1)")

    def _cleared(self, op: roles.ClearOp) -> str:
        """How many rows a stage has, and in what layout they are cleared."""
        rows, columns = op.declaration.box.values()
        return f"{rows}, {self.text.layout('MEMORY', columns)}"

    def _hand(self, op: roles.HandOp) -> None:
        """What products take from a relay is told to the unit that reads it, before the stage is full."""
        relay, value = op.relay, self.text[op.value].within(9)
        given = value if relay.element.data == "f32" else f"{value}.to({GLUON_TYPES[relay.element.data]})"
        self._line(op, f"{self._stage(op)}.store({given})")
        if completes(relay):
            if len(relay.shape) == 2:
                self._line(op, "fence_async_shared()")
            self._line(op, f"mbarrier.arrive({self._barrier(op, 'full')}, count=1)")

    def _await(self, op: roles.AwaitOp) -> None:
        """The register operands of a product stay where they are until it is complete."""
        product = op.product.owner
        assert isinstance(product, roles.ProductOp)
        name, waited = self.names[op.result], self.text[op.product].code
        pending = op.pending.value.data
        if in_shared_memory(product.lhs) or lasts(product):
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


def _puts_beside(op: roles.PutOp) -> int:
    """Of the copies that a role has begun, how many are as young as that of a stage which it fills anew, at least.

    For each tile it fills all of its outboxes, each time in one order, or none; where one is filled in each turn, or of
    which rows may be stored one by one, it waits for all.
    """
    role: Operation | None = op
    while not isinstance(role, roles.RoleOp):
        assert role is not None
        role = role.parent_op()
    puts = [each for each in operations(role) if isinstance(each, roles.PutOp) and each.outbox.within is None]
    some = any(isinstance(each.parent_op(), tile.LoopOp) or each.rows is not None for each in puts)
    return 1 if some else len(puts)


def _is_number(value: SSAValue) -> bool:
    """Whether a value is a consumer's number."""
    return isinstance(value.owner, Block) and isinstance(value.owner.parent_op(), roles.ConsumersOp)


def plain_name(holder: Holder | BoxesOp) -> str:
    """What the names of parts of what roles share begin with."""
    return holder.sym_name.data.removesuffix("_ring").removesuffix("_outbox").removesuffix("_relay")
