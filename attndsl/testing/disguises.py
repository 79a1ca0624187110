"""A drawn spec written otherwise, which means the same: its statements in another order, its names such as generated
code may want for itself, and marks of every kind where a text is free, in comments and in the name of its file.
"""

from __future__ import annotations

import re

from attndsl.checking.typed import STORAGE_KINDS
from attndsl.testing.choices import Choices
from attndsl.testing.hostile_names import HOSTILE_NAMES
from attndsl.testing.ordering import reordered
from attndsl.testing.renaming import BUILT_IN, RESERVED, names_of, with_names, words_of

SELDOM = (False, False, False, True)
"""How often a spec is disguised in one of the ways."""

DEFAULT_FILE = "case.attn"

HOSTILE_FILES = (
    *("a\nraise RuntimeError\n.attn", "a\n    raise RuntimeError  #.attn", "a\r    raise RuntimeError  #.attn"),
    *('a"""\nraise RuntimeError\n"""', "a'''b", 'a"b', "a\\", "a\\n"),
    *("{a}", "%s", "#", "a b", "a:1: b", "-", "..", "~"),
    *(f"a{separator}raise RuntimeError" for separator in "\v\f\x1c\x1d\x1e\x85\u2028\u2029"),
    *(f"a{control}b" for control in ("\x01", "\t", "\x1b[31m", "\x7f", "\x9b", "\u202e", "\udcff")),
)  # fmt: skip
"""Names that a file may have and that end a line, a string or a comment, or that a terminal acts on."""

HOSTILE_COMMENTS = (
    *(f"# a{separator}raise RuntimeError" for separator in ("\r", "\r    ", "\u2028", "\u2029")),
    *('# """', "# '''", "# \\", "# {a} %s", "# type: ignore", "# coding: utf-7", "# \u202e\ufeff\U0001f600"),
)
"""Comments that a spec may have; they hold no control characters."""

_END_OF_A_STATEMENT = re.compile(r"(?<=[^{\n])$(?=\n {4}\S)", re.MULTILINE)


def disguised(choices: Choices, text: str) -> tuple[str, dict[str, str]]:
    """The spec in another order, with other names and comments, and its old names with what they are called now."""
    if choices.of(SELDOM):
        text = reordered(text, choices.of)
    names: dict[str, str] = {}
    if choices.of(SELDOM):
        names = hostile_names(choices, text)
        text = with_names(text, names)
    if choices.of((False, *SELDOM)):
        text = _END_OF_A_STATEMENT.sub(lambda _: f"  {choices.of(('', *HOSTILE_COMMENTS))}".rstrip(" "), text)
    return text, names


def hostile_names(choices: Choices, text: str) -> dict[str, str]:
    """Hostile names for some of the names of a spec, each another one that nothing in the spec has."""
    taken = words_of(text) | RESERVED | BUILT_IN | STORAGE_KINDS.keys()
    free = [name for name in HOSTILE_NAMES if name not in taken]
    found = {}
    for name in names_of(text):
        if free and (new := choices.of((name, *free))) != name:
            free.remove(new)
            found[name] = new
    return found


def file_name(choices: Choices) -> str:
    """The name of the file that a spec is said to be in."""
    return choices.of((DEFAULT_FILE,) * len(HOSTILE_FILES) * 4 + HOSTILE_FILES)
