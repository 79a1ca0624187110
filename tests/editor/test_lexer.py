"""Specs in colours."""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from pygments.token import Comment, Error, Keyword, Name, Operator, _TokenType

from attndsl.editor.lexer import AttnLexer
from attndsl.syntax.gallery import gallery, names
from attndsl.syntax.parse import tokens, words
from attndsl.syntax.source import Source

ROOT = Path(__file__).parents[2]


def lexed(text: str) -> list[tuple[_TokenType, str]]:
    return [(kind, piece) for kind, piece in AttnLexer().get_tokens(text) if piece.strip()]


@pytest.mark.parametrize("name", names())
def test_the_gallery_has_no_error_and_is_cut_as_the_parser_cuts_it(name: str) -> None:
    text = (ROOT / "examples" / f"{name}.attn").read_text("utf-8")
    found = lexed(text)
    assert [piece for kind, piece in found if kind is Error] == []
    assert [piece for _, piece in found] == [str(token) for token in tokens(Source(text)) if token.strip()]


def test_there_is_a_gallery() -> None:
    assert len(gallery()) > 40


@pytest.mark.parametrize("word", sorted(words()))
def test_keywords_are_keywords(word: str) -> None:
    ((kind, piece),) = lexed(word)
    assert piece == word
    assert Keyword in kind.split() or kind is Operator.Word or word == "sum"
    assert lexed(f"{word}s") == [(Name, f"{word}s")]


def test_what_a_word_is_depends_on_where_it_stands() -> None:
    assert lexed("sum(x)")[0] == (Name.Builtin, "sum")
    assert lexed("input cos : T[N]")[1] == (Name, "cos")
    assert lexed("temp x : T[N]")[0] == (Keyword.Declaration, "temp")
    assert lexed("temp * 2")[0] == (Name, "temp")
    assert lexed("x  # softmax(")[1] == (Comment.Single, "# softmax(")


def test_what_is_not_the_language_is_an_error() -> None:
    assert [kind for kind, _ in lexed("x $ y")] == [Name, Error, Name]


def test_it_is_what_the_project_announces() -> None:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pygments.lexers"]
    module, name = table["attndsl"].split(":")
    assert getattr(import_module(module), name) is AttnLexer
