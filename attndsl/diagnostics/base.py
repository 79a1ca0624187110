"""What every diagnostic is: data with a stable code, apart from how it is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import ClassVar

from attndsl.printable import printable
from attndsl.syntax.source import Source, Span

MAX_ERRORS = 100
"""The search for errors ends at so many: a text with more of them is no spec."""


@dataclass(frozen=True, slots=True)
class Label:
    """A second place that matters, and what to say there."""

    span: Span
    text: str


@dataclass(frozen=True)
class Diagnostic:
    """One thing wrong with a spec, at one place.

    A subclass is one error: `code` is stable for ever, the templates are filled from the instance's fields, and an
    empty template is left out. One that is not `placed` is about the source as a whole.
    """

    span: Span

    code: ClassVar[str]
    message: ClassVar[str]
    label: ClassVar[str] = ""
    note: ClassVar[str] = ""
    fix: ClassVar[str] = ""
    placed: ClassVar[bool] = True

    def text(self, template: str) -> str:
        """A template with the instance's fields put in."""
        return template.format(**{field.name: _fit(getattr(self, field.name)) for field in fields(self)})

    def hint(self) -> str:
        """The way out, where there is one."""
        return self.text(self.fix)

    def others(self) -> tuple[Label, ...]:
        """Other places that matter."""
        return ()


class _CountedNumber(int):
    """A number that a template can ask to be counted in something: `{got:axis}` is `1 axis` or `2 axes`."""

    def __format__(self, noun: str) -> str:
        if not noun.isalpha():
            return super().__format__(noun)
        several = noun[:-2] + "es" if noun.endswith("is") else noun + "s"
        return f"{int(self)} {noun if self == 1 else several}"


def _fit(value: object) -> object:
    """A field as a message can bear it: not too long, and nothing that a terminal acts on."""
    if isinstance(value, str):
        return printable(value[:79] + "…" if len(value) > 80 else value)
    return _CountedNumber(value) if isinstance(value, int) else value


class SpecError(Exception):
    """A spec that cannot be used; `diagnostics` says why, in the order of the source."""

    def __init__(self, source: Source, diagnostics: Sequence[Diagnostic]) -> None:
        self.source = source
        self.diagnostics = tuple(sorted(diagnostics, key=lambda d: d.span.start))
        super().__init__(source, self.diagnostics)

    def __str__(self) -> str:
        from attndsl.diagnostics.render import render_all

        return render_all(self.diagnostics, self.source)
