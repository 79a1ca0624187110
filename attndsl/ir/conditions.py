"""When a kernel runs, as an attribute of the IR: a condition on extents, which a call knows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from attndsl.checking.symbolic import Expression, leaves
from attndsl.checking.typed import Kind
from attndsl.ir.extents import condition_text, kind_of, parse_condition
from attndsl.ir.xdsl import AttrParser, Data, Printer, VerifyException, irdl_attr_definition


@irdl_attr_definition
class ConditionAttr(Data[Expression]):
    """A comparison of integer expressions of dims and parameters, or several, all of which hold.

    "D > 0 and M * D < N * R"
    """

    name = "spec.condition"

    @cached_property
    def dims(self) -> frozenset[str]:
        """The dims that it is made of."""
        return frozenset(name for kind, name in leaves(self.data) if kind == "dim")

    @property
    def terms(self) -> Iterator[Expression]:
        """What holds together where it does."""
        left = [self.data]
        while left:
            match left.pop():
                case ("and", first, second):
                    left += [second, first]
                case term:
                    yield term

    def verify(self) -> None:
        """Raises VerifyException where it is no condition that a call knows."""
        if kind_of(self.data) is not Kind.BOOL or any(kind == "choice" for kind, _ in leaves(self.data)):
            raise VerifyException(f"{condition_text(self.data)!r} is no condition on dims and parameters")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Expression:
        """Reads a string."""
        start = parser.pos
        try:
            return parse_condition(parser.parse_str_literal())
        except ValueError as error:
            parser.raise_error(str(error), start, parser.pos)

    def print_parameter(self, printer: Printer) -> None:
        """Writes a string."""
        printer.print_string_literal(condition_text(self.data))
