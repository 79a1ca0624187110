"""The `roles` dialect: *who* does what in a program of a GPU whose warps have roles.

It stands below `tile`, in a kernel of form "roles" or "wide": one role copies tiles of keys and values into rings of
shared memory, others multiply and fold them, each its own rows, or its own share of a row's sums: then the first of
them hands weights on to the others through a relay. What can't be copied as it lies, since it is no box or has to be
computed, such as keys of 8 bits, a role of its own loads, and hands it on through relays, too. What a role waits for
and what it releases is written down, as are the products that run while something else is computed.

    roles.ring @k_ring of @k along [2, 3] sizes [128, 128] stages 2 readers 2
    roles.producer registers 24 {
      roles.wait "empty" @k_ring[%stage] phase %one
      roles.expect @k_ring[%stage] bytes 32768
      roles.copy @k_ring[%stage] from(%b, %h, %j0, %zero)
      ...
    }
    roles.consumers 2 registers 240 {
    ^bb0(%part : index):
      ...
      roles.wait "full" @k_ring[%stage] phase %zero
      %k = roles.view @k_ring[%stage] over(%j, %d) : f32
      %later = roles.product %q, %k over %d : f32
      %s = roles.await %later pending 0 : f32
      roles.release @k_ring[%stage]
      ...
    }

A ring has `stages`, and each stage two barriers. `full` is passed when the bytes that were announced have landed;
`empty` when each of its readers has released the stage. A barrier counts its uses in phases, of which it tells two
apart: who waits says which one it waits for, and use n of a stage has phase n mod 2. Nothing else orders the roles.
"""

from __future__ import annotations

from collections.abc import Sequence

from attndsl.ir.loop import LoopOp, RangeOp, verify_axis
from attndsl.ir.rewrite import constant
from attndsl.ir.rings import (
    BARRIERS,
    BYTES,
    BoardOp,
    ExchangeOp,
    Holder,
    OrderOp,
    OutboxOp,
    RelayOp,
    RingOp,
    filled_with,
    holders_of,
)
from attndsl.ir.spec import Float
from attndsl.ir.traits import Axes, Removes, Variables, WellFormed
from attndsl.ir.xdsl import (
    Attribute,
    AttrSizedOperandSegments,
    Block,
    IndexType,
    IntegerAttr,
    IRDLOperation,
    NoTerminator,
    Operation,
    Pure,
    Region,
    SSAValue,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    VerifyException,
    index,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)


class StageOp(IRDLOperation):
    """What is about one stage of shared memory. Its operands come after those of the operation."""

    ring = prop_def(SymbolRefAttr)
    stage = operand_def(IndexType)

    @property
    def holder(self) -> Holder:
        """What has the stage; raises VerifyException where the kernel has none of that name."""
        name = self.ring.string_value()
        found = [each for each in holders_of(self) if each.sym_name.data == name]
        if len(found) != 1:
            raise VerifyException(f"{'no ring is' if not found else 'several rings are'} called @{name}")
        return found[0]

    @property
    def declaration(self) -> RingOp:
        """The ring; raises VerifyException where it is none."""
        if not isinstance(found := self.holder, RingOp):
            raise VerifyException(f"@{self.ring.string_value()} holds no boxes")
        return found

    def verify_(self) -> None:
        holder = self.holder
        if isinstance(self, BARRED) and isinstance(holder, RingOp | RelayOp) and holder.beside is not None:
            raise VerifyException(f"means the barriers of @{filled_with(holder)}")


@irdl_op_definition
class TurnOp(IRDLOperation):
    """The stage that use number `turn` of a ring has, and the phase in which it is full: counted from 0."""

    name = "roles.turn"
    turn = operand_def(IndexType)
    stages = prop_def(IntegerAttr[IndexType])
    stage = result_def(IndexType)
    phase = result_def(IndexType)
    traits = traits_def(Pure())
    assembly_format = "$turn `of` $stages attr-dict"

    def __init__(self, turn: SSAValue, stages: int) -> None:
        super().__init__(
            operands=[turn], properties={"stages": IntegerAttr(stages, index)}, result_types=[index, index]
        )


