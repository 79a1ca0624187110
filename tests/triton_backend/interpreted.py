"""Runs specs in Triton's interpreter and holds their outputs against the reference: one JSON line a call.

Its own process: Triton reads TRITON_INTERPRET when it is imported.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Iterator

import numpy as np

from attndsl.testing.triton_program import TritonProgram, prepare

DEVICE = prepare()

from attndsl.checking.coverage import written_between  # noqa: E402
from attndsl.checking.typed import Spec  # noqa: E402
from attndsl.driver.summarise import feature_dims  # noqa: E402
from attndsl.testing import Case  # noqa: E402

from .lowered import lowered, lowered_with_boxes, lowered_without_hints, spec_of  # noqa: E402

WITHOUT_HINTS = "--without-hints"
"""Before the names of specs: they are lowered and emitted with no name hint on any SSA value."""


WITH_BOXES = "--with-boxes"
"""Before the names of specs: all loads that can are boxes, and features so many that strides allow them."""


def calls(spec: Spec) -> Iterator[tuple[str, Case]]:
    """Calls of one spec, by what is special about them."""
    yield "hostile", Case.make(spec, seed=2, hostile=True).poisoned()
    yield "f16, transposed", Case.make(spec, "f16", seed=1, layout="transposed").poisoned()
    yield "f64, sliced", Case.make(spec, "f64", layout="sliced")


def boxed_calls(spec: Spec) -> Iterator[tuple[str, Case]]:
    """Calls whose tensors have lines of whole multiples of 16 bytes, where these are features, and of others."""
    for what, width, hostile in (("boxes", 16, True), ("fewer boxes", 12, False)):
        wide = {dim: width for dim in feature_dims(spec) if dim in ("D", "E")}
        yield what, Case.make(spec, "f16", seed=2, hostile=hostile, dims=wide).poisoned()


WITH_GAPS = "--with-gaps"
"""The same: the rows of requests leave some of an output to none, or follow each other in no order."""


def calls_with_gaps(spec: Spec) -> Iterator[tuple[str, Case]]:
    """Calls of eleven rows and three requests, of each table of ends: it ascends, within the rows, or it does not."""
    case = Case.make(spec, "f16", seed=1, dims={"B": 3, "M": 11, "N": 11})
    tables = {ends.table for ends in written_between(spec).values()}
    for what, ends in {
        "a gap before and behind": [2, 4, 4, 7],
        "a gap before": [5, 5, 9, 11],
        "none": [0, 3, 8, 11],
        "no rows": [6, 6, 6, 6],
        "descending": [0, 9, 2, 4],
        "descending at last": [3, 5, 11, 1],
        "from before the first row on": [-4, 1, 3, 9],
        "beyond the last row": [1, 5, 8, 40],
        "all of it beyond": [20, 21, 25, 30],
        "descending below 0": [0, -5, 8, 11],
    }.items():
        given = {table: np.array(ends, case.arrays[table].dtype) for table in tables}
        yield what, case.given(**given).poisoned()


ODD = (24, 12)
"""The rows and keys of tiles: they differ, and neither is a power of two."""

LOWERED = {
    WITHOUT_HINTS: (lowered_without_hints, ODD, calls),
    WITH_BOXES: (lowered_with_boxes, (32, 16), boxed_calls),
    WITH_GAPS: (lowered, ODD, calls_with_gaps),
}
"""How specs are lowered, with which tiles, and called, by the option before their names."""


def copied() -> list[object]:
    """What the launches of this process make to copy boxes by, from now on."""
    from triton.tools import tensor_descriptor

    made: list[object] = []

    class Noted(tensor_descriptor.TensorDescriptor):  # type: ignore[misc]
        def __post_init__(self) -> None:
            super().__post_init__()
            made.append(self)

    tensor_descriptor.TensorDescriptor = Noted
    return made


def main(count: int, names: list[str]) -> None:
    """The first `count` calls of the specs that are named."""
    lower, tiles, made_calls = LOWERED.get(names[0], (lowered, ODD, calls))
    boxes = copied()
    for name in names[names[0] in LOWERED :]:
        spec = spec_of(name)
        programs: dict[tuple[tuple[str, str], ...], TritonProgram] = {}
        for (what, case), _ in zip(made_calls(spec), range(count), strict=False):
            boxes.clear()
            error = ""
            try:
                key = tuple(case.types.items())
                if key not in programs:
                    programs[key] = TritonProgram.of(case, lower(spec, case.types, *tiles), DEVICE)
                for splits in (1, 2):
                    case.check(f"triton, {splits} splits", programs[key].run(case, splits), narrowed=True)
            except Exception:
                error = traceback.format_exc()
            print(json.dumps({"spec": name, "call": what, "error": error, "boxes": len(boxes)}), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
