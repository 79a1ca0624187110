"""What a kernel of the `tile` level walks with: axes of tiles, loops over them, and passes over their elements."""

from __future__ import annotations

from collections.abc import Sequence

from attndsl.ir.traits import Binds, WellFormed
from attndsl.ir.xdsl import (
    Attribute,
    Block,
    HasParent,
    IndexType,
    IntegerAttr,
    IRDLOperation,
    IsTerminator,
    Parser,
    Printer,
    Pure,
    RecursiveMemoryEffect,
    Region,
    SSAValue,
    StringAttr,
    UnresolvedOperand,
    VerifyException,
    arith,
    i1,
    index,
    irdl_op_definition,
    lazy_traits_def,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)

TILES = ("full", "mixed")


@irdl_op_definition
class RangeOp(IRDLOperation):
    """Makes an axis of tiles: its index takes the values start … min(start + size, stop) - 1, all at once."""

    name = "tile.range"
    variable = prop_def(StringAttr)
    start = operand_def(IndexType)
    stop = operand_def(IndexType)
    size = operand_def(IndexType)
    result = result_def(IndexType)
    traits = traits_def(Pure(), Binds())
    assembly_format = "$variable `from` $start `to` $stop `size` $size attr-dict"

    def __init__(self, variable: str, start: SSAValue, stop: SSAValue, size: SSAValue) -> None:
        super().__init__(
            properties={"variable": StringAttr(variable)}, operands=[start, stop, size], result_types=[index]
        )


def verify_axis(value: SSAValue) -> None:
    """Raises VerifyException unless `value` is an axis."""
    if not isinstance(value.owner, RangeOp):
        raise VerifyException("works over a value that is no tile.range")


@irdl_op_definition
class OuterLoopOp(IRDLOperation):
    """The outer variable of a nest of two loops, of which the loop that it stands in is the inner one.

    That runs whole, from its start to its end, once for each of the values 0 … extent - 1 that this gives, and carries
    on from one to the next. What the loop's ends are rests on none of its values.

        %r = tile.loop %i0 = %start to %M step %keys iter_args(%s = %s0) -> (f32) {
          %t = tile.outer "t" to %group
          ...
        }
    """

    name = "tile.outer"
    variable = prop_def(StringAttr)
    extent = operand_def(IndexType)
    result = result_def(IndexType)
    traits = lazy_traits_def(lambda: (HasParent(LoopOp),))  # not pure: without uses, too, it says how often
    assembly_format = "$variable `to` $extent attr-dict"

    def __init__(self, variable: str, extent: SSAValue) -> None:
        super().__init__(properties={"variable": StringAttr(variable)}, operands=[extent], result_types=[index])

    def verify_(self) -> None:
        around = self.parent_op()
        if isinstance(around, LoopOp) and around.outer is not self:
            raise VerifyException("a loop is in a nest of two: it has one tile.outer")


@irdl_op_definition
class YieldOp(IRDLOperation):
    """Ends a turn of a loop: what the next turn finds carried. Ends what is fused: what it gives."""

    name = "tile.yield"
    values = var_operand_def()
    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(LoopOp, FusedOp), Pure()))
    assembly_format = "($values^ `:` type($values))? attr-dict"

    def __init__(self, *values: SSAValue) -> None:
        super().__init__(operands=[values])

    def verify_(self) -> None:
        around = self.parent_op()
        types = [value.type for value in self.values]
        if isinstance(around, LoopOp) and types != [v.type for v in around.iter_args]:
            raise VerifyException("ends a turn with values of other types than the loop carries")
        if isinstance(around, FusedOp) and types != [v.type for v in around.res]:
            raise VerifyException("gives values of other types than what is fused")


