"""Errors of size: what passes a limit."""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.diagnostics.base import Diagnostic


@dataclass(frozen=True)
class SpecTooLong(Diagnostic):
    limit: int

    code = "E001"
    message = "the spec is longer than the {limit} bytes that are read of one"
    placed = False


@dataclass(frozen=True)
class NestedTooDeeply(Diagnostic):
    limit: int

    code = "E002"
    message = "expressions are nested more than {limit} deep"
    label = "too deep"
    fix = "name a part of it with `let`"


@dataclass(frozen=True)
class TooManyTokens(Diagnostic):
    limit: int

    code = "E005"
    message = "the spec has more than {limit} words and signs"
    label = "the limit is passed here"


@dataclass(frozen=True)
class DefinitionsTooDeep(Diagnostic):
    limit: int

    code = "E003"
    message = "with its definitions put in, an expression is nested more than {limit} deep"
    label = "this is too deep"
    note = "a definition is expanded wherever it is used"


@dataclass(frozen=True)
class TooManyExpressions(Diagnostic):
    limit: int

    code = "E004"
    message = "with its definitions put in, the spec has more than {limit} different expressions"
    label = "the limit is passed here"
    note = "a definition is expanded wherever it is used; one that uses another twice, at different indices, doubles it"


@dataclass(frozen=True)
class TooManyParts(Diagnostic):
    limit: int

    code = "E060"
    message = "with its definitions put in, an extent or something of dims and parameters has more than {limit} parts"
    label = "the limit is passed here"
    note = "every call computes it; a definition that uses another twice doubles it"
