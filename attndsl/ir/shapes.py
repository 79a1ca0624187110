"""The extents of a tensor as an attribute of the IR: trees, of which the text is only the look."""

from __future__ import annotations

from functools import cached_property

from attndsl.checking.symbolic import Expression, leaves
from attndsl.checking.typed import Kind
from attndsl.ir.extents import extent_text, kind_of, parse_extent
from attndsl.ir.xdsl import AttrParser, Data, Printer, VerifyException, irdl_attr_definition


@irdl_attr_definition
class ShapeAttr(Data[tuple[Expression, ...]]):
    """Integer expressions of dims, parameters and what a launch chooses, one for each dimension of a tensor.

    ["B + 1", "max(0, N - param(window))", "choice(SPLITS)"]
    """

    name = "spec.shape"

    @cached_property
    def dims(self) -> frozenset[str]:
        """The dims that they are made of."""
        return frozenset(name for extent in self.data for kind, name in leaves(extent) if kind == "dim")

    def verify(self) -> None:
        """Raises VerifyException where one is no integer expression."""
        for extent in self.data:
            if kind_of(extent) is not Kind.INT:
                raise VerifyException(f"the extent {extent_text(extent)!r} is more than arithmetic on dims")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[Expression, ...]:
        """Reads strings in brackets."""

        def extent() -> Expression:
            start = parser.pos
            try:
                return parse_extent(parser.parse_str_literal())
            except ValueError as error:
                parser.raise_error(str(error), start, parser.pos)

        return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, extent))

    def print_parameter(self, printer: Printer) -> None:
        """Writes strings in brackets."""
        with printer.in_square_brackets():
            printer.print_list(self.data, lambda extent: printer.print_string_literal(extent_text(extent)))
