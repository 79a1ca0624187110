"""What roles share: memory that one of them fills and others read, in stages; and what a program leaves to be copied.

Part of the `roles` dialect (`attndsl.ir.roles`), whose operations wait for stages, fill them and release them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard, cast, get_args

from attndsl.ir.spec import TensorOp, enclosing_tensor
from attndsl.ir.xdsl import (
    ArrayAttr,
    Attribute,
    IndexType,
    IntegerAttr,
    IRDLOperation,
    Operation,
    SSAValue,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    UnitAttr,
    VerifyException,
    index,
    irdl_op_definition,
    opt_operand_def,
    opt_prop_def,
    prop_def,
)

BARRIERS = ("full", "empty")

BYTES = {"f16": 2, "bf16": 2}
"""The element types of rings, and the bytes of one."""

RELAYED = {"f32": 4, **BYTES}
"""The same of relays."""

COPIED = {"i8": 1, "u8": 1, **BYTES}
"""The same of what is copied: of 8 bits some role makes numbers that products take."""

BOXED = {"f32": 4, **COPIED}
"""The same of boxes, of which those of floats are added up."""

SIDE_BY_SIDE = 128
"""The bytes of a row that lie side by side in shared memory; what follows lies behind those of all other rows."""


def _integers(values: Sequence[int]) -> ArrayAttr[IntegerAttr]:
    return ArrayAttr([IntegerAttr(value, index) for value in values])


class BoxesOp(IRDLOperation):
    """Shared memory for `stages` boxes of a tensor: `sizes` elements `along` two of its axes, one of all others.

    Rows that are packed lie `across` an axis of heads, too: `pack` of them beside one another, for each place along
    the first of those two. The number of one divides the other.
    """

    sym_name = prop_def(SymbolNameConstraint())
    tensor = prop_def(SymbolRefAttr)
    along = prop_def(ArrayAttr[IntegerAttr])
    sizes = prop_def(ArrayAttr[IntegerAttr])
    stages = prop_def(IntegerAttr[IndexType])
    across = opt_prop_def(IntegerAttr[IndexType])
    pack = opt_operand_def(IndexType)

    def __init__(
        self,
        name: str,
        tensor: SymbolRefAttr,
        along: Sequence[int],
        sizes: Sequence[int],
        stages: int,
        heads: tuple[int, SSAValue] | None = None,
        **more: Attribute | None,
    ) -> None:
        across, pack = (None, None) if heads is None else heads
        super().__init__(
            operands=[pack],
            properties={
                "across": None if across is None else IntegerAttr(across, index),
                "sym_name": StringAttr(name),
                "tensor": tensor,
                "along": _integers(along),
                "sizes": _integers(sizes),
                "stages": IntegerAttr(stages, index),
                **more,
            },
        )

    @property
    def declaration(self) -> TensorOp:
        """The tensor whose boxes it holds."""
        return enclosing_tensor(self, self.tensor.string_value())

    @property
    def element(self) -> StringAttr:
        """The element type of what it holds."""
        return self.declaration.element

    @property
    def box(self) -> dict[int, int]:
        """How many elements a box has along each axis of the tensor along which it has several."""
        return {a.value.data: size.value.data for a, size in zip(self.along, self.sizes, strict=True)}

    @property
    def copied(self) -> dict[int, int]:
        """How many elements one copy has along each axis, as `box` has those of a stage."""
        return self.box

    def copied_of(self, pack: int) -> dict[int, int]:
        """How many elements one copy has along each axis where so many heads are packed, in the order of their rows."""
        if self.across is None:
            return self.copied
        (rows, size), *others = self.copied.items()
        heads = min(pack, size)
        return dict([(rows, size // heads), (self.across.value.data, heads), *others])

    @property
    def order(self) -> list[int]:
        """The axes of the tensor in the order in which a copy goes through them: heads lie beside one another."""
        axes = list(range(len(self.declaration.shape)))
        if self.across is not None:
            axes.remove(self.across.value.data)
            axes.insert(axes.index(next(iter(self.box))) + 1, self.across.value.data)
        return axes

    @property
    def bytes(self) -> int:
        """The bytes of a box."""
        rows, columns = self.box.values()
        return rows * columns * BOXED[self.declaration.element.data]

    def verify_(self) -> None:
        rank, along = len(self.declaration.shape), list(self.box)
        known = COPIED if isinstance(self, RingOp) else BOXED
        if self.declaration.element.data not in known:
            raise VerifyException(f"boxes are of {', '.join(known)}, not of {self.declaration.element.data}")
        if len(self.along) != 2 or len(self.sizes) != 2 or not 0 <= along[0] < along[-1] == rank - 1:
            raise VerifyException("a box lies along two axes of its tensor, the last one among them")
        if (self.across is None) != (self.pack is None):
            raise VerifyException("says across which axis how many heads lie")
        if self.across is not None and not 0 <= self.across.value.data < rank - 1:
            raise VerifyException("heads lie across an axis of the tensor")
        if self.across is not None and self.across.value.data in along:
            raise VerifyException("heads lie across another axis than places")
        if min(self.stages.value.data, *self.box.values()) < 1:
            raise VerifyException("has a stage and an element at least")


@irdl_op_definition
class RingOp(BoxesOp):
    """Shared memory for boxes that are read.

    What of a box lies outside of its tensor is 0, or NaN if it says so, and what lies from `end` on along its last axis
    is 0. So many `readers` release a stage before it is filled again. A ring that lies `beside` another has no
    barriers: its stages are filled, full and released with those of the other. Of one that has `pieces`, so many keys
    lie side by side in the tensor, and each piece is a box (`roles.gather`).
    """

    name = "roles.ring"
    readers = prop_def(IntegerAttr[IndexType])
    beside = opt_prop_def(SymbolRefAttr)
    end = opt_prop_def(IntegerAttr[IndexType])
    piece = opt_prop_def(IntegerAttr[IndexType])
    nan = opt_prop_def(UnitAttr)
    assembly_format = (
        "$sym_name `of` $tensor `along` $along (`across` $across^ `by` $pack)? `sizes` $sizes "
        "(`end` $end^)? (`pieces` $piece^)? (`nan` $nan^)? "
        "`stages` $stages `readers` $readers (`beside` $beside^)? attr-dict"
    )

    def __init__(
        self,
        name: str,
        tensor: SymbolRefAttr,
        along: Sequence[int],
        sizes: Sequence[int],
        stages: int,
        readers: int,
        beside: str | None = None,
        end: int | None = None,
        piece: int | None = None,
        nan: bool = False,
        heads: tuple[int, SSAValue] | None = None,
    ) -> None:
        super().__init__(
            name,
            tensor,
            along,
            sizes,
            stages,
            heads,
            readers=IntegerAttr(readers, index),
            beside=None if beside is None else SymbolRefAttr(beside),
            end=None if end is None else IntegerAttr(end, index),
            piece=None if piece is None else IntegerAttr(piece, index),
            nan=UnitAttr() if nan else None,
        )

    @property
    def pieces(self) -> dict[int, int]:
        """How many elements a piece has along each axis; the box itself where it has none."""
        (rows, size), last = self.box.items()
        return dict([(rows, size if self.piece is None else self.piece.value.data), last])

    @property
    def copied(self) -> dict[int, int]:
        """How many elements one copy has along each axis: of a piece, what lies side by side in shared memory."""
        if self.pieces == self.box:
            return self.box
        rows, (last, columns) = self.pieces.items()
        return dict([rows, (last, min(SIDE_BY_SIDE // COPIED[self.declaration.element.data], columns))])

    @property
    def together(self) -> list[RingOp]:
        """The rings whose stages are filled with those of this one, itself among them."""
        rings = [holder for holder in holders_of(self) if isinstance(holder, RingOp)]
        return [ring for ring in rings if filled_with(ring) == filled_with(self)]

    def verify_(self) -> None:
        super().verify_()
        if self.readers.value.data < 1:
            raise VerifyException("has a reader at least")
        if self.end is not None and self.end.value.data < 1:
            raise VerifyException("ends where its tensor does, or before")
        if self.end is not None and self.nan is not None:
            raise VerifyException("has one number for what lies outside of its boxes")
        if self.piece is not None and next(iter(self.box.values())) % self.piece.value.data:
            raise VerifyException("has whole pieces")
        _verify_beside(self, "ring")


@irdl_op_definition
class OutboxOp(BoxesOp):
    """Shared memory for boxes that are written, from where they are copied while something else is computed.

    One `within` a ring has no memory of its own: what is put into a stage lies over what was copied into that of the
    ring, which whoever puts it has to itself, and releases behind it.
    """

    name = "roles.outbox"
    within = opt_prop_def(SymbolRefAttr)
    assembly_format = (
        "$sym_name `of` $tensor `along` $along (`across` $across^ `by` $pack)? `sizes` $sizes `stages` $stages "
        "(`within` $within^)? attr-dict"
    )

    @property
    def ring(self) -> RingOp | None:
        """The ring within which it lies; None of one with memory of its own."""
        if self.within is None:
            return None
        name = self.within.string_value()
        return next((op for op in holders_of(self) if isinstance(op, RingOp) and op.sym_name.data == name), None)

    def verify_(self) -> None:
        super().verify_()
        if self.within is None:
            return
        ring, others = self.ring, [op for op in holders_of(self) if isinstance(op, OutboxOp) and op is not self]
        if ring is None or any(op.within == self.within for op in others):
            raise VerifyException("lies within a ring, and no other does")
        alike = [*ring.box.values()] == [*self.box.values()] and ring.bytes == self.bytes
        alike = alike and (ring.across, ring.pack) == (self.across, self.pack)
        if not alike or ring.stages != self.stages or ring.readers.value.data != 1:
            raise VerifyException("lies within a ring of as many boxes of that size, each of which has one reader")


@irdl_op_definition
class BoardOp(IRDLOperation):
    """Shared memory for `stages` numbers of tiles; so many `readers` release a stage before it is written again."""

    name = "roles.board"
    sym_name = prop_def(SymbolNameConstraint())
    stages = prop_def(IntegerAttr[IndexType])
    readers = prop_def(IntegerAttr[IndexType])
    assembly_format = "$sym_name `stages` $stages `readers` $readers attr-dict"

    def __init__(self, name: str, stages: int, readers: int) -> None:
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "stages": IntegerAttr(stages, index),
                "readers": IntegerAttr(readers, index),
            }
        )

    def verify_(self) -> None:
        if min(self.stages.value.data, self.readers.value.data) < 1:
            raise VerifyException("has a stage and a reader at least")


@irdl_op_definition
class OrderOp(IRDLOperation):
    """Barriers, one for each of several consumers, by which they do something one after the other.

    That of a consumer is full when the one before it has passed on to it (`roles.pass`), the last one to the first. The
    first use of the first one waits for nobody, as phase 1 of a barrier at which nothing has arrived is complete.
    """

    name = "roles.order"
    sym_name = prop_def(SymbolNameConstraint())
    stages = prop_def(IntegerAttr[IndexType])
    assembly_format = "$sym_name `among` $stages attr-dict"

    def __init__(self, name: str, stages: int) -> None:
        super().__init__(properties={"sym_name": StringAttr(name), "stages": IntegerAttr(stages, index)})

    def verify_(self) -> None:
        if self.stages.value.data < 2:
            raise VerifyException("has a barrier for each of two consumers or more")


@irdl_op_definition
class RelayOp(IRDLOperation):
    """Shared memory for what one role hands on to others: a tile, or a number of each row, or key, in `stages`.

    So many `readers` release a stage before it is filled again. One that lies `beside` another, or a ring, has no
    barriers: its stages are full and released with those of the other.
    """

    name = "roles.relay"
    sym_name = prop_def(SymbolNameConstraint())
    element = prop_def(StringAttr)
    sizes = prop_def(ArrayAttr[IntegerAttr])
    stages = prop_def(IntegerAttr[IndexType])
    readers = prop_def(IntegerAttr[IndexType])
    beside = opt_prop_def(SymbolRefAttr)
    assembly_format = (
        "$sym_name `of` $element `sizes` $sizes `stages` $stages `readers` $readers (`beside` $beside^)? attr-dict"
    )

    def __init__(
        self, name: str, element: str, sizes: Sequence[int], stages: int, readers: int, beside: str | None = None
    ) -> None:
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "element": StringAttr(element),
                "sizes": _integers(sizes),
                "stages": IntegerAttr(stages, index),
                "readers": IntegerAttr(readers, index),
                "beside": None if beside is None else SymbolRefAttr(beside),
            }
        )

    @property
    def shape(self) -> list[int]:
        """How many elements it has along each axis."""
        return [size.value.data for size in self.sizes]

    def verify_(self) -> None:
        if self.element.data not in RELAYED or len(self.sizes) not in (1, 2):
            raise VerifyException("holds a tile, or a number of each row, of f32, f16 or bf16")
        if min(self.stages.value.data, self.readers.value.data, *self.shape) < 1:
            raise VerifyException("has a stage, a reader and an element at least")
        _verify_beside(self, "relay or ring")


@irdl_op_definition
class ExchangeOp(IRDLOperation):
    """Shared memory for a tile that each of so many consumers hands on to all, itself too, in `stages`.

    A stage is full when all have handed on theirs. None waits until one is empty: who hands on has released the stage
    before, and so have all where that of this turn is full.
    """

    name = "roles.exchange"
    sym_name = prop_def(SymbolNameConstraint())
    element = prop_def(StringAttr)
    sizes = prop_def(ArrayAttr[IntegerAttr])
    stages = prop_def(IntegerAttr[IndexType])
    among = prop_def(IntegerAttr[IndexType])
    assembly_format = "$sym_name `of` $element `sizes` $sizes `stages` $stages `among` $among attr-dict"

    def __init__(self, name: str, element: str, sizes: Sequence[int], stages: int, among: int) -> None:
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "element": StringAttr(element),
                "sizes": _integers(sizes),
                "stages": IntegerAttr(stages, index),
                "among": IntegerAttr(among, index),
            }
        )

    @property
    def shape(self) -> list[int]:
        """How many elements a tile has along each axis."""
        return [size.value.data for size in self.sizes]

    def verify_(self) -> None:
        if self.element.data not in BYTES or len(self.sizes) != 2:
            raise VerifyException(f"holds tiles of {' or '.join(BYTES)}")
        if min(self.stages.value.data, self.among.value.data, *self.shape) < 1:
            raise VerifyException("has a stage, a consumer and an element at least")


Holder = RingOp | BoardOp | OutboxOp | RelayOp | OrderOp | ExchangeOp

_HOLDERS = frozenset(get_args(Holder))  # looked up: each operation of a kernel is asked, for each of its stages

Barred = RingOp | BoardOp | RelayOp | OrderOp | ExchangeOp
"""What may have barriers."""


def barred(holder: Holder) -> TypeGuard[Barred]:
    """Whether a memory has barriers of its own."""
    return isinstance(holder, BoardOp | OrderOp | ExchangeOp) or (
        isinstance(holder, RingOp | RelayOp) and holder.beside is None
    )


def holders_of(op: Operation) -> list[Holder]:
    """What the roles of the kernel share that an operation stands in: rings, boards, relays, outboxes and others."""
    kernel = op
    while (parent := kernel.parent_op()) is not None and parent.name != "builtin.module":
        kernel = parent
    return [cast(Holder, each) for region in kernel.regions for each in region.ops if type(each) in _HOLDERS]


def barriers_of(holder: Barred) -> dict[str, int]:
    """The barriers of each stage, and how many arrive at one before its phase ends.

    Who copies into a ring arrives at that, and so does who hands on what lies beside it.
    """
    if isinstance(holder, OrderOp | ExchangeOp):
        return {"full": 1 if isinstance(holder, OrderOp) else holder.among.value.data}
    full = 1 + (isinstance(holder, RingOp) and bool(relays_with(holder)))
    return {"full": full, "empty": holder.readers.value.data}


def filled_with(holder: Holder) -> str:
    """The name of the memory that has the barriers of its stages: it is filled, full and released with that."""
    beside = holder.beside if isinstance(holder, RingOp | RelayOp) else None
    return holder.sym_name.data if beside is None else beside.string_value()


def relays_with(holder: RingOp | RelayOp) -> list[RelayOp]:
    """The relays whose stages are full with those of a memory, in the order in which they are made."""
    relays = [each for each in holders_of(holder) if isinstance(each, RelayOp)]
    return [each for each in relays if filled_with(each) == filled_with(holder)]


def completes(relay: RelayOp | ExchangeOp) -> bool:
    """Whether all of a stage is handed on with this: it has the barriers, or is the first of those beside a ring."""
    together = relays_with(relay) if isinstance(relay, RelayOp) else []
    return barred(relay) or (together[0] is relay and not any(map(barred, together)))


def _verify_beside(holder: RingOp | RelayOp, kind: str) -> None:
    """Raises VerifyException where what a memory lies beside is no such thing, or has other stages or readers."""
    others = [each for each in holders_of(holder) if isinstance(each, RingOp | RelayOp) and each.beside is None]
    others = [each for each in others if isinstance(each, RingOp | type(holder))]
    alike = [each for each in others if (each.stages, each.readers) == (holder.stages, holder.readers)]
    if filled_with(holder) not in [each.sym_name.data for each in alike]:
        raise VerifyException(f"lies beside a {kind} with barriers, of as many stages and readers")
