"""What a picture shows is what the reference sees and what programs do; `docs/gallery.md` is made of such pictures.

`pytest tests/drawing -m "" --update-goldens` makes the page and its pictures anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from attndsl.checking.check import check
from attndsl.drawing.drawing import draw
from attndsl.drawing.picture import Picture, Walk
from attndsl.driver.library import checked, signature_of
from attndsl.integrations.transformers import spec as attention
from attndsl.syntax.gallery import GallerySpec, gallery, names
from attndsl.syntax.source import Source
from attndsl.testing.drawn_specs import Drawn, specs
from tests.drawing.drawn import drawn

DOCS = Path(__file__).parents[2] / "docs"

ALWAYS = (
    "append_paged",
    "cache_and_new",
    "causal_end",
    "document_mask",
    "gqa",
    "mha",
    "packed_ragged",
    "sliding_window",
)
"""Specs whose pictures are drawn in each run of the tests; the others take longer together."""


def mistakes(picture: Picture, walks: Sequence[Walk]) -> list[str]:
    """Where a picture and the reference differ."""
    found = []
    for row, seen in enumerate(picture.seen):
        mine = [walk for walk in walks if row in walk.rows]
        if not mine:
            found.append(f"no program has row {row}")
        visits = [key for walk in mine for tile in walk.tiles for key in tile.keys]
        if len(visits) != len(set(visits)):
            found.append(f"row {row} meets a key twice")
        if set(np.flatnonzero(seen)) - set(visits):
            found.append(f"row {row} sees a key that is skipped")
    for walk in walks:
        for tile in walk.tiles:
            if tile.kind == "full" and not picture.seen[np.ix_(np.array(walk.rows), tile.keys)].all():
                found.append(f"rows {walk.rows} do not see all of a full tile")
    return found


@pytest.mark.matrix
def test_whatever_is_drawn_is_true() -> None:
    """Of specs that nobody would write a picture tells what programs visit, or that it does not."""
    told = Counter[bool]()

    @settings(
        derandomize=True,
        database=None,
        deadline=None,
        max_examples=15,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(specs())
    def look(one: Drawn) -> None:
        spec = check(one.source)
        drawing = draw(spec, signature_of(one.source).default_types(), shape=one.dims)
        ElementTree.fromstring(drawing.svg())
        for picture in drawing.masks:
            told[bool(picture.whole)] += 1
            for walks in filter(None, (picture.whole, picture.split)):
                wrong = [mistake for mistake in mistakes(picture, walks) if "twice" not in mistake]  # by two loops
                assert wrong == [], one.text

    look()
    assert told[True] > 3 * told[False]


@pytest.mark.parametrize(
    "name", [name if name in ALWAYS else pytest.param(name, marks=pytest.mark.matrix) for name in names()]
)
def test_tiles_are_what_rows_see(name: str, golden: Callable[[Path, str], None]) -> None:
    drawing = drawn(name)
    blocks = [block for block in drawing.call.spec.blocks if block.over]
    assert [picture.block for picture in drawing.masks] == blocks
    for picture in drawing.masks:
        assert picture.whole
        assert mistakes(picture, picture.whole) == []
        assert not picture.split or mistakes(picture, picture.split) == []
    golden(DOCS / "gallery" / f"{name}.svg", drawing.svg())


@pytest.mark.parametrize(
    "name", [name if name in ALWAYS[:4] else pytest.param(name, marks=pytest.mark.matrix) for name in names()]
)
def test_loops_of_a_cpu_are_what_rows_see(name: str) -> None:
    for picture in drawn(name, "numpy").masks:
        assert picture.whole or name == "sparse_indexed"  # whose first block ranks keys, which takes other loops
        assert not picture.split
        assert not picture.whole or mistakes(picture, picture.whole) == []


def test_all_cpus_have_the_same_tiles() -> None:
    (plain,), (other,) = (drawn("document_mask", target).masks for target in ("numpy", "cpu:slices+numba"))
    assert repr(plain.whole) == repr(other.whole)


def test_a_cpu_tests_the_keys_that_some_rows_do_not_see() -> None:
    (picture,) = drawn("causal_end", "numpy").masks
    for walk in picture.whole:
        full = {int(key) for tile in walk.tiles if tile.kind == "full" for key in tile.keys}
        assert full == {*range(min(walk.rows) + 1)}
        assert walk.keys == {*range(max(walk.rows) + 1)}


@pytest.mark.parametrize(
    "mask",
    [
        "since[b,j] <= i and i < until[b,j]",
        "i >= since[b,j] and until[b,j] > i",
        "0 <= i - since[b,j] and until[b,j] > i",
    ],
)
def test_keys_that_say_who_sees_them_are_those_of_causal_attention(mask: str) -> None:
    """As a model gives them, so that a picture of its spec shows the mask; with a cache, too."""
    text = attention.text(["since", "until"]).replace("since[b,j] <= i and i < until[b,j]", mask)
    spec = check(Source(text))
    (picture,) = draw(spec, signature_of(Source(text)).default_types(), shape={"M": 8, "N": 24}).masks
    assert np.array_equal(picture.seen, np.tri(8, 24, 16, dtype=bool))


def test_mistakes_are_found() -> None:
    (picture,) = drawn("causal_end").masks
    some = picture.whole
    assert mistakes(picture, some[1:])
    assert mistakes(picture, [*some, *some])
    blind = Picture(**{**vars(picture), "seen": np.zeros_like(picture.seen)})
    assert any("full tile" in mistake for mistake in mistakes(blind, some))
    all_seeing = Picture(**{**vars(picture), "seen": np.ones_like(picture.seen)})
    assert any("skipped" in mistake for mistake in mistakes(all_seeing, some))


def test_what_has_most_keys_starts_first() -> None:
    (picture,) = drawn("causal_end").masks
    assert [walk.start for walk in picture.whole] == list(range(8))
    assert [len(walk.keys) for walk in picture.whole] == [64, 56, 48, 40, 32, 24, 16, 8]
    assert [[tile.kind for tile in walk.tiles] for walk in picture.whole[-2:]] == [["full", "mixed"], ["mixed"]]


def test_heads_that_share_keys_share_a_tile() -> None:
    (picture,) = drawn("gqa").masks
    assert [walk.rows for walk in picture.whole][-1] == tuple(range(8))


def test_the_parts_of_a_split_are_told_apart() -> None:
    (picture,) = drawn("mha").masks
    first = [walk for walk in picture.split if 0 in walk.rows]
    assert [(walk.part, min(walk.keys), max(walk.keys)) for walk in first] == [
        (0, 0, 15),
        (1, 16, 31),
        (2, 32, 47),
        (3, 48, 63),
    ]


def test_rows_of_a_plane_stand_as_tiles_have_them() -> None:
    (picture,) = drawn("neighbourhood_2d").masks
    assert (picture.rows, picture.keys) == ("x, y", "t, u")
    assert [walk.rows for walk in picture.whole] == [tuple(range(n, n + 8)) for n in range(0, 64, 8)]


def test_a_call_is_as_large_as_it_is_asked_to_be() -> None:
    source = Source((DOCS.parent / "examples/sliding_window.attn").read_text())
    types = signature_of(source).default_types()
    drawing = draw(checked(source), types, shape={"M": 5, "N": 20}, params={"window": 3})
    (picture,) = drawing.masks
    assert picture.seen.shape == (5, 20)
    assert picture.seen.sum(axis=1).tolist() == [3] * 5
    with pytest.raises(ValueError, match="a drawing of sliding_window with 524288 rows and 64 keys is more than can"):
        draw(checked(source), types, shape={"M": 2**17})


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("gqa", {"M": 7, "N": 13}),
        ("gqa", {"M": 1, "N": 1}),
        ("cache_and_new", {"P": 19, "N": 37}),  # a tile hangs over the end of the first range of keys
        ("packed_ragged", {"M": 5, "N": 23}),
        ("mla_paged", {"M": 5, "S": 2, "L": 5}),
        ("dilated", {"M": 37, "N": 19}),
    ],
)
def test_odd_extents(name: str, shape: dict[str, int]) -> None:
    source = Source((DOCS.parent / f"examples/{name}.attn").read_text())
    drawing = draw(checked(source), signature_of(source).default_types(), shape=shape)
    for picture in drawing.masks:
        assert mistakes(picture, picture.whole) == []
        assert mistakes(picture, picture.split) == []


@pytest.mark.parametrize("dim", ["B", "M", "N", "D"])
def test_extents_of_0(dim: str) -> None:
    source = Source((DOCS.parent / "examples/gqa.attn").read_text())
    drawing = draw(checked(source), signature_of(source).default_types(), shape={"M": 8, "N": 8, dim: 0})
    assert (drawing.masks == ()) == (dim != "D")
    assert f"{dim} = 0" in drawing.svg()
    assert not drawing.masks or drawing.mask_svg()


def test_the_page_of_the_gallery(golden: Callable[[Path, str], None]) -> None:
    golden(DOCS / "gallery.md", "\n".join([HEAD, *map(section, gallery())]))
    assert sorted(path.stem for path in (DOCS / "gallery").iterdir()) == names()


HEAD = """\
# The gallery

Every spec of [examples/](../examples), drawn by `attndsl draw`. Above, the rows of one head or the requests of a batch,
and the keys: a launch on a GPU walks them in tiles. Of *full* tiles every row sees every key, and nothing is tested; in
*mixed* ones each pair is, and what rows see is shaded; all else is skipped. Numbers beside the rows say which program
starts first. On the right the keys are in parts, as a launch with few rows has them. Below, the data flow: what is read
at which place, what is made of it, and where that is written.

Tiles, lengths and windows are small here, so that a picture holds several. What rows see is what the reference
interpreter sees, and what programs do is what the compiler's IR does when it is interpreted; a test holds one to the
other.
"""


def section(spec: GallerySpec) -> str:
    """The name of a spec, what it is, and its picture."""
    return f"""\
## {spec.name}

{spec.about} [examples/{spec.path.name}](../examples/{spec.path.name})

![{spec.name}](gallery/{spec.name}.svg)
"""
