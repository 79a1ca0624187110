"""The parser that is kept for other processes reads as the one that was made."""

from __future__ import annotations

from pathlib import Path

import pytest
from lark import Lark, UnexpectedToken

from attndsl import cache
from attndsl.syntax.parser import parser

GALLERY = sorted((Path(__file__).parents[2] / "examples").glob("*.attn"))


@pytest.fixture
def both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Lark, Lark]:
    """The parser as it is made, and as the next process finds it."""
    monkeypatch.setenv(cache.ENVIRONMENT, str(tmp_path))
    made = parser.__wrapped__()
    monkeypatch.setattr(Lark, "__init__", None)  # no other one is made
    return made, parser.__wrapped__()


def test_it_gives_the_same_trees(both: tuple[Lark, Lark]) -> None:
    made, kept = both
    for path in GALLERY:
        text = path.read_text(encoding="utf-8")
        assert kept.parse(text) == made.parse(text)
        assert [*kept.lex(text, dont_ignore=True)] == [*made.lex(text, dont_ignore=True)]


def test_it_expects_the_same(both: tuple[Lark, Lark]) -> None:
    text = (GALLERY[0].parent / "gqa.attn").read_text(encoding="utf-8")
    words = text.split(" ")
    for cut in range(1, len(words), 7):
        said = []
        for each in both:
            with pytest.raises(UnexpectedToken) as raised:
                each.parse(" ".join(words[:cut]))
            said.append((raised.value.accepts, raised.value.token, raised.value.line, raised.value.column))
        assert said[0] == said[1]


def test_a_damaged_one_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cache.ENVIRONMENT, str(tmp_path))
    parser.__wrapped__()
    (entry,) = tmp_path.rglob("*.json")
    entry.write_bytes(entry.read_bytes()[:-100])
    assert parser.__wrapped__().parse(
        "attention t { dims N input x : f32[N] output o : f32[N] each i in N o[i] = x[i] }"
    )
    assert entry.stat().st_size > 1000
