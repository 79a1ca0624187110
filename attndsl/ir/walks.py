"""Programs that stay: each takes tiles of the grid, one after another, until all are taken.

What a program begins with and ends with then runs beside the products of its tile before, or its next one: the role
that copies is ahead. That role takes the number of a tile, and posts it on a board, from where the others read it. The
first tile of a program is its own, and the later ones it takes off a counter that all programs share.

    roles.board @numbers stages 2 readers 2
    roles.producer registers 24 {
      roles.walk(%zero) take {
      ^bb0(%done: index):
        %number = roles.take @gqa_taken after %done
        %stage, %phase = roles.turn %done of 2
        ...
        roles.wait "empty" @numbers[%stage] phase %free
        roles.post @numbers[%stage] %number
        roles.go %number carrying(%done)
      } do {
      ^bb1(%number: index, %done: index):
        %b_1, %h_1, %i0_1 = roles.programs %number of(%b, %h, %i0) : index, index, index
        ...
        roles.next %done_and_one
      }
    }

`tile.program` of such a kernel says what programs there would be, in order; no value of one is taken. A number at which
there is none ends a walk: each role meets such a number once.

A tile whose rows met NaN that no row sees is computed again, key by key, and of the sums that met it nothing is stored.
That is a task of its own (`roles.task`), so that a role has no registers for it beside what the loop over keys has in
them. Threads of a task do not wait for each other: others of the program may be anywhere.

Where data say how many tiles of rows there are, of each request its own, most of those numbers would be of none. Then
what is taken is a rank, and the role that copies seeks the number of the tile that has it (`roles.seek`).
"""

from __future__ import annotations

from collections.abc import Sequence

from attndsl.ir import gathers, roles, tile
from attndsl.ir.rings import BoardOp, ExchangeOp, OrderOp, OutboxOp, RelayOp, RingOp
from attndsl.ir.spec import TensorOp, enclosing_tensor
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import (
    AttrSizedOperandSegments,
    Block,
    Dialect,
    IndexType,
    IntegerAttr,
    IRDLOperation,
    IsTerminator,
    NoTerminator,
    Pure,
    Region,
    SSAValue,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    UnitAttr,
    VerifyException,
    index,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)

FEW_TILES = 2
"""The tiles for each program up to which none are counted: all are some program's own."""


@irdl_op_definition
class TakeOp(IRDLOperation):
    """The number of a tile that no program has taken yet, by one that has taken so many before.

    The first one is that of the program itself, which waits for no memory. Others come behind all of these: a counter
    in memory says which, and then holds one more. Where each program has two at most, who had the first of all has the
    last of the others, for the longest come first; nobody counts, and no launch before sets the counter to 0. On an
    H200 causal calls of 32 heads and 1024 keys took 0.89 to 0.94 of the time, others 0.95 to 0.99.
    """

    name = "roles.take"
    counter = prop_def(SymbolRefAttr)
    walked = operand_def(IndexType)
    result = result_def(IndexType)
    assembly_format = "$counter `after` $walked attr-dict"

    def __init__(self, counter: str, walked: SSAValue) -> None:
        super().__init__(operands=[walked], properties={"counter": SymbolRefAttr(counter)}, result_types=[index])

    @property
    def declaration(self) -> TensorOp:
        """The counter, which is 0 when a call begins whose tiles are counted."""
        return enclosing_tensor(self, self.counter.string_value())

    def verify_(self) -> None:
        counter = self.declaration
        if counter.element.data != "i32" or counter.shape or counter.partial is None:
            raise VerifyException("counts in an i32 that is 0 when a call begins")


@irdl_op_definition
class PostOp(roles.StageOp):
    """Writes a number into a stage of a board, which is full then."""

    name = "roles.post"
    number = operand_def(IndexType)
    assembly_format = "$ring `[` $stage `]` $number attr-dict"

    def __init__(self, board: str, stage: SSAValue, number: SSAValue) -> None:
        super().__init__(properties={"ring": SymbolRefAttr(board)}, operands=[number, stage])


