"""Characters and numbers that no spec contains, each with what was meant."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from attndsl import diagnostics as errors
from attndsl.diagnostics import Diagnostic
from attndsl.syntax.foreign import foreign_operator, foreign_string
from attndsl.syntax.source import Span

_SIGNS = {
    "-": "−‐‑‒–—", "*": "×∗", ".": "⋅·∙", "/": "÷∕⁄",
    "<=": "≤", ">=": "≥", "!=": "≠", "and": "∧", "or": "∨", "not": "¬",
    "inf": "∞", "in": "∈", "=": "←≔", "<": "‹", ">": "›",
}  # fmt: skip
_LETTERS = {
    "аеорсухіјѕһԁԛԝ": "aeopcyxijshdqw", "АВЕКМНОРСТХІЈЅ": "ABEKMHOPCTXIJS",
    "αβγικνορυχωτ": "abyikvopuxwt", "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ": "ABEZHIKMNOPTYX",
}  # fmt: skip
_MEANT = {
    **dict.fromkeys("∑Σ", "write `sum(d in D) x[d]` over an axis, `sum(x)` over keys"),
    "√": "write `sqrt(x)`",
    "ᵀ": "nothing is transposed: `.` sums along the last axis of both",
}
_LIKE_ASCII = {sign: written for written, signs in _SIGNS.items() for sign in signs}
_LIKE_ASCII |= {letter: like for foreign, ours in _LETTERS.items() for letter, like in zip(foreign, ours, strict=True)}
"""Signs of mathematics, and letters of other scripts that print like ASCII ones."""

_WORDS = "and|or|not|in|if|then|else|up|to"
_LEXEME = re.compile(
    rf"""
      (?P<comment> \#[^\n]* )
    | (?P<slashes> ^[ \t]*//[^\n]* | //[ \t]*$
        | //(?=[^\n#]{{0,80}}?\b(?!(?:{_WORDS})\b)\w+[ ]+(?!(?:{_WORDS})\b)\w)[^\n]* )
    | (?P<block> /\*[\s\S]*?(?:\*/|\Z) )
    | (?P<string> "{{3}}[\s\S]*?"{{3}} | "[^"\n]*" | '[^'\n]*' )
    | [A-Za-z_][A-Za-z0-9_]*
    | (?P<number>
        (?: 0[xX] | [0-9]+ (?:\.[0-9]+ | \.(?!\.))? (?:[eE][+-]?[0-9]+)? | (?<![.\w\])])\.[0-9]+ ) [A-Za-z0-9_]* )
    | \](?: \s++ | \#[^\n]*+ )*+ \+=
    | (?P<operator>
        !==|===|(?:\*\*|//|<<|>>|[-+*/%|&^])=|&&|\|\||\|>|<>|=<|=>|->|:=|\?\?|\*\*|//|\.\.+=?|[~@²³]|!(?!=)
        |\?(?!(?:\s|\#[^\n]*)*+[,\]]) )
    | (?P<odd> [^\x20-\x7e\t\r\n] | [$`\\'"] )
    """,
    re.VERBOSE | re.MULTILINE,
)
"""Comments, names, numbers and `o[i] +=`, and what stands in no spec: `//` begins a comment where prose follows, `?`
stands behind extents alone."""

_GOOD_NUMBER = re.compile(r"0x[0-9a-fA-F]+|[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_C_NUMBER = re.compile(r"(0x[0-9a-f]+|[0-9.]+(?:e[+-]?[0-9]+)?)(?:f|u|l|ul|ll|ull|[fiu][0-9]+)?")
_PRODUCT = re.compile(r"([1-9][0-9]*)(?![eE]\b)([A-Za-z]\w*)")


def odd_lexemes(text: str) -> Iterator[tuple[Diagnostic, Span | None]]:
    """An error for everything that no spec contains, and what to leave out for a sound rest, where that is known."""
    for match in _LEXEME.finditer(text):
        found, span = match.group(), Span(*match.span())
        match match.lastgroup:
            case "comment":
                yield from ((error, span) for error in _controls(found, span.start))
            case "slashes" | "block":
                start = span.end - len(found.lstrip())
                yield errors.characters.ForeignComment(Span(start, start + 2), found=text[start : start + 2]), span
            case "number" if not _GOOD_NUMBER.fullmatch(found):
                shown = found if len(found) <= 32 else found[:31] + "…"
                yield errors.characters.BadNumber(span, found=shown, written=_number(found)), None
            case "string":
                yield foreign_string(text, span), None
            case "operator":
                yield foreign_operator(text, span), None
            case "odd" if found.isascii() and found.isprintable():
                yield errors.characters.StrayCharacter(span, found=found, name=_name(found)), None
            case "odd":
                yield _foreign(found, span), None


def _number(found: str) -> str:
    """What was meant by a word that begins with a digit or a point and is no number; empty where that is not clear."""
    word = found.replace("_", "").lower()
    if word[:2] in ("0b", "0o"):
        base = 2 if word[1] == "b" else 8
        return str(int(word, base)) if word[2:].isdigit() and max(word[2:]) < str(base) and len(word) <= 66 else ""
    if number := _C_NUMBER.fullmatch(word):
        written = re.sub(r"\.(?![0-9])", ".0", number[1])
        written = f"0{written}" if written[0] == "." else written
        return written if _GOOD_NUMBER.fullmatch(written) else ""
    product = _PRODUCT.fullmatch(found)
    return f"{product[1]} * {product[2]}" if product and "_" not in found else ""


def _controls(comment: str, start: int) -> Iterator[Diagnostic]:
    """Comments may hold any letters, but nothing that a terminal acts on."""
    for offset, character in enumerate(comment):
        if unicodedata.category(character) in ("Cc", "Cs") and character not in "\t\r":
            yield errors.characters.ControlCharacter(Span(start + offset, start + offset + 1), name=_name(character))


def _foreign(found: str, span: Span) -> Diagnostic:
    if found in _MEANT:
        return errors.characters.ForeignOperator(span, found=found, written=_MEANT[found])
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
