"""The canonical layout of a spec: it moves white space and nothing else.

Statements begin lines of their own. Line breaks inside a statement stay where the author put them, and so do comments
and one blank line where there were some. In neighbouring lines the colons and extents of tensors, the `=` of
definitions and the comments at the end stand below each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from lark import Token

from attndsl.syntax import tree
from attndsl.syntax.lines import Line, cut
from attndsl.syntax.source import Source


def format_text(source: Source) -> str:
    """The spec in its canonical layout; raises SpecError where it cannot be read."""
    lines = cut(source)
    for line in lines:
        line.text = _render(line.tokens)
    for group in _neighbours(lines, lambda line: line.kind):
        if group[0].kind is tree.TensorDeclaration:
            _align_tensors(group)
        elif group[0].kind in (tree.Let, tree.Definition, tree.WriteStatement):
            _align_definitions(group)
    for group in _neighbours(lines, lambda line: line.text != "" and line.comment != ""):
        width = max(line.indent + len(line.text) for line in group)
        for line in group:
            line.text = f"{line.text:{width - line.indent}}  "
    return "".join("\n" * line.blank_before + " " * line.indent + line.text + line.comment + "\n" for line in lines)


def _render(tokens: Sequence[tuple[Token, bool]]) -> str:
    return "".join(" " * (spaced and n > 0) + token for n, (token, spaced) in enumerate(tokens))


def _neighbours(lines: Sequence[Line], key: Callable[[Line], object]) -> Iterator[list[Line]]:
    """The runs of lines that have the same true key and no blank line between them."""
    group: list[Line] = []
    for line in lines:
        if group and (line.blank_before or key(line) != key(group[0])):
            yield group
            group = []
        if key(line):
            group.append(line)
    if group:
        yield group


def _align_definitions(group: Sequence[Line]) -> None:
    """Puts the `=`, or `+=`, that follows what is defined below each other."""
    cuts = [(line, n) for line in group if (n := _equals_sign(line)) is not None]
    width = max((len(_render(line.tokens[:n])) for line, n in cuts), default=0)
    signs = max((len(line.tokens[n][0]) for line, n in cuts), default=0)
    for line, n in cuts:
        sign, rest = line.tokens[n][0], _render(line.tokens[n + 1 :])
        line.text = f"{_render(line.tokens[:n]):{width}} {sign:>{signs}} {rest}".rstrip()


def _equals_sign(line: Line) -> int | None:
    """Where the first `=` or `+=` outside brackets stands; None where it is on a later line."""
    depth = 0
    for n, (token, _) in enumerate(line.tokens):
        depth += (token == "[") - (token == "]")
        if token in ("=", "+=") and depth == 0:
            return n
    return None


def _align_tensors(group: Sequence[Line]) -> None:
    """Puts roles, names and colons below each other, and the extents of tensors of one element type and rank."""
    whole = [line for line in group if line.tokens[-1][0] == "]"]
    if not whole:
        return
    roles, names = (max(len(line.tokens[n][0]) for line in whole) for n in (0, 1))
    widths: dict[tuple[str, int], list[int]] = {}
    for line in whole:
        shape = _extents(line)
        known = widths.setdefault((line.tokens[3][0], len(shape)), [0] * len(shape))
        known[:] = [max(width, len(extent)) for width, extent in zip(known, shape, strict=True)]
    for line in whole:
        role, name, _, element = (token for token, _ in line.tokens[:4])
        shape = _extents(line)
        padded = [f"{extent:{width}}" for extent, width in zip(shape, widths[element, len(shape)], strict=True)]
        line.text = f"{role:{roles}} {name:{names}} : {element}[{' '.join(padded).rstrip()}]"


def _extents(line: Line) -> list[str]:
    """The extents of a declaration, all but the last with its comma."""
    depth, shape, start = 0, [], 5
    for n, (token, _) in enumerate(line.tokens[5:-1], 5):
        depth += (token in ("(", "[")) - (token in (")", "]"))
        if token == "," and depth == 0:
            shape.append(_render(line.tokens[start : n + 1]))
            start = n + 1
    return [*shape, _render(line.tokens[start:-1])]