@irdl_op_definition
class NumberOp(roles.StageOp):
    """The number in a stage of a board."""

    name = "roles.number"
    result = result_def(IndexType)
    assembly_format = "$ring `[` $stage `]` attr-dict"

    def __init__(self, board: str, stage: SSAValue) -> None:
        super().__init__(properties={"ring": SymbolRefAttr(board)}, operands=[stage], result_types=[index])


class OfProgramsOp(IRDLOperation):
    """What is about all program variables of a kernel. They come after the operation's other operands."""

    variables = var_operand_def(IndexType)

    @property
    def programs(self) -> list[tile.ProgramOp]:
        """The program variables, in order."""
        return [value.owner for value in self.variables if isinstance(value.owner, tile.ProgramOp)]

    def verify_(self) -> None:
        kernel = tile.kernel_around(self)
        known = [] if kernel is None else [op for op in kernel.body.block.ops if isinstance(op, tile.ProgramOp)]
        if [value.owner for value in self.variables] != known:
            raise VerifyException("means all program variables of its kernel, in order")


@irdl_op_definition
class SeekOp(OfProgramsOp):
    """The number of the tile of a rank, among those that there are: the last program variable ends where data say.

    `ends` gives that end, `roles.ends`, for the values of the first program variables, all that it rests on. A seek
    begins at `place`, a number of these values in their order, ahead of which lie `ahead` tiles, none of them of this
    rank or a later one; and gives where it ended. Beyond the last tile it gives a number at which there is none.

    The variables between, heads say, have as many tiles each. Where all those of a place are no more than `abreast`,
    all of these have their first tiles, then all their second ones, and so on; else one has all its tiles first.
    """

    name = "roles.seek"
    rank = operand_def(IndexType)
    place = operand_def(IndexType)
    ahead = operand_def(IndexType)
    number = result_def(IndexType)
    found = result_def(IndexType)
    passed = result_def(IndexType)
    abreast = prop_def(IntegerAttr[IndexType])
    ends = region_def("single_block")
    assembly_format = (
        "$rank `from` `(` $place `,` $ahead `)` `of` `(` $variables `)` `abreast` $abreast `ends` $ends attr-dict"
    )

    def __init__(
        self, rank: SSAValue, place: SSAValue, ahead: SSAValue, variables: Sequence[SSAValue], by: int, abreast: int
    ) -> None:
        super().__init__(
            operands=[rank, place, ahead, variables],
            properties={"abreast": IntegerAttr(abreast, index)},
            result_types=[index] * 3,
            regions=[Region(Block(arg_types=[index] * by))],
        )

    @property
    def end(self) -> SSAValue:
        """The end that data say."""
        assert isinstance(self.ends.block.last_op, EndsOp)
        return self.ends.block.last_op.end

    def verify_(self) -> None:
        super().verify_()
        if len(self.ends.block.args) >= len(self.variables) or not isinstance(self.ends.block.last_op, EndsOp):
            raise VerifyException("says where the last program variable ends, by values of those before it")


@irdl_op_definition
class EndsOp(IRDLOperation):
    """Where the last program variable ends."""

    name = "roles.ends"
    end = operand_def(IndexType)
    traits = traits_def(IsTerminator())
    assembly_format = "$end attr-dict"

    def __init__(self, end: SSAValue) -> None:
        super().__init__(operands=[end])


@irdl_op_definition
class GoOp(IRDLOperation):
    """Goes on with the tile of this number, where there is one, and with what the walk carries."""

    name = "roles.go"
    number = operand_def(IndexType)
    values = var_operand_def(IndexType)
    traits = traits_def(IsTerminator())
    assembly_format = "$number `carrying` `(` $values `)` attr-dict"

    def __init__(self, number: SSAValue, values: Sequence[SSAValue]) -> None:
        super().__init__(operands=[number, values])


@irdl_op_definition
class NextOp(IRDLOperation):
    """What a walk carries on to its next tile."""

    name = "roles.next"
    values = var_operand_def(IndexType)
    traits = traits_def(IsTerminator())
    assembly_format = "$values attr-dict"

    def __init__(self, values: Sequence[SSAValue]) -> None:
        super().__init__(operands=[values])


