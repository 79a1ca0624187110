"""Text from outside (names of files, lines of a spec, what a caller wrote) as text that can stand anywhere.

A character may do more than be seen: end a line, and with it a comment; move a terminal's cursor, colour what follows,
turn the direction of writing; or stand for a byte that is no text at all. Such characters are shown by their numbers.
"""

from __future__ import annotations

from hashlib import sha256

LONGEST_STEM = 100
"""How many characters of a file's name a spec's name may be: file systems take 255 in all."""


def printable(text: str) -> str:
    """The text in one line, each character that does more than be seen as Python escapes it: `a\\nb`."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _escaped(c) for c in text)


def printable_lines(text: str) -> str:
    """The same of each line of a text; it may be laid out with tabs, and have the line ends of any system."""
    return "\n".join(printable(line.removesuffix("\r").expandtabs(4)) for line in text.split("\n"))


def file_stem(name: str) -> str:
    """The name of a spec as part of a file's name: the same, but for one too long, which ends in a hash of it."""
    if len(name) <= LONGEST_STEM:
        return name
    return f"{name[: LONGEST_STEM - 9]}_{sha256(name.encode()).hexdigest()[:8]}"


def in_place(text: str) -> str:
    """The text, each of its characters still in its place, but for those that do more than be seen."""
    return "".join(c if c.isprintable() else " " if c == "\t" else "\N{REPLACEMENT CHARACTER}" for c in text)


def _escaped(character: str) -> str:
    return ascii(character)[1:-1]
