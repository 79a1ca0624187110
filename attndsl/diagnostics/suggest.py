"""What a misspelt word may have meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A question that names the closest of the known words; empty where none is close."""
    word = word[:64]
    words = [other for other in sorted(set(known)) if _is_slip(word, other)]
    close = get_close_matches(word, words, n=1, cutoff=0.6)
    if not close:
        lowered = {other.lower(): other for other in reversed(words)}
        close = [lowered[other] for other in get_close_matches(word.lower(), lowered, n=1, cutoff=0.6)]
    return f"did you mean `{close[0]}`?" if close else ""


def one_of(words: Sequence[str]) -> str:
    """The words as a list in prose: `a`, `b` or `c`."""
    quoted = [f"`{word}`" for word in words]
    return " or ".join(filter(None, (", ".join(quoted[:-1]), quoted[-1])))


def _is_slip(word: str, other: str) -> bool:
    """Whether a hand that means `other` may write `word`: the first letter is seldom wrong, and then it alone."""
    one, two = word.lower(), other.lower()
    return one[:1] == two[:1] or one[1:] == two[1:] != "" or one[1:] == two or one == two[1:]
