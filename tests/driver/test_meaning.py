"""What names a spec by its meaning, and by nothing else."""

from __future__ import annotations

import pytest

from attndsl.checking.check import check
from attndsl.driver.meaning import meaning
from attndsl.syntax.gallery import gallery
from attndsl.syntax.read import read_source
from attndsl.syntax.source import Source

TEXT = """attention kept(window: int = 4) {
    dims M, N, D
    types T
    input  q : T[M, D]
    input  k : T[N, D]
    output o : T[M, D]
    require window > 0
    each i in M
    over j in N
    let distance = i - j
    score = q[i,:] . k[j,:] / sqrt(D)
    mask  = 0 <= distance < window
    o[i,:] = softmax(score, mask) . k[j,:]
}
"""


def digest(text: str, name: str = "kept.attn") -> str:
    return meaning(check(Source(text, name)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    let", "    # Comments say nothing to a machine.\n    let"),
        ("\n", "\n\n"),
        ("let distance = i - j\n", ""),
        ("over j in N", "over  j in (N)"),
        ("distance", "far"),
    ],
)
def test_what_means_the_same_has_one_name(old: str, new: str) -> None:
    text = TEXT.replace(old, new)
    if "let" not in text:
        text = text.replace("distance", "i - j")
    assert text != TEXT
    assert digest(text, "another.attn") == digest(TEXT)


def test_names_of_indices_mean_nothing() -> None:
    text = TEXT.replace("[i,", "[row,").replace("each i", "each row").replace("= i -", "= row -")
    assert digest(text) == digest(TEXT)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("attention kept", "attention other"),
        ("= 4", "= 5"),
        ("window: int = 4", "window: int"),
        ("types T", "types T = f16 | f32"),
        ("dims M, N, D", "dims N, M, D"),
        ("k : T[N, D]", "k : T[N, D] = 0.0"),
        ("k : T[N, D]", "k : T[N, D?]"),
        ("window > 0", "window > 1"),
        ("0 <= distance", "0 < distance"),
        ("i - j", "j - i"),
        ("/ sqrt(D)", ""),
        ("over j in N", "over j in N - 1"),
        ("each i", "schedule { tile_rows = 16 }\n    each i"),
        ("o[i,:] =", "o[i,:] +="),
    ],
)
def test_what_means_something_else_has_another(old: str, new: str) -> None:
    text = TEXT.replace(old, new)
    assert text != TEXT
    assert digest(text) != digest(TEXT)


def test_the_gallery_has_as_many_meanings_as_specs() -> None:
    found = [meaning(check(read_source(spec.path))) for spec in gallery()]
    assert len({*found}) == len(found)