@irdl_op_definition
class WaitOp(StageOp):
    """Waits until a barrier of a stage has completed its phase of this number, 0 or 1.

    Of a barrier that nothing has arrived at, phase 1 is complete: the first use of a stage waits for nobody.
    """

    name = "roles.wait"
    barrier = prop_def(StringAttr)
    phase = operand_def(IndexType)
    assembly_format = "$barrier $ring `[` $stage `]` `phase` $phase attr-dict"

    def __init__(self, barrier: str, ring: str, stage: SSAValue, phase: SSAValue) -> None:
        super().__init__(
            properties={"barrier": StringAttr(barrier), "ring": SymbolRefAttr(ring)}, operands=[phase, stage]
        )

    def verify_(self) -> None:
        super().verify_()
        if self.barrier.data not in BARRIERS:
            raise VerifyException(f"a stage is {' or '.join(BARRIERS)}, not {self.barrier.data}")
        if self.barrier.data == "empty" and isinstance(self.holder, OrderOp | ExchangeOp):
            raise VerifyException("a stage of an order, or of an exchange, is full, and never empty")


@irdl_op_definition
class ExpectOp(StageOp):
    """Announces how many bytes will be copied into a stage, and beside it: it is full when they have landed."""

    name = "roles.expect"
    count = prop_def(IntegerAttr[IndexType])
    assembly_format = "$ring `[` $stage `]` `bytes` $count attr-dict"

    def __init__(self, ring: str, stage: SSAValue, count: int) -> None:
        super().__init__(properties={"ring": SymbolRefAttr(ring), "count": IntegerAttr(count, index)}, operands=[stage])


@irdl_op_definition
class CopyOp(StageOp):
    """Begins to copy a box of the ring's tensor into a stage: the box that begins at `start`, a place of each axis."""

    name = "roles.copy"
    start = var_operand_def(IndexType)
    assembly_format = "$ring `[` $stage `]` `from` `(` $start `)` attr-dict"

    def __init__(self, ring: str, stage: SSAValue, start: Sequence[SSAValue]) -> None:
        super().__init__(properties={"ring": SymbolRefAttr(ring)}, operands=[start, stage])

    def verify_(self) -> None:
        super().verify_()
        if len(self.start) != len(self.declaration.declaration.shape):
            raise VerifyException("says where its box begins along each axis of the tensor")
        if self.declaration.piece is not None:
            raise VerifyException(f"copies one box, and a stage of @{self.ring.string_value()} has one for each piece")


