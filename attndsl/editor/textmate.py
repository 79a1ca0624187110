"""The grammar that colours specs in VS Code and in all that reads TextMate's; `editors/vscode` holds what it gives."""

from __future__ import annotations

from typing import Any

from attndsl.editor.words import patterns

_SCOPES = {
    "comment": "comment.line.number-sign",
    "declaration": "storage.type",
    "constant": "constant.language",
    "function": "support.function",
    "word operator": "keyword.operator.logical",
    "keyword": "keyword.control",
    "type": "support.type",
    "number": "constant.numeric",
    "name": "variable.other",
    "operator": "keyword.operator",
    "punctuation": "punctuation",
}


def grammar() -> dict[str, Any]:
    """The grammar, as what JSON holds."""
    return {
        "name": "attndsl",
        "scopeName": "source.attn",
        "fileTypes": ["attn"],
        "patterns": [{"name": f"{_SCOPES[what]}.attn", "match": pattern} for what, pattern in patterns().items()],
    }
