"""How blocks of code are coloured for which Pygments has nothing. That of specs is attndsl's own."""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import Lexer, RegexLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text, _TokenType


class MlirLexer(RegexLexer):
    """The generic look of MLIR: values, symbols, operations of dialects, types, numbers; ONNX's text has the same."""

    name = "MLIR"
    tokens: ClassVar[dict[str, list[tuple[str, _TokenType]]]] = {
        "root": [
            (r"\s+", Text.Whitespace),
            (r"//.*", Comment.Single),
            (r'"(?:\\.|[^"\\])*"', String),
            (r"[%^][\w$.]+(?:#\d+)?", Name.Variable),
            (r"@[\w$.]+", Name.Function),
            (r"[#!][\w.]+", Keyword.Type),
            (r"[a-z_]+(?:\.[a-z_][\w]*)+", Name.Builtin),
            (r"\b(?:index|none|i\d+|b?f\d+\w*|tensor|memref|vector|tuple|b?float\d+|u?int\d+)\b", Keyword.Type),
            (r"-?(?:0x[\da-fA-F]+|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)", Number),
            (r"->|[=<>?*+/:|-]", Operator),
            (r"[(){}\[\],.;]", Punctuation),
            (r"\w+", Name),
            (r".", Text),
        ]
    }


class GrammarLexer(RegexLexer):
    """Rules of the manual's grammar: a name, a colon, and words in quotes, names and marks."""

    name = "grammar"
    tokens: ClassVar[dict[str, list[tuple[str, _TokenType]]]] = {
        "root": [
            (r"^\w+", Name.Function),
            (r'"[^"]*"', String),
            (r"[|?*+…():]", Operator),
            (r"\w+", Name),
            (r"\s+", Text.Whitespace),
            (r".", Text),
        ]
    }


class ValuesLexer(RegexLexer):
    """What an example of the manual is given, and what comes of it: names and nested lists of numbers."""

    name = "values"
    tokens: ClassVar[dict[str, list[tuple[str, _TokenType]]]] = {
        "root": [
            (r"-?(?:\d[\d.]*(?:e[-+]?\d+)?|inf|nan)\b", Number),
            (r"\b(?:True|False)\b", Keyword.Constant),
            (r"\w+", Name),
            (r"->|=", Operator),
            (r"[\[\],]", Punctuation),
            (r"\s+", Text.Whitespace),
            (r".", Text),
        ]
    }


LEXERS: dict[str, type[Lexer]] = {"mlir": MlirLexer, "onnx": MlirLexer, "grammar": GrammarLexer, "values": ValuesLexer}