@irdl_op_definition
class LoopOp(IRDLOperation):
    """A loop: its variable takes the values lb, lb + step … below ub, one a turn, which changes what is carried.

    Over keys, a turn has the tile of them that begins at the variable, or, where its body has no axis, a single key.
    Over features, it has one of a contraction that no tile holds.

    `rows from … to …` says where each row's own keys start and stop, where that differs from lb and ub: a turn leaves
    alone what is carried for a row none of whose keys it has. Its body sees to that, and compares keys with these ends:
    who runs it need not look at them.

    The first argument of the body is the variable, the others what is carried: it begins as `iter_args`, and the values
    of `tile.yield` replace it, all at once, along the same axes. `lb`, `ub` and `step` have no axes.

        %r = tile.loop %j0 = %start to %stop step %keys rows from %start to %row_stop iter_args(%s = %s0) -> (f32) {
          %j = tile.range "j" from %j0 to %stop size %keys
          %seen = arith.cmpi sgt, %row_stop, %j : index
          ...
          tile.yield %s1 : f32
        }

    Where full tiles have been taken apart from mixed ones, `tiles` says which this loop walks: of `full` ones every row
    sees every key. `stages` is how many turns are under way at once, whatever the launch's schedule says:

        %r = tile.loop mixed stages 1 %j0 = %full_stop to %stop step %keys iter_args(%s = %r0) -> (f32) { ... }
    """

    name = "tile.loop"
    lb = operand_def(IndexType)
    ub = operand_def(IndexType)
    step = operand_def(IndexType)
    iter_args = var_operand_def()
    row_start = operand_def(IndexType)
    row_stop = operand_def(IndexType)
    tiles = opt_prop_def(StringAttr)
    stages = opt_prop_def(IntegerAttr)
    res = var_result_def()
    body = region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect())

    def __init__(
        self,
        lb: SSAValue,
        ub: SSAValue,
        step: SSAValue,
        iter_args: Sequence[SSAValue],
        body: Region | None = None,
        row_start: SSAValue | None = None,
        row_stop: SSAValue | None = None,
    ) -> None:
        types = [value.type for value in iter_args]
        super().__init__(
            operands=[lb, ub, step, iter_args, row_start or lb, row_stop or ub],
            result_types=[types],
            regions=[body or Region(Block(arg_types=[index, *types]))],
        )

    @property
    def end(self) -> YieldOp:
        """What ends a turn."""
        last = self.body.block.last_op
        assert isinstance(last, YieldOp), "the verifier holds that"
        return last

    @property
    def axis(self) -> RangeOp | None:
        """The tile of keys of a turn; None where a turn has a single key."""
        return next((op for op in self.body.block.ops if isinstance(op, RangeOp)), None)

    @property
    def outer(self) -> OuterLoopOp | None:
        """The outer variable of its nest; None where it is no inner loop."""
        return next((op for op in self.body.block.ops if isinstance(op, OuterLoopOp)), None)

    @property
    def is_full(self) -> bool:
        """Whether every row sees every key of its tiles."""
        return self.tiles is not None and self.tiles.data == "full"

    @property
    def is_mixed(self) -> bool:
        """Whether its full tiles have been taken out."""
        return self.tiles is not None and self.tiles.data == "mixed"

    def merge(self, result: SSAValue) -> type[arith.MinSIOp | arith.MaxSIOp] | None:
        """By what a result is the least, or the largest, of what it starts from and of what comes; None of others."""
        place = self.results.index(result)
        end = self.end.values[place].owner
        if isinstance(end, arith.MinSIOp | arith.MaxSIOp) and self.body.block.args[1 + place] in end.operands:
            return type(end)
        return None

    def verify_(self) -> None:
        if self.tiles is not None and self.tiles.data not in TILES:
            raise VerifyException(f"the tiles of a loop are {' or '.join(TILES)}, not {self.tiles.data}")
        if self.stages is not None and self.stages.value.data < 1:
            raise VerifyException("has at least one turn under way at once")
        types = [value.type for value in self.iter_args]
        if [arg.type for arg in self.body.block.args] != [index, *types]:
            raise VerifyException("the body of a loop takes an integer and what the loop carries")
        if not isinstance(self.body.block.last_op, YieldOp):
            raise VerifyException("the body of a loop ends with tile.yield")

    def print(self, printer: Printer) -> None:
        """Prints what stands after the name."""
        variable, *carried = self.body.block.args
        printer.print_string(" ")
        if self.tiles is not None:
            printer.print_string(f"{self.tiles.data} ")
        if self.stages is not None:
            printer.print_string(f"stages {self.stages.value.data} ")
        for text, value in zip(("", " = ", " to ", " step "), (variable, self.lb, self.ub, self.step), strict=True):
            printer.print_string(text)
            printer.print_ssa_value(value)
        if (self.row_start, self.row_stop) != (self.lb, self.ub):
            for text, value in zip((" rows from ", " to "), (self.row_start, self.row_stop), strict=True):
                printer.print_string(text)
                printer.print_ssa_value(value)
        if carried:
            printer.print_string(" iter_args(")
            printer.print_list(zip(carried, self.iter_args, strict=True), lambda pair: _print_start(printer, *pair))
            printer.print_string(") -> (")
            printer.print_list([value.type for value in carried], printer.print_attribute)
            printer.print_string(")")
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> LoopOp:
        """Parses what stands after the name."""
        tiles = parser.parse_optional_keyword_in(TILES)
        stages = parser.parse_integer() if parser.parse_optional_keyword("stages") else None
        variable = parser.parse_argument(expect_type=False).resolve(index)
        parser.parse_punctuation("=")
        lb = parser.parse_operand(index)
        parser.parse_keyword("to")
        ub = parser.parse_operand(index)
        parser.parse_keyword("step")
        step = parser.parse_operand(index)
        row_start, row_stop = lb, ub
        if parser.parse_optional_keyword("rows"):
            parser.parse_keyword("from")
            row_start = parser.parse_operand(index)
            parser.parse_keyword("to")
            row_stop = parser.parse_operand(index)
        arguments: list[Parser.Argument] = []
        starts: Sequence[SSAValue] = ()
        place = parser.pos
        if parser.parse_optional_keyword("iter_args"):
            carried = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, lambda: _parse_start(parser))
            parser.parse_punctuation("->")
            types = parser.parse_comma_separated_list(Parser.Delimiter.PAREN, parser.parse_type)
            starts = parser.resolve_operands([start for _, start in carried], types, place)
            arguments = [argument.resolve(type_) for (argument, _), type_ in zip(carried, types, strict=True)]
        loop = cls(lb, ub, step, starts, parser.parse_region((variable, *arguments)), row_start, row_stop)
        loop.tiles = StringAttr(tiles) if tiles is not None else None
        loop.stages = IntegerAttr(stages, index) if stages is not None else None
        loop.attributes |= parser.parse_optional_attr_dict()
        return loop


