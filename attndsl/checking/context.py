"""What every part of the checker shares: the spec's expressions, its errors so far, the block it is in."""

from __future__ import annotations

from dataclasses import dataclass, field

from attndsl.checking.arithmetic import Arithmetic
from attndsl.checking.axes import Axes
from attndsl.checking.graph import Graph
from attndsl.checking.typed import Index, Tensor, Write
from attndsl.checking.values import Value
from attndsl.diagnostics import MAX_ERRORS, Diagnostic
from attndsl.syntax.source import Source, Span


@dataclass
class CheckedBlock:
    """The block that is being checked; `over` is None until the block has one."""

    number: int
    span: Span
    each: tuple[Index, ...]
    over: tuple[Index, ...] | None = None
    over_span: Span | None = None
    writes: list[Write] = field(default_factory=list)
    at_keys: list[Write] = field(default_factory=list)  # weights, each at the place of its key


Definers = dict[str, list[tuple[Span, Span]]]
"""For each name of a spec, where it and the whole statement that defines it stand, each time that it is defined."""


class TooManyErrors(Exception):
    """MAX_ERRORS have been found."""


class Context:
    """The state of one run of the checker."""

    def __init__(self, source: Source, defined: Definers) -> None:
        self.source = source
        self.graph = Graph()
        self.arithmetic = Arithmetic(self.graph)
        self.defined = defined
        self.axes = Axes(self.graph, set(defined))
        self.rows: CheckedBlock | None = None
        self.opened: list[CheckedBlock] = []  # all that have been `rows`
        self.writers: dict[str, list[int]] = {}  # the numbers of the blocks that write a tensor
        self.read: set[str] = set()  # what blocks read of what blocks have written
        self.diagnostics: dict[Diagnostic, None] = {}

    def report(self, diagnostic: Diagnostic) -> Value | None:
        """Adds an error and gives None, which stands for a result that has been reported.

        The same error counts once, since definitions are looked at wherever they are used.
        """
        self.diagnostics[diagnostic] = None
        if len(self.diagnostics) == MAX_ERRORS:
            raise TooManyErrors
        return None

    def may_read(self, tensor: Tensor) -> bool:
        """Whether blocks before this one have written a tensor, or a call gives what it holds.

        A definition before the first block is asked again where one uses it.
        """
        if tensor.role == "input" or self.rows is None:
            return True
        writers = self.writers.get(tensor.name)
        if tensor.role == "inout":
            if any(number < self.rows.number for number in writers or ()):
                self.read.add(tensor.name)
            return True
        self.read.add(tensor.name)
        return writers is not None and all(number < self.rows.number for number in writers)

    def text(self, span: Span) -> str:
        """What stands in the source, on one line."""
        return " ".join(self.source.text[span.start : span.end].split())