@irdl_op_definition
class PutOp(StageOp):
    """Puts a tile, its axes `over` those of a box, into a stage of an outbox, and begins to copy it to its tensor.

    One that `adds` adds it to what the tensor holds, each element at once, as all do that add to it.
    Before that it waits until what lay in the stage has been copied. What lies outside of the tensor is not written.
    Where data say how many rows there are, only the first so many are copied, the others being those of other tiles:
    `rows`, at places `below` the extent of their axis, which whoever copies them one by one asks for.
    A stage within a ring may be filled again only when what was put there has been copied: its release waits for that.
    """

    name = "roles.put"
    value = operand_def(Float)
    axes = var_operand_def(IndexType)
    start = var_operand_def(IndexType)
    rows = opt_operand_def(IndexType)
    below = opt_operand_def(IndexType)
    adds = opt_prop_def(UnitAttr)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$ring `[` $stage `]` $value `over` `(` $axes `)` (`adds` $adds^)? `to` `(` $start `)`"
        " (`rows` $rows^ `below` $below)? attr-dict `:` type($value)"
    )

    def __init__(
        self,
        outbox: str,
        stage: SSAValue,
        value: SSAValue,
        axes: Sequence[SSAValue],
        start: Sequence[SSAValue],
        adds: bool = False,
        most: tuple[SSAValue, SSAValue] | None = None,
    ) -> None:
        properties = {"ring": SymbolRefAttr(outbox), "adds": UnitAttr() if adds else None}
        rows, below = most or (None, None)
        super().__init__(properties=properties, operands=[value, axes, start, rows, below, stage])

    @property
    def outbox(self) -> OutboxOp:
        """The outbox; raises VerifyException where it is none."""
        if not isinstance(found := self.holder, OutboxOp):
            raise VerifyException(f"@{self.ring.string_value()} is no outbox")
        return found

    def verify_(self) -> None:
        super().verify_()
        if len(self.start) != len(self.outbox.declaration.shape) or len(self.axes) != 2:
            raise VerifyException("says where its box begins along each axis of the tensor, and the axes of its tile")
        if (self.rows is None) != (self.below is None):
            raise VerifyException("says of how many rows it copies below which place they lie")
        if self.rows is not None and (self.adds is not None or self.outbox.within is not None):
            raise VerifyException("copies all rows, where it adds, or where its outbox lies within a ring")
        for axis in self.axes:
            verify_axis(axis)


