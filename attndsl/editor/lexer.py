"""A lexer for Pygments, which documents, notebooks and rich colour text with; installed, they find it as `attn`."""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import RegexLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, Text, _TokenType

from attndsl.editor.words import patterns

_TOKENS = {
    "comment": Comment.Single,
    "declaration": Keyword.Declaration,
    "constant": Keyword.Constant,
    "function": Name.Builtin,
    "word operator": Operator.Word,
    "keyword": Keyword,
    "type": Keyword.Type,
    "number": Number,
    "name": Name,
    "operator": Operator,
    "punctuation": Punctuation,
}


class AttnLexer(RegexLexer):
    """Colours specs; a text with mistakes is coloured as far as it is the language."""

    name = "attndsl"
    aliases: ClassVar[list[str]] = ["attn", "attndsl"]
    filenames: ClassVar[list[str]] = ["*.attn"]
    mimetypes: ClassVar[list[str]] = ["text/x-attn"]

    tokens: ClassVar[dict[str, list[tuple[str, _TokenType]]]] = {
        "root": [(r"\s+", Text.Whitespace), *((pattern, _TOKENS[what]) for what, pattern in patterns().items())]
    }
