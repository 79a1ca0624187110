"""Along which axes calls are cut: what the parts give is what the call gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attndsl
from attndsl.checking.check import check
from attndsl.checking.typed import Spec
from attndsl.driver.independent import cuts
from attndsl.driver.library import checked
from attndsl.inputs import default_dims, default_params, make_inputs
from attndsl.syntax.gallery import gallery
from attndsl.syntax.read import read_source
from attndsl.syntax.source import Source

GALLERY = {spec.name: spec.path for spec in gallery()}

GROUPED = """attention grouped {
    dims B, H, G, M, N, D
    types T
    input  q : T[B, H, M, D]
    input  k : T[B, G, N, D]
    output o : T[B, H, M, D]
    require H % G == 0
    each b in B, h in H, i in M
    over j in N
    score = q[b,h,i,:] . k[b, h / (H / G), j,:]
    o[b,h,i,:] = softmax(score, j <= i) . k[b, h / (H / G), j,:]
}
"""


def dims_of(spec: Spec) -> list[list[str]]:
    """The dims of each cut."""
    found = []
    for cut in cuts(spec):
        extents = [spec.tensors[name].extents[axis] for name, axis in cut.axes.items()]
        found.append(sorted({getattr(extent, "name", "?") for extent in extents}))
    return found


@pytest.mark.parametrize(
    ("name", "dims"),
    [
        ("gqa", [["B"], ["Hkv", "Hq"]]),
        ("mha", [["B"], ["H"], ["M"]]),
        ("packed_ragged", [["Hkv", "Hq"]]),  # rows of one sequence stand at offsets
        ("dropout", []),  # numbers are drawn by the place of a row
        ("paged_decode", [["B"], ["Hkv", "Hq"]]),
    ],
)
def test_cuts_of_the_gallery(name: str, dims: list[list[str]]) -> None:
    assert dims_of(check(read_source(GALLERY[name]))) == dims


def test_heads_that_share_keys_are_cut_into_even_parts() -> None:
    batch, heads = cuts(check(Source(GROUPED)))
    assert (batch.axes, batch.even) == ({"q": 0, "k": 0, "o": 0}, False)
    assert (heads.axes, heads.even) == ({"q": 1, "k": 1, "o": 1}, True)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("score = ", "score = h * "),  # the place of a head means something
        ("score = ", "score = q[b,0,i,:] . q[b,h,i,:] * "),  # and so has one head
        ("    require H % G == 0\n", ""),  # a group may lie in two parts
        ("    require H % G == 0\n", "    require H % G == 0\n    require H == 8\n"),
        ("k[b, h / (H / G), j,:]\n}", "k[b, h % G, j,:]\n}"),
        ("score = ", "score = sum(x in H) q[b,x,i,0] * "),
        ("h in H", "h in H - 1"),
        ("o[b,h,i,:] =", "o[b, H - 1 - h, i,:] ="),
        ("o : T[B, H, M, D]", "o : T[B, H + 1, M, D]"),
        ("attention grouped", "attention grouped(scale: f32 = 1.0 / H)"),
        ("o[b,h,i,:] = ", "o[b, h / (H / G), i,:] = "),  # rows meet, and one of them stays
        ("j <= i", "j <= i and j < H"),
    ],
)
def test_heads_that_know_of_each_other_are_not_cut(old: str, new: str) -> None:
    text = GROUPED.replace(old, new)
    assert text != GROUPED
    assert dims_of(check(Source(text))) == [["B"]]


def test_rows_that_add_up_within_a_group_are_cut() -> None:
    text = GROUPED.replace("o : T[B, H,", "o : T[B, G,").replace("o[b,h,i,:] =", "o[b, h / (H / G), i,:] +=")
    assert dims_of(check(Source(text))) == [["B"], ["G", "H"]]
    added = GROUPED.replace("o : T[B, H,", "o : T[B,").replace("o[b,h,i,:] =", "o[b,i,:] +=")
    assert dims_of(check(Source(added))) == [["B"]]


@pytest.mark.parametrize(
    "path",
    [pytest.param(p, id=n, marks=() if n in ("gqa", "key_mass") else pytest.mark.matrix) for n, p in GALLERY.items()],
)
def test_parts_give_what_the_call_gives(path: Path) -> None:
    op = attndsl.load(path)
    spec = checked(op.spec)
    params = default_params(spec)
    for cut in cuts(spec):
        names = {getattr(spec.tensors[name].extents[axis], "name", "") for name, axis in cut.axes.items()}
        ordered = sorted(names, key=spec.dims.index)
        dims = default_dims(spec, params=params, given={name: 8 >> n for n, name in enumerate(ordered)})
        given = make_inputs(spec, dims, params=params)
        sizes = {name: array.shape[cut.axes[name]] for name, array in given.items() if name in cut.axes}
        parts = [slices(given, cut.axes, sizes, part) for part in range(2)]
        whole, halves = outputs(op, given, params), [outputs(op, part, params) for part in parts]
        for name, array in whole.items():
            near = 1e-6 * max(1.0, np.abs(array).max(initial=0.0))
            if name in cut.axes:
                found = np.concatenate([half[name] for half in halves], axis=cut.axes[name])
                np.testing.assert_allclose(found, array, rtol=1e-5, atol=near)
            elif name not in given:
                np.testing.assert_allclose(halves[1][name], array, rtol=1e-5, atol=near)


def slices(given: dict[str, Any], axes: Any, sizes: dict[str, int], part: int) -> dict[str, Any]:
    """Half of each array that is cut."""
    made = {}
    for name, array in given.items():
        if name in axes:
            half = sizes[name] // 2
            array = np.take(array, range(part * half, (part + 1) * half), axis=axes[name])
        made[name] = array.copy()
    return made


def outputs(op: Any, given: dict[str, Any], params: Any) -> dict[str, Any]:
    """What a call writes, by name."""
    given = {name: array.copy() for name, array in given.items()}
    made = op(**given, **params)
    made = made if isinstance(made, tuple) else () if made is None else (made,)
    named = dict(zip((tensor.name for tensor in op.signature.outputs), made, strict=True))
    return {**named, **{tensor.name: given[tensor.name] for tensor in op.signature.inputs if tensor.in_place}}