@irdl_op_definition
class ClearOp(StageOp):
    """Lets what lies in a stage of a ring be 0 from number `count` on along its first axis; if it is less, all of it.

    Whoever reads the stage does that: no other does before.
    """

    name = "roles.clear"
    count = operand_def(IndexType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = "$ring `[` $stage `]` `from` $count attr-dict"

    def __init__(self, ring: str, stage: SSAValue, count: SSAValue) -> None:
        super().__init__(properties={"ring": SymbolRefAttr(ring)}, operands=[count, stage])

    def verify_(self) -> None:
        super().verify_()
        if not isinstance(self.holder, RingOp):
            raise VerifyException(f"@{self.ring.string_value()} holds no boxes")


@irdl_op_definition
class HandOp(StageOp):
    """Puts a tile, or a number of each row, into a stage of a relay, rounded to its element; the stage is full then.

    What lies beside it is put there before. In an exchange it is the tile of consumer number `part`.
    """

    name = "roles.hand"
    value = operand_def(Float)
    axes = var_operand_def(IndexType)
    part = opt_operand_def(IndexType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = "$ring `[` $stage `]` (`part` $part^)? $value `over` `(` $axes `)` attr-dict `:` type($value)"

    def __init__(
        self, relay: str, stage: SSAValue, value: SSAValue, axes: Sequence[SSAValue], part: SSAValue | None = None
    ) -> None:
        super().__init__(properties={"ring": SymbolRefAttr(relay)}, operands=[value, axes, part, stage])

    @property
    def relay(self) -> RelayOp | ExchangeOp:
        """Where it is put; raises VerifyException where that is no relay, and no exchange."""
        if not isinstance(found := self.holder, RelayOp | ExchangeOp):
            raise VerifyException(f"@{self.ring.string_value()} is no relay")
        return found

    def verify_(self) -> None:
        super().verify_()
        _verify_axes(self.axes, len(self.relay.sizes))
        _verify_part(self.relay, self.part)
        sizes = [constant(axis.owner.size) for axis in self.axes if isinstance(axis.owner, RangeOp)]
        if sizes != self.relay.shape:
            name = self.ring.string_value()
            raise VerifyException(f"@{name} has room for {self.relay.shape} elements, not for {sizes}")


@irdl_op_definition
class ReleaseOp(StageOp):
    """Lets a stage be filled again, as far as this role is concerned: nothing that reads it is under way.

    One that is `fenced` waits until what was read into registers has arrived there.
    """

    name = "roles.release"
    fenced = opt_prop_def(UnitAttr)
    assembly_format = "(`fenced` $fenced^)? $ring `[` $stage `]` attr-dict"

    def __init__(self, ring: str, stage: SSAValue, fenced: bool = False) -> None:
        properties = {"ring": SymbolRefAttr(ring), "fenced": UnitAttr() if fenced else None}
        super().__init__(properties=properties, operands=[stage])


@irdl_op_definition
class PassOp(StageOp):
    """Lets the consumer go on whose stage of an order it is, and who waits until that is full."""

    name = "roles.pass"
    assembly_format = "$ring `[` $stage `]` attr-dict"

    def __init__(self, order: str, stage: SSAValue) -> None:
        super().__init__(properties={"ring": SymbolRefAttr(order)}, operands=[stage])

    @property
    def order(self) -> OrderOp:
        """In which it goes on; raises VerifyException where that is none."""
        if not isinstance(found := self.holder, OrderOp):
            raise VerifyException(f"@{self.ring.string_value()} is no order")
        return found

    def verify_(self) -> None:
        super().verify_()
        _ = self.order


@irdl_op_definition
class ViewOp(StageOp):
    """The tile that lies in a stage of a ring or a relay, along its axes. A product reads it where it lies.

    Whatever else takes it reads it into registers. It may be a part of that, which begins at number `first` of one of
    two axes. In an exchange it is the tile of consumer number `part`.
    """

    name = "roles.view"
    axes = var_operand_def(IndexType)
    part = opt_operand_def(IndexType)
    first = opt_operand_def(IndexType)
    along = opt_prop_def(IntegerAttr[IndexType])
    result = result_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$ring `[` $stage `]` (`part` $part^)? `over` `(` $axes `)` (`from` $first^ `along` $along)? attr-dict"
        " `:` type($result)"
    )

    def __init__(
        self,
        ring: str,
        stage: SSAValue,
        axes: Sequence[SSAValue],
        type_: Attribute,
        cut: tuple[SSAValue, int] | None = None,
        part: SSAValue | None = None,
    ) -> None:
        first, along = (None, None) if cut is None else (cut[0], IntegerAttr(cut[1], index))
        super().__init__(
            properties={"ring": SymbolRefAttr(ring), "along": along},
            operands=[axes, part, first, stage],
            result_types=[type_],
        )

    @property
    def lengths(self) -> list[int]:
        """How many elements it has along each axis."""
        sizes = [constant(axis.owner.size) for axis in self.axes if isinstance(axis.owner, RangeOp)]
        return [int(size) for size in sizes if size is not None]

    def verify_(self) -> None:
        super().verify_()
        holder = self.holder
        _verify_axes(self.axes, len(holder.sizes) if isinstance(holder, RelayOp | ExchangeOp) else 2)
        _verify_part(holder, self.part)
        if (self.first is None) != (self.along is None):
            raise VerifyException("says along which axis a part of a stage begins where")
        if self.along is not None and (len(self.axes) != 2 or self.along.value.data not in (0, 1)):
            raise VerifyException("a part is one of two axes")


def _verify_part(holder: Holder, part: SSAValue | None) -> None:
    if isinstance(holder, ExchangeOp) != (part is not None):
        raise VerifyException("says whose tile of an exchange it means, and of nothing else")


def _verify_axes(axes: Sequence[SSAValue], count: int) -> None:
    if len(axes) != count:
        raise VerifyException(f"what lies there has {count} {'axis' if count == 1 else 'axes'}")
    for axis in axes:
        verify_axis(axis)


class Along(Variables):
    """That the axis `old` of `value`, where it is given, becomes `new`."""

    def rests_on(self, op: OperandOp | AlongOp, result: SSAValue) -> tuple[SSAValue, ...]:
        return (op.value,)

    def axes(self, op: OperandOp | AlongOp, result: SSAValue, merged: Axes) -> Axes:
        return merged if op.old is None or op.new is None else merged - {op.old} | {op.new}


@irdl_op_definition
class AlongOp(IRDLOperation):
    """A tile that a loop has carried, `from` its axis of places `to` one of keys: scores made in the turn before."""

    name = "roles.along"
    value = operand_def(Float)
    old = operand_def(IndexType)
    new = operand_def(IndexType)
    result = result_def(Float)
    traits = traits_def(Pure(), Along())
    assembly_format = "$value `from` $old `to` $new attr-dict `:` type($result)"

    def __init__(self, value: SSAValue, old: SSAValue, new: SSAValue) -> None:
        super().__init__(operands=[value, old, new], result_types=[value.type])

    def verify_(self) -> None:
        for axis in (self.old, self.new):
            verify_axis(axis)
        if self.value.type != self.result.type:
            raise VerifyException("changes no number")


@irdl_op_definition
class OperandOp(IRDLOperation):
    """A tile as products take it for their left factor: rounded to `element`, in registers, or in `shared` memory.

    A loop carries the weights of a tile to the next turn: `from` its axis of keys `to` one of places in a tile.
    """

    name = "roles.operand"
    value = operand_def(Float)
    element = prop_def(StringAttr)
    shared = opt_prop_def(UnitAttr)
    old = opt_operand_def(IndexType)
    new = opt_operand_def(IndexType)
    result = result_def(Float)
    traits = traits_def(Pure(), Along())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = "$value `as` $element (`shared` $shared^)? (`from` $old^ `to` $new)? attr-dict `:` type($result)"

    def __init__(
        self,
        value: SSAValue,
        element: str,
        old: SSAValue | None = None,
        new: SSAValue | None = None,
        shared: bool = False,
    ) -> None:
        properties = {"element": StringAttr(element), "shared": UnitAttr() if shared else None}
        super().__init__(operands=[value, old, new], properties=properties, result_types=[value.type])

    def verify_(self) -> None:
        for axis in (self.old, self.new):
            if axis is not None:
                verify_axis(axis)
        if (self.old is None) != (self.new is None):
            raise VerifyException("says what an axis becomes")
        if self.element.data not in BYTES or self.value.type != self.result.type:
            raise VerifyException("rounds a tile to f16 or bf16")


@irdl_op_definition
class ProductOp(IRDLOperation):
    """Begins a product of matrices, as `tile.dot` has them; its sums are added to those of `onto`.

    It is under way until `roles.await` has it: only that takes its result, and a product that is added `onto` it.
    Products of a role end in their order. One that finds its left factor `anew` in each turn keeps nothing of where
    that lies in registers: 16 features are an operation of the matrix unit, and each would keep an address.
    """

    name = "roles.product"
    lhs = operand_def(Float)
    rhs = operand_def(Float)
    over = operand_def(IndexType)
    onto = opt_operand_def(Float)
    anew = opt_prop_def(UnitAttr)
    result = result_def(Float)
    traits = traits_def(Removes())
    assembly_format = "(`anew` $anew^)? $lhs `,` $rhs `over` $over (`onto` $onto^)? attr-dict `:` type($result)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue, over: SSAValue, onto: SSAValue | None, anew: bool = False) -> None:
        super().__init__(
            operands=[lhs, rhs, over, onto], properties={"anew": UnitAttr() if anew else None}, result_types=[lhs.type]
        )

    def verify_(self) -> None:
        verify_axis(self.over)
        if not isinstance(self.lhs.owner, OperandOp | ViewOp | LoopOp | Block):
            raise VerifyException(
                "has a left factor that lies where products take it from, as roles.operand puts it there"
            )
        right = self.rhs.owner.holder if isinstance(self.rhs.owner, ViewOp) else None
        if not isinstance(right, RingOp | RelayOp):
            raise VerifyException("has a right factor that lies in a ring or a relay")
        left = self.lhs.owner.holder if isinstance(self.lhs.owner, ViewOp) else None
        elements = {
            holder.element.data for holder in (left, right) if isinstance(holder, RingOp | RelayOp | ExchangeOp)
        }
        if len(elements) > 1 or not elements <= BYTES.keys():
            raise VerifyException("has factors of one element type, f16 or bf16")
        users = [use.operation for use in self.result.uses]
        if any(not isinstance(op, AwaitOp) and not self._goes_on(op) for op in users):
            raise VerifyException("only roles.await takes a product that is under way, or one that goes on with it")

    def _goes_on(self, op: Operation) -> bool:
        return isinstance(op, ProductOp) and op.onto is self.result and self.result not in (op.lhs, op.rhs)


@irdl_op_definition
class AwaitOp(IRDLOperation):
    """What a product has made, once no more than `pending` of those that began after it are under way."""

    name = "roles.await"
    product = operand_def(Float)
    pending = prop_def(IntegerAttr[IndexType])
    result = result_def(Float)
    assembly_format = "$product `pending` $pending attr-dict `:` type($result)"

    def __init__(self, product: SSAValue, pending: int) -> None:
        super().__init__(
            operands=[product], properties={"pending": IntegerAttr(pending, index)}, result_types=[product.type]
        )

    def verify_(self) -> None:
        if not isinstance(self.product.owner, ProductOp):
            raise VerifyException("waits for a product")


class RoleOp(IRDLOperation):
    """What some warps of a program do; all roles begin together, and the program ends with the last of them."""

    registers = prop_def(IntegerAttr[IndexType])
    body = region_def("single_block")

    def __init__(self, registers: int, block: Block | None = None, **more: Attribute | None) -> None:
        properties = {"registers": IntegerAttr(registers, index), **more}
        super().__init__(properties=properties, regions=[Region(Block() if block is None else block)])


@irdl_op_definition
class ProducerOp(RoleOp):
    """The warp that copies, and hands on what of a turn is numbers of each key alone."""

    name = "roles.producer"
    traits = traits_def(NoTerminator(), WellFormed())
    assembly_format = "`registers` $registers $body attr-dict"


@irdl_op_definition
class LoaderOp(RoleOp):
    """The group of four warps that loads what is no box, computes of it what others take, and hands that on."""

    name = "roles.loader"
    traits = traits_def(NoTerminator(), WellFormed())
    assembly_format = "`registers` $registers $body attr-dict"


@irdl_op_definition
class ConsumersOp(RoleOp):
    """The groups of four warps that multiply and fold: `count`, each of which knows its number.

    Those that `follow` fold nothing: they multiply weights that are handed on to them.
    """

    name = "roles.consumers"
    count = prop_def(IntegerAttr[IndexType])
    follow = opt_prop_def(UnitAttr)
    traits = traits_def(NoTerminator(), WellFormed())
    assembly_format = "(`follow` $follow^)? $count `registers` $registers $body attr-dict"

    def __init__(self, count: int, registers: int, follow: bool = False) -> None:
        more = {"count": IntegerAttr(count, index), "follow": UnitAttr() if follow else None}
        super().__init__(registers, Block(arg_types=[index]), **more)

    def verify_(self) -> None:
        if [argument.type for argument in self.body.block.args] != [index]:
            raise VerifyException("knows its number")


BARRED = (WaitOp, ExpectOp, ReleaseOp)
"""What is about the barriers of a stage."""

ROLE_OPERATIONS = (
    RingOp,
    BoardOp,
    OutboxOp,
    ExchangeOp,
    RelayOp,
    OrderOp,
    TurnOp,
    WaitOp,
    ExpectOp,
    CopyOp,
    PutOp,
    HandOp,
    ClearOp,
    ReleaseOp,
    PassOp,
    ViewOp,
    OperandOp,
    AlongOp,
    ProductOp,
    AwaitOp,
    ProducerOp,
    LoaderOp,
    ConsumersOp,
)
"""What roles do; `attndsl.ir.walks` has how they go from tile to tile."""
