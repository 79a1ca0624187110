"""Errors of characters: what no spec contains, each with what was meant."""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.diagnostics.base import Diagnostic


@dataclass(frozen=True)
class ForeignOperator(Diagnostic):
    found: str
    written: str

    code = "E016"
    message = "there is no operator `{found}`"
    label = "from another language"

    def hint(self) -> str:
        return self.written


@dataclass(frozen=True)
class ForeignComment(Diagnostic):
    found: str

    code = "E017"
    message = "a comment begins with `#`, not with `{found}`"
    label = "begins a comment elsewhere"


@dataclass(frozen=True)
class BadNumber(Diagnostic):
    found: str
    written: str

    code = "E019"
    message = "`{found}` is no number"
    label = "not a number"

    def hint(self) -> str:
        if "*" in self.written:
            return f"a name begins with a letter; a product is written `{self.written}`"
        return f"write `{self.written}`" if self.written else "a name begins with a letter"


@dataclass(frozen=True)
class Lookalike(Diagnostic):
    found: str
    name: str
    written: str

    code = "E020"
    message = "`{found}` is {name}, which only looks familiar"
    label = "outside ASCII"
    fix = "write `{written}`"


@dataclass(frozen=True)
class ControlCharacter(Diagnostic):
    name: str

    code = "E021"
    message = "the spec contains {name}"
    label = "cannot be seen"
    note = "a spec is plain text"
    fix = "remove it"


@dataclass(frozen=True)
class StrayCharacter(Diagnostic):
    found: str
    name: str

    code = "E022"
    message = "`{found}`, {name}, has no meaning here"
    label = "not part of the language"
