"""The operands around a place in a text that does not parse, so that a message can be spelt with them.

What stands before a place is found as what stands after it, in the line read backwards.
"""

from __future__ import annotations

import re

_REACH = 80
"""No operand that a message shows is longer."""

_WORD = re.compile(r"[\d.]+[eE][+-]\d+|[\w.]+", re.ASCII)
_MIRRORED_WORD = re.compile(r"\d+[+-][eE][\d.]+|[\w.]+", re.ASCII)
_MIRROR = str.maketrans("()[]", ")(][")
_DEFINES = re.compile(r",|(?<!=)=(?![=!<>])")  # as `_MIRROR` shows it: `<=` reads `=<`
_ENDS = re.compile(r"[,#;]")


def before(text: str, at: int) -> str:
    """A name or number, subscripts, a call or parentheses that end before `at` on its line; empty where none does."""
    line = _backwards(text, at)
    groups = _groups(line, 0)
    word = _MIRRORED_WORD.match(line, groups)
    return _mirror(line[: word.end() if word else groups]).lstrip(".")


def after(text: str, at: int) -> str:
    """The same that begins after `at` on its line, with its sign."""
    line = _forwards(text, at)
    sign = 1 if line[:1] in ("+", "-") else 0
    word = _WORD.match(line, sign)
    end = _groups(line, word.end() if word else sign)
    return line[:end] if end > sign else ""


def value_before(text: str, at: int) -> str:
    """The whole value that ends before `at`: from the `=`, the comma or the bracket that it follows on its line."""
    return _mirror(_value(_backwards(text, at), _DEFINES))


def value_after(text: str, at: int, stop: str = "") -> str:
    """The whole value that begins after `at`, up to `stop` or a comma, a bracket, a comment or the end of the line."""
    ends = re.compile(rf"{_ENDS.pattern}|{re.escape(stop)}") if stop else _ENDS
    return _value(_forwards(text, at), ends)


def _groups(line: str, start: int) -> int:
    """Where the brackets end that open at `start`, one pair after the other."""
    end, depth = start, 0
    for i in range(start, len(line)):
        depth += _depth(line[i])
        if depth <= 0 and line[i] not in ")]":
            break
        if depth == 0:
            end = i + 1
    return end


def _value(line: str, ends: re.Pattern[str]) -> str:
    depth = 0
    for i, found in enumerate(line):
        depth += _depth(found)
        if depth < 0 or (depth == 0 and ends.match(line, i)):
            return line[:i].strip()
    return line.strip()


def _depth(found: str) -> int:
    return (found in "([") - (found in ")]")


def _forwards(text: str, at: int) -> str:
    return _plain(text[at : at + _REACH].partition("\n")[0])


def _backwards(text: str, at: int) -> str:
    return _mirror(_plain(text[max(0, at - _REACH) : at].rpartition("\n")[2]))


def _plain(line: str) -> str:
    """The line with nothing that a terminal acts on, and with the division that is written here."""
    return "".join(c if c.isprintable() else " " for c in line).replace("//", "/").strip()


def _mirror(line: str) -> str:
    return line[::-1].translate(_MIRROR)