@irdl_op_definition
class FusedOp(IRDLOperation):
    """What is computed in one pass over the elements of a tile: chains of pointwise operations, and reductions of them.

    Its values are those of what `tile.yield` names; each element is read once, and what is not named is never stored.
    An operation takes no reduction that stands beside it: that is whole when all elements have been passed. What masks
    a part of a tile stands alone, with its condition, and the elements are those of the part, where the tile lies.
    `where` says of which calls a pass over elements is worth it; elsewhere each operation makes a tile of its own. That
    is for an emitter to read: the values are the same.

        %p, %l = tile.fused where %large -> (f32, f32) {
          %d = arith.subf %score, %m : f32
          %w = math.exp %d : f32
          %t = tile.sum %w over %j : f32 to f32
          tile.yield %w, %t : f32, f32
        }
    """

    name = "tile.fused"
    where = operand_def(i1)
    res = var_result_def()
    body = region_def("single_block")
    traits = traits_def(Pure(), WellFormed())
    assembly_format = "`where` $where `->` `(` type($res) `)` $body attr-dict"

    def __init__(self, where: SSAValue, body: Region, results: Sequence[Attribute]) -> None:
        super().__init__(operands=[where], result_types=[results], regions=[body])

    @property
    def end(self) -> YieldOp:
        """What names its values."""
        last = self.body.block.last_op
        assert isinstance(last, YieldOp), "the verifier holds that"
        return last

    def made(self, value: SSAValue) -> SSAValue:
        """What one of its values is called in it."""
        return self.end.values[self.res.index(value)]

    def verify_(self) -> None:
        if not isinstance(self.body.block.last_op, YieldOp):
            raise VerifyException("ends with tile.yield")


def _print_start(printer: Printer, argument: SSAValue, start: SSAValue) -> None:
    printer.print_ssa_value(argument)
    printer.print_string(" = ")
    printer.print_ssa_value(start)


def _parse_start(parser: Parser) -> tuple[Parser.UnresolvedArgument, UnresolvedOperand]:
    argument = parser.parse_argument(expect_type=False)
    parser.parse_punctuation("=")
    return argument, parser.parse_unresolved_operand()
