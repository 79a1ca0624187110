"""Runs the regressions in Triton's interpreter: one JSON line a spec. Its own process, as Triton wants."""

from __future__ import annotations

import json
import traceback

from attndsl.testing.triton_program import TritonProgram, prepare

DEVICE = prepare()

from attndsl.testing.stages import lower  # noqa: E402

from .test_regressions import REGRESSIONS, TRITON, calls  # noqa: E402


def main() -> None:
    for path in REGRESSIONS:
        error = ""
        try:
            for form, case in zip(TRITON, calls(path), strict=False):  # each in another way
                program = TritonProgram.of(case, lower(case, form), DEVICE)
                case.check("triton", program.run(case, form.splits), narrowed=True)
        except Exception:
            error = f"{path.stem}: {traceback.format_exc()}"
        print(json.dumps({"spec": path.stem, "error": error}), flush=True)


if __name__ == "__main__":
    main()
