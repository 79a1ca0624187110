"""Where the formatter puts a space between two tokens of one line."""

from __future__ import annotations

from collections.abc import Sequence

from lark import Token

_CLOSERS = {")": "(", "]": "[", "}": "{"}


def spaces(tokens: Sequence[Token], declarations: Sequence[bool]) -> list[bool]:
    """For each token, whether a space stands before it when it does not begin a line.

    `declarations` tells which tokens belong to the declaration of a tensor, whose `:` and `[` are not a subscript's.
    """
    result: list[bool] = []
    opened: list[int] = []  # the brackets that are open, by position
    tight: set[int] = set()  # of those, the subscripts that are written without spaces
    glued: set[int] = set()  # tokens that end no operand: signs, and the `)` of `sum(r in R)`
    joined: set[int] = set()  # the `:` of slices, whose ends are one word each
    for i, token in enumerate(tokens):
        before = tokens[i - 1] if i else None
        inside = opened[-1] if opened else None
        if token in _CLOSERS:
            start = opened.pop()
            if token == ")" and start and tokens[start + 2].type == "IN":
                glued.add(i)
        if token == ":" and inside is not None and tokens[inside] == "[" and _has_short_ends(tokens, i):
            joined.add(i)
        apart = declarations[i] or (inside is not None and tokens[inside] == "[")
        stuck = i - 1 in glued or not joined.isdisjoint((i - 1, i))
        result.append(before is not None and _space(before, token, stuck, inside in tight, apart))
        if token.type == "SIGN" and (before is None or not _ends_operand(before) or i - 1 in glued):
            glued.add(i)
        if token in _CLOSERS.values():
            opened.append(i)
            if token == "[" and not declarations[i] and _is_simple(tokens, i):
                tight.add(i)
    return result


def _space(before: Token, token: Token, stuck: bool, tight: bool, apart: bool) -> bool:
    if before in ("(", "[") or token in (",", ";", ")", "]", "[", "?"):
        return False
    if before == ",":
        return not tight
    if ":" in (before, token) and stuck:
        return False
    if token == ":":
        return apart
    if token == "(" and before.type in ("NAME", "SUM"):
        return False
    if before.type == "SIGN":
        return not stuck
    return (before, token) != ("{", "}")


def _ends_operand(token: Token) -> bool:
    return token.type in ("NAME", "NUMBER", "TRUE", "FALSE") or token in (")", "]")


def _has_short_ends(tokens: Sequence[Token], colon: int) -> bool:
    """Whether neither end of the slice at `colon` is more than one token, as in `x[2:D]`; all of an axis has none."""
    before, after = tokens[colon - 2 : colon], tokens[colon + 1 : colon + 3]
    return any(token in ("[", ",") for token in before) and any(token in ("]", ",") for token in after)


def _is_simple(tokens: Sequence[Token], start: int) -> bool:
    """Whether every subscript of the bracket at `start` is one token, as in `q[b,h,i,:]`."""
    end = start + 1
    while tokens[end] != "]":
        if tokens[end + 1] not in (",", "]"):
            return False
        end += 1 if tokens[end + 1] == "]" else 2
    return True
