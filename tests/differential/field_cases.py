"""What went silently wrong for others, one table: a spec and a call for each, to be run wherever a spec can be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from attndsl.checking.check import check
from attndsl.checking.evaluate import Number
from attndsl.checking.typed import Spec
from attndsl.syntax.source import Source
from attndsl.testing import Case

Array = np.ndarray[Any, Any]
Change = Callable[[Array], Array]

HERE = Path(__file__).parent / "field"
EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True)
class FieldCase:
    """A call that somebody got a wrong answer for, and why.

    `spec` is a name of the gallery or of `field`; `change` says what becomes of an input that is made up; `tiles` are
    the rows and keys of a tile, both powers of two; `known` says that code is made for the extents of the feature dims.
    """

    name: str
    why: str
    spec: str
    dims: Mapping[str, int]
    change: Mapping[str, Change] = field(default_factory=dict)
    params: Mapping[str, Number] = field(default_factory=dict)
    tiles: tuple[int, int] = (4, 4)
    known: bool = False


@cache
def spec_of(name: str) -> Spec:
    """The typed spec of a name of the gallery, or of `field`."""
    path = next(path for path in (folder / f"{name}.attn" for folder in (HERE, EXAMPLES)) if path.exists())
    return check(Source(path.read_text(encoding="utf-8"), path.name))


def case_of(given: FieldCase) -> Case:
    """The call; all that no output depends on is NaN or infinite."""
    case = Case.make(spec_of(given.spec), dims=given.dims, params=given.params)
    return case.given(**{name: change(case.arrays[name]) for name, change in given.change.items()}).poisoned()


def put(value: float, *place: int | slice) -> Change:
    """The array with a value at a place."""

    def change(array: Array) -> Array:
        array = array.copy()
        array[place] = value
        return array

    return change


def values(*numbers: int | list[int]) -> Change:
    """Other values of the same type."""
    return lambda array: np.array(numbers, array.dtype)


# --- scores

SCORES: dict[str, tuple[str, Change]] = {
    "far below -5e4": (
        "where a mask is a large finite number (Burn takes no maximum below -1e4), honest scores below it become 0",
        lambda x: x - np.float32(6e4),
    ),
    "near the smallest float": (
        "scores times a scale that leave the range of f32 turn into -inf, and their row into 0 / 0",
        lambda x: x * np.float32(1e37),
    ),
    "far apart": ("a maximum that comes late must bring all that came before it to nothing", lambda x: x * 300),
    "equal everywhere": ("a maximum that is compared with < never finds one, where all are equal", np.zeros_like),
    "denormal": (
        "hardware that flushes to zero must not change what is equal anyway",
        lambda x: np.full_like(x, 1e-42),
    ),
    "minus infinity in all": (
        "-inf - -inf is NaN: IREE's and Burn's attention gave NaN where scores are -inf throughout",
        lambda x: np.full_like(x, -np.inf),
    ),
    "minus infinity in a row": ("the same, beside rows that are sound", put(-np.inf, 0)),
    "minus infinity in the first keys": (
        "the running maximum is still -inf when the first rescaling comes",
        put(-np.inf, slice(None), slice(4)),
    ),
    "minus infinity in the last keys": (
        "a tile without any weight comes after the maximum is found",
        put(-np.inf, slice(None), slice(4, None)),
    ),
    "one plus infinity": ("inf - inf is NaN, for that row and for no other", put(np.inf, 1, 2)),
    "one that is no number": ("a maximum that drops NaN gives a number for a row that has none", put(np.nan, 1, 2)),
}

VALUES: dict[str, tuple[str, Change]] = {
    f"{special} as value {key}": (
        "0 times what a row does not see is NaN where that is infinite or NaN (PyTorch, issue 101967)",
        put(special, key),
    )
    for special in (np.inf, np.nan, 3e38)
    for key in (2, 6)
}


def _scores() -> Iterator[FieldCase]:
    for tensor, table in (("x", SCORES), ("v", VALUES)):
        for name, (why, change) in table.items():
            yield FieldCase(name, why, "scores", {"M": 4, "N": 7, "E": 2}, {tensor: change})


# --- masks


def _one_bad_row_each(see: Array) -> Array:
    """First keys, last keys, all keys absent, none, the middle ones, in rows of one tile; the others as they are."""
    see = see.copy()
    see[:5] = True
    see[0, :6] = see[1, -6:] = see[2] = see[4, 3:8] = False
    return see


MASKS = (
    FieldCase(
        "rows that lack their first, last or all keys beside others",
        "MLX and PyTorch (issue 103963) gave numbers, or NaN, for rows whose keys are all masked",
        "seen",
        {"M": 7, "N": 11, "D": 4, "E": 3},
        {"see": _one_bad_row_each},
    ),
    FieldCase(
        "no row sees a key",
        "the logsumexp of nothing is -inf; 0 or a large negative number is added up by whoever merges it",
        "seen",
        {"M": 3, "N": 5, "D": 4, "E": 3},
        {"see": np.zeros_like},
    ),
    FieldCase(
        "a mask that holds at the edges and not inside",
        "a slice of a FlexAttention mask had a mask that is always true (PyTorch, issue 163314): right on no full tile",
        "edges",
        {"M": 5, "N": 23, "D": 4, "E": 3},
    ),
    FieldCase(
        "a window of exactly one key",
        "an end that is taken as inclusive makes it two keys, or none",
        "sliding_window",
        {"B": 1, "Hq": 2, "Hkv": 1, "M": 6, "N": 9, "D": 4, "E": 3},
        params={"window": 1},
    ),
    FieldCase(
        "more queries than keys under a mask that ends with them",
        "flash-attn aligned the mask to the first key until 2.1; aligned to the last, the first rows see nothing",
        "lse",
        {"B": 1, "H": 2, "M": 9, "N": 4, "D": 4, "E": 3},
    ),
    FieldCase(
        "a list of keys that is all -1",
        "-1 reads the last latent where an index counts from the end, or whatever lies before the first",
        "topk_sparse",
        {"B": 1, "H": 2, "M": 3, "N": 6, "K": 5, "R": 4, "P": 2},
        {"index": put(-1, 0, slice(1, 3))},
    ),
    FieldCase(
        "one tensor read at several indices",
        "a read that is shared by name, not by index, gives the wrong one of two rows",
        "twice",
        {"N": 10, "D": 4},
    ),
)

# --- lengths

LENGTHS = (
    *(
        FieldCase(
            f"{queries} queries of {keys} keys, tiles of {rows} by {columns}",
            "Pallas' attention agreed with its reference only where blocks divide the lengths (jax, issue 27224)",
            "lse",
            {"B": 1, "H": 1, "M": queries, "N": keys, "D": 4, "E": 2},
            tiles=(rows, columns),
        )
        for queries, keys, rows, columns in ((296, 296, 128, 512), (2, 1000, 128, 512), (2, 1000, 64, 64))
    ),
    FieldCase(
        "NaN past the last length",
        "what lies behind a sequence was never written: 0 times NaN is NaN",
        "padding",
        {"B": 2, "H": 1, "M": 6, "N": 9, "D": 4, "E": 3},
        {"m": values(4, 6), "n": values(5, 7)},
    ),
    FieldCase(
        "NaN in unused slots of a page",
        "pages come as the allocator gives them: 0 times NaN is NaN, on the last page of a request and on the others",
        "paged_decode",
        {"B": 2, "Hq": 2, "Hkv": 1, "D": 4, "E": 3, "P": 6, "S": 4, "L": 3},
        {"length": values(5, 7)},
    ),
    FieldCase(
        "an empty request in the middle of a packed batch",
        "flash-attn's packed kernels took as many queries as requests for granted (issue 1537)",
        "packed_ragged",
        {"B": 4, "Hq": 2, "Hkv": 1, "M": 5, "N": 9, "D": 4, "E": 3},
        {"cu_q": values(0, 2, 2, 3, 5), "cu_k": values(0, 4, 4, 4, 9)},
    ),
    FieldCase(
        "an empty request in the middle of a paged batch",
        "its partial result was never written, and what the workspace held was merged",
        "paged_decode",
        {"B": 3, "Hq": 2, "Hkv": 1, "D": 4, "E": 3, "P": 6, "S": 4, "L": 3},
        {"length": values(9, 0, 12)},
    ),
)

# --- pages, heads


def _paged(page: int, *lengths: int) -> FieldCase:
    pages = -(-max(lengths) // page)
    dims = {"B": len(lengths), "Hq": 2, "Hkv": 1, "D": 4, "E": 3, "P": pages + 2, "S": page, "L": pages + 1}
    return FieldCase(
        f"pages of {page}",
        "vLLM's Triton kernel took pages for powers of two until hybrid models brought 528; above 128 FlashInfer's read"
        " the wrong ones (issue 4347)",
        "paged_decode",
        dims,
        {"length": values(*lengths)},
        tiles=(16, 16),
    )


def _heads(ratio: int) -> FieldCase:
    return FieldCase(
        f"{ratio} query heads to a key head",
        "heads that share keys fill a tile of rows only where they are a power of two; else a tile ends amid a group",
        "gqa",
        {"B": 1, "Hq": 2 * ratio, "Hkv": 2, "M": 3, "N": 6, "D": 4, "E": 3},
    )


def _head_dim(size: int) -> FieldCase:
    return FieldCase(
        f"heads of {size}",
        "Triton's first attention kernel used 64 elements of a head, whatever its size (triton, issue 621)",
        "causal_end",
        {"B": 1, "H": 1, "M": 2, "N": 5, "D": size, "E": size},
        known=True,
    )


FIELD: tuple[FieldCase, ...] = (
    *_scores(),
    *MASKS,
    *LENGTHS,
    *(_paged(page, *lengths) for page, lengths in ((1, (5, 0, 7)), (3, (7, 1, 9)), (528, (530, 528)))),
    *map(_heads, (3, 5, 7)),
    *map(_head_dim, (56, 72, 80, 96, 112, 192, 224, 320)),
)
"""The cases; pages beyond a length, and slots that no request has, hold NaN and infinities in all of them."""
