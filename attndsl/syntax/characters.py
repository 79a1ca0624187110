"""Characters and numbers that no spec contains, each with what was meant."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from attndsl import diagnostics as errors
from attndsl.diagnostics import Diagnostic
from attndsl.syntax.source import Span

_SIGNS = {
    "-": "−‐‑‒–—", "*": "×∗", ".": "⋅·∙", "/": "÷∕⁄",
    "<=": "≤", ">=": "≥", "!=": "≠", "and": "∧", "or": "∨", "not": "¬",
    "inf": "∞", "in": "∈", "sum(…)": "∑Σ", "sqrt(…)": "√", "=": "←≔", "<": "‹", ">": "›",
}  # fmt: skip
_LETTERS = {
    "аеорсухіјѕһԁԛԝ": "aeopcyxijshdqw", "АВЕКМНОРСТХІЈЅ": "ABEKMHOPCTXIJS",
    "αβγικνορυχωτ": "abyikvopuxwt", "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ": "ABEZHIKMNOPTYX",
}  # fmt: skip
_LIKE_ASCII = {sign: written for written, signs in _SIGNS.items() for sign in signs}
_LIKE_ASCII |= {letter: like for foreign, ours in _LETTERS.items() for letter, like in zip(foreign, ours, strict=True)}
"""Signs of mathematics, and letters of other scripts that print like ASCII ones."""

_ODD = re.compile(r"#[^\n]*|[^\x20-\x7e\t\r\n]|[!](?!=)|[$@?~`\\'\"]")
_NUMBER = re.compile(r"#[^\n]*|[A-Za-z_]\w*|(?P<number>\d+(?:\.\d+)?(?:[eE][+-]\d+)?\w*)")
_GOOD_NUMBER = re.compile(r"0x[0-9a-fA-F]+|[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def odd_characters(text: str) -> Iterator[Diagnostic]:
    """An error for every character outside comments that the language does not know."""
    for match in _ODD.finditer(text):
        found, span = match.group(), Span(*match.span())
        if found[0] == "#":
            yield from _controls(found, span.start)
        elif found == "!":
            yield errors.characters.ForeignOperator(span, found="!", written="write `not`")
        elif found.isascii() and found.isprintable():
            yield errors.characters.StrayCharacter(span, found=found, name=_name(found))
        else:
            yield _foreign(found, span)


def odd_numbers(text: str) -> Iterator[Diagnostic]:
    """An error for every word that begins with a digit and is no number."""
    for match in _NUMBER.finditer(text):
        word = match["number"]
        if word and not _GOOD_NUMBER.fullmatch(word):
            plain = word.replace("_", "")
            written = plain.lower() if _GOOD_NUMBER.fullmatch(plain.lower()) else ""
            shown = word if len(word) <= 32 else word[:31] + "…"
            yield errors.characters.BadNumber(Span(*match.span("number")), found=shown, written=written)


def _controls(comment: str, start: int) -> Iterator[Diagnostic]:
    """Comments may hold any letters, but nothing that a terminal acts on."""
    for offset, character in enumerate(comment):
        if unicodedata.category(character) in ("Cc", "Cs") and character not in "\t\r":
            yield errors.characters.ControlCharacter(Span(start + offset, start + offset + 1), name=_name(character))


def _foreign(found: str, span: Span) -> Diagnostic:
    if unicodedata.category(found) in ("Cc", "Cf", "Cs", "Co", "Cn"):
        return errors.characters.ControlCharacter(span, name=_name(found))
    written = _LIKE_ASCII.get(found) or unicodedata.normalize("NFKC", found)
    if written == " " or (written.isascii() and written.isprintable()):
        return errors.characters.Lookalike(span, found=found, name=_name(found), written=written)
    return errors.characters.StrayCharacter(span, found=found, name=_name(found))


def _name(character: str) -> str:
    """The Unicode name and number: `EN DASH (U+2013)`."""
    name = unicodedata.name(character, "a control character")
    return f"{name} (U+{ord(character):04X})"
