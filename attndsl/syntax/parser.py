"""The parser that lark makes of `grammar.lark`, made once for all processes of a user.

Why: its tables take 60 ms, a third of `attndsl check`, and of what they are made nothing changes.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

import lark
from lark import Lark
from lark.grammar import Rule
from lark.lexer import TerminalDef

from attndsl.cache import user_cache


@cache
def parser() -> Lark:
    """The parser, from the user's cache where it is there, else made."""
    grammar = files("attndsl.syntax").joinpath("grammar.lark").read_text(encoding="utf-8")
    kept, key = user_cache(), sha256(f"lark {lark.__version__}\n{grammar}".encode()).hexdigest()
    if (entry := kept.get(key)) is not None:
        return Lark.load(_with_numbers(entry))
    made = Lark(
        grammar,
        parser="lalr",
        lexer="basic",  # keywords are keywords everywhere, so that a spec reads the same in every context
        propagate_positions=True,
        maybe_placeholders=True,
    )
    data, memo = made.memo_serialize([TerminalDef, Rule])
    kept.put(key, {"data": data, "memo": memo})
    return made


def _with_numbers(entry: Any) -> Any:
    """What JSON has kept, with the numbers that were keys: of states, tokens and shared parts."""
    if isinstance(entry, dict):
        return {int(key) if key.isdecimal() else key: _with_numbers(value) for key, value in entry.items()}
    return [_with_numbers(each) for each in entry] if isinstance(entry, list) else entry