@irdl_op_definition
class WalkOp(IRDLOperation):
    """Does something for each tile that the program takes: `take` says which one is next, `body` what is done."""

    name = "roles.walk"
    start = var_operand_def(IndexType)
    take = region_def("single_block")
    body = region_def("single_block")
    assembly_format = "`(` $start `)` `take` $take `do` $body attr-dict"

    def __init__(self, start: Sequence[SSAValue]) -> None:
        types = [index] * len(start)
        regions = [Region(Block(arg_types=types)), Region(Block(arg_types=[index, *types]))]
        super().__init__(operands=[start], regions=regions)

    @property
    def goes(self) -> GoOp:
        """What says which tile is next."""
        assert isinstance(self.take.block.last_op, GoOp)
        return self.take.block.last_op

    @property
    def carries(self) -> NextOp:
        """What goes on to the next tile."""
        assert isinstance(self.body.block.last_op, NextOp)
        return self.body.block.last_op

    def verify_(self) -> None:
        takes, does = self.take.block, self.body.block
        if not isinstance(takes.last_op, GoOp) or not isinstance(does.last_op, NextOp):
            raise VerifyException("says which tile is next, and what is carried on to it")
        carried = (self.start, takes.args, takes.last_op.values, does.args[1:], does.last_op.values)
        if len(set(map(len, carried))) != 1:
            raise VerifyException("carries as many values on as it begins with")
        if not isinstance(self.parent_op(), roles.RoleOp):
            raise VerifyException("stands in a role")


@irdl_op_definition
class TaskOp(IRDLOperation):
    """What a role does for the tile of a number, wherever `roles.run` says so, as a function of its own.

    It has no barrier: a tile of memory is read `apart`, and written `scattered`, and nothing is summed over rows, of
    which each group of threads has some.
    """

    name = "roles.task"
    sym_name = prop_def(SymbolNameConstraint())
    body = region_def("single_block")
    traits = traits_def(NoTerminator())
    assembly_format = "$sym_name $body attr-dict"

    def __init__(self, name: str) -> None:
        super().__init__(properties={"sym_name": StringAttr(name)}, regions=[Region(Block(arg_types=[index]))])

    def verify_(self) -> None:
        if [argument.type for argument in self.body.block.args] != [index]:
            raise VerifyException("is done for the tile of a number")
        if not isinstance(self.parent_op(), roles.RoleOp):
            raise VerifyException("stands in a role")
        for op in operations(self):
            if isinstance(op, tile.LoadOp) and op.apart is None:
                raise VerifyException("reads apart: its threads do not wait for each other")
            if isinstance(op, tile.StoreOp) and op.scattered is None:
                raise VerifyException("writes scattered: its threads do not wait for each other")
            over = op.over.owner if isinstance(op, tile.ReduceOp) else None
            if isinstance(over, tile.RangeOp) and isinstance(over.start.owner, ShareOp):
                raise VerifyException("sums nothing over rows: its threads do not wait for each other")
            if op.name.startswith("roles.") and not isinstance(op, ProgramsOp | ShareOp):
                raise VerifyException(f"does what a role does, {op.name}")


@irdl_op_definition
class RunOp(IRDLOperation):
    """Does a task of this role for the tile of a number."""

    name = "roles.run"
    task = prop_def(SymbolRefAttr)
    number = operand_def(IndexType)
    assembly_format = "$task `for` $number attr-dict"

    def __init__(self, task: str, number: SSAValue) -> None:
        super().__init__(properties={"task": SymbolRefAttr(task)}, operands=[number])

    @property
    def declaration(self) -> TaskOp:
        """The task; raises VerifyException where the role has none of that name."""
        role = self.parent_op()
        while role is not None and not isinstance(role, roles.RoleOp):
            role = role.parent_op()
        for op in () if role is None else role.body.block.ops:
            if isinstance(op, TaskOp) and op.sym_name.data == self.task.string_value():
                return op
        raise VerifyException(f"no task of this role is called @{self.task.string_value()}")

    def verify_(self) -> None:
        assert self.declaration


