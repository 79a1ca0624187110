"""Programs of several heads and sentences, whether or not these divide their numbers, compute what those of one do."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from attndsl.checking.check import check
from attndsl.checking.symbolic import evaluate
from attndsl.ir import tile
from attndsl.ir.sizes import size_of
from attndsl.syntax.read import read_source
from attndsl.testing import Case, Form, check_stages
from attndsl.testing.stages import lower

EXAMPLES = Path(__file__).parents[2] / "examples"


ONE_GROUP = ("causal_end", "encoder", "pair_bias", "relu_attention")
BATCHES = [
    *product(ONE_GROUP, [(4, 1, (1, 1)), (7, 1, (2, 1)), (7, 4, (3, 1)), (29, 4, (9, 3))]),
    *product(["gqa"], [(8, 1, (1, 1)), (14, 1, (2, 1)), (14, 4, (3, 1)), (60, 4, (9, 3))]),
]


@pytest.mark.parametrize(("name", "rows", "sentences", "batches"), [(name, *row) for name, row in BATCHES])
def test_any_number_of_heads_and_sentences_at_once(
    name: str, rows: int, sentences: int, batches: tuple[int, int]
) -> None:
    """Three heads of keys: one after the other, in two batches of which the last is not full, three sentences' in one.

    Of several sentences there are four programs or more, unless tiles are small.
    """
    dims = {"B": sentences, "H": 3, "Hq": 6, "Hkv": 3, "M": 5, "N": 5, "D": 4, "E": 4}
    spec = check(read_source(EXAMPLES / f"{name}.attn"))
    case = Case.make(spec, seed=1, dims={d: dims[d] for d in spec.dims}, hostile=True).poisoned()
    form = Form(rows=rows, keys=8)
    programs = {op.variable.data: op for op in lower(case, form).walk() if isinstance(op, tile.ProgramOp)}
    sizes = [size_of(programs[variable].step) for variable in ("h" if "h" in programs else "h_group", "b")]
    assert tuple(evaluate(size, case.dims, {}) for size in sizes if size is not None) == batches
    check_stages([case], form=form)
