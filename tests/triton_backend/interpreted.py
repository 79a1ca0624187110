"""Runs specs in Triton's interpreter and holds their outputs against the reference: one JSON line a call.

Its own process: Triton reads TRITON_INTERPRET when it is imported.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Iterator

from attndsl.testing.triton_program import TritonProgram, prepare

DEVICE = prepare()

from attndsl.checking.typed import Spec  # noqa: E402
from attndsl.testing import Case  # noqa: E402

from .lowered import lowered, lowered_without_hints, spec_of  # noqa: E402

WITHOUT_HINTS = "--without-hints"
"""Before the names of specs: they are lowered and emitted with no name hint on any SSA value."""


def calls(spec: Spec) -> Iterator[tuple[str, Case]]:
    """Calls of one spec, by what is special about them."""
    yield "hostile", Case.make(spec, seed=2, hostile=True).poisoned()
    yield "f16, transposed", Case.make(spec, "f16", seed=1, layout="transposed").poisoned()
    yield "f64, sliced", Case.make(spec, "f64", layout="sliced")


def main(count: int, names: list[str]) -> None:
    """The first `count` calls of the specs that are named."""
    lower = lowered_without_hints if names[0] == WITHOUT_HINTS else lowered
    for name in names[lower is lowered_without_hints :]:
        spec = spec_of(name)
        programs: dict[tuple[tuple[str, str], ...], TritonProgram] = {}
        for (what, case), _ in zip(calls(spec), range(count), strict=False):
            error = ""
            try:
                key = tuple(case.types.items())
                if key not in programs:
                    # The widths of tiles differ, and neither is a power of two.
                    programs[key] = TritonProgram.of(case, lower(spec, case.types, rows=24, keys=12), DEVICE)
                for splits in (1, 2):
                    case.check(f"triton, {splits} splits", programs[key].run(case, splits), narrowed=True)
            except Exception:
                error = traceback.format_exc()
            print(json.dumps({"spec": name, "call": what, "error": error}), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
