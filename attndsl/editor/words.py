"""The words and signs of the language by what they are, as the grammar and the tables of the checker have them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from attndsl.checking.calls import FUNCTION_NAMES
from attndsl.checking.declarations import PARAMETER_KINDS
from attndsl.checking.typed import STORAGE_KINDS
from attndsl.syntax.parse import lexemes

DECLARATIONS = ("attention", "dims", "types", "input", "output", "schedule")
"""The keywords that declare something; `inout` and `temp` are such where they begin a declaration."""

CONSTANTS = ("true", "false", "inf")

WORD_OPERATORS = ("and", "or", "not")

TYPES = tuple(sorted({*STORAGE_KINDS, *PARAMETER_KINDS}))

_BRACKETS = "(){}[],:;"


@cache
def patterns() -> dict[str, str]:
    """Regular expressions of what a spec is written with, by what it is; the first that matches counts.

    They are of the kind that Python and editors have in common. Each character of a text without errors is matched by
    one of them, or is white space.
    """
    grammar = lexemes()
    keywords = {text for text in grammar.values() if text.isidentifier()}
    signs = {sign for name, text in grammar.items() if not _is_word(name, text) for sign in _alternatives(text)}
    brackets = {re.escape(sign) for sign in _BRACKETS}
    return {
        "comment": grammar["COMMENT"],
        "declaration": "|".join((_words(DECLARATIONS), grammar["INOUT"], grammar["TEMP"])),
        "constant": _words(CONSTANTS),
        "function": _words(FUNCTION_NAMES) + r"(?=\s*\()",  # elsewhere they are names as others
        "word operator": _words(WORD_OPERATORS),
        "keyword": _words(keywords - {*DECLARATIONS, *CONSTANTS, *WORD_OPERATORS}),
        "type": _words(TYPES),
        "number": grammar["NUMBER"],
        "name": grammar["NAME"],
        "operator": "|".join(sorted(signs - brackets, key=_longest_first)),
        "punctuation": f"[{re.escape(_BRACKETS)}]",
    }


def _is_word(name: str, pattern: str) -> bool:
    """Whether a terminal is no sign."""
    return pattern.isidentifier() or name in ("INOUT", "TEMP", "NUMBER", "NAME", "COMMENT") or name.startswith("__")


def _alternatives(pattern: str) -> list[str]:
    """The signs of a terminal: `(?:<|>=)` is two."""
    return re.split(r"(?<!\\)\|", pattern.removeprefix("(?:").removesuffix(")") if "(?:" in pattern else pattern)


def _longest_first(sign: str) -> tuple[int, str]:
    return -len(sign), sign


def _words(words: Iterable[str]) -> str:
    return rf"\b(?:{'|'.join(sorted(words))})\b"