@irdl_op_definition
class ProgramsOp(OfProgramsOp):
    """The values that the program `variables` of a kernel have in the program of a number, the last varying fastest."""

    name = "roles.programs"
    number = operand_def(IndexType)
    values = var_result_def(IndexType)
    traits = traits_def(Pure())
    assembly_format = "$number `of` `(` $variables `)` attr-dict `:` type($values)"

    def __init__(self, number: SSAValue, variables: Sequence[SSAValue]) -> None:
        super().__init__(operands=[number, variables], result_types=[[index] * len(variables)])

    def verify_(self) -> None:
        super().verify_()
        if len(self.values) != len(self.variables):
            raise VerifyException("gives a value to each program variable")


@irdl_op_definition
class SectionOp(OfProgramsOp):
    """The number of the tile that is taken in place of one: so many values of all variables but the last go together.

    Of each such section of `many`, all have their first tiles, then all their second ones, and so on. A number at which
    there is no tile stays one.
    """

    name = "roles.section"
    number = operand_def(IndexType)
    many = operand_def(IndexType)
    result = result_def(IndexType)
    traits = traits_def(Pure())
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = "$number `of` `(` $variables `)` `by` $many attr-dict"

    def __init__(self, number: SSAValue, variables: Sequence[SSAValue], many: SSAValue) -> None:
        super().__init__(operands=[number, many, variables], result_types=[index])


@irdl_op_definition
class TurnsOp(IRDLOperation):
    """How many turns a tile has of so many tiles of keys: one at least, or `any` number of them.

    It fits in 32 bits, as places of boxes do: what is computed of 32 bits takes half the registers in each turn. On an
    H200 gradients of heads of 128 took 0.97 of the time for it, and causal heads of 128 0.96 to 1.

    One that is `alike` is said to be the same for all threads of a warp, where a GPU does not see it by itself: stages
    rest on it, and what products read is computed once for all threads then.
    """

    name = "roles.turns"
    tiles = operand_def(IndexType)
    alike = opt_prop_def(UnitAttr)
    any = opt_prop_def(UnitAttr)
    result = result_def(IndexType)
    traits = traits_def(Pure())
    assembly_format = "(`alike` $alike^)? (`any` $any^)? $tiles attr-dict"

    def __init__(self, tiles: SSAValue, alike: bool = False, any: bool = False) -> None:
        said = {"alike": UnitAttr() if alike else None, "any": UnitAttr() if any else None}
        super().__init__(operands=[tiles], properties=said, result_types=[index])


@irdl_op_definition
class ShareOp(IRDLOperation):
    """The first row of consumer number `part`, of a tile of rows of which each has so many, one after the other."""

    name = "roles.share"
    first = operand_def(IndexType)
    part = operand_def(IndexType)
    rows = prop_def(IntegerAttr[IndexType])
    result = result_def(IndexType)
    traits = traits_def(Pure())
    assembly_format = "$rows `rows` `from` $first `part` $part attr-dict"

    def __init__(self, rows: int, first: SSAValue, part: SSAValue) -> None:
        super().__init__(operands=[first, part], properties={"rows": IntegerAttr(rows, index)}, result_types=[index])


ROLES_LEVEL = Dialect(
    "roles",
    [
        *roles.ROLE_OPERATIONS,
        *(gathers.GatherOp, gathers.StartsOp),
        *(
            TakeOp,
            SeekOp,
            EndsOp,
            PostOp,
            NumberOp,
            GoOp,
            NextOp,
            WalkOp,
            TaskOp,
            RunOp,
            ProgramsOp,
            SectionOp,
            TurnsOp,
            ShareOp,
        ),
    ],
)
"""Who does what, in full."""

ACTIONS = (
    *(RingOp, BoardOp, OutboxOp, RelayOp, OrderOp, ExchangeOp),
    *(
        roles.WaitOp,
        roles.ExpectOp,
        roles.CopyOp,
        gathers.GatherOp,
        roles.PutOp,
        roles.HandOp,
        roles.ClearOp,
        roles.ReleaseOp,
        roles.PassOp,
        PostOp,
        RunOp,
    ),
)
"""What a role does that gives no value."""
