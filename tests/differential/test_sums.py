"""What rows add up to: the same bits whoever runs them, kept in f32 whatever is stored."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl.checking.check import check
from attndsl.checking.typed import Spec
from attndsl.driver.passes import parse_pipeline, run_pipeline
from attndsl.ir import tile
from attndsl.ir.context import parse_module
from attndsl.ir.interpret import interpret
from attndsl.ir.xdsl import Operation
from attndsl.op import threads
from attndsl.storage import encode
from attndsl.syntax.read import read_source
from attndsl.syntax.source import Source
from attndsl.testing import Case, Disagreement, Form, Program, check_stages, compile_program
from attndsl.testing.stages import lower

ROOT = Path(__file__).parents[2]
DIMS = {"B": 2, "H": 4, "M": 5, "N": 7, "D": 3, "C": 3}


@pytest.fixture(scope="module")
def sums() -> Spec:
    return check(read_source(ROOT / "tests/triton_backend/sums.attn"))


@pytest.mark.parametrize("target", ["numpy", "triton"])
def test_every_stage_agrees(sums: Spec, target: str) -> None:
    check_stages([Case.make(sums, dims=DIMS, seed=3, hostile=True)], form=Form(target))


@pytest.mark.parametrize("element", ["f16", "bf16", "f64"])
def test_a_sum_is_rounded_once(sums: Spec, element: str) -> None:
    case = Case.make(sums, element, dims={**DIMS, "M": 60}, seed=3)
    case.check("numpy", compile_program(sums, case.types).run(case))


TOTALS = """attention totals {
    dims H, M
    types T
    input  x : T[H, M]
    output o : T[M]
    each h in H, i in M
    o[i] += x[h,i]
}"""


@pytest.mark.parametrize("element", ["f16", "bf16"])
def test_a_sum_that_is_rounded_each_time_is_not_explained(element: str) -> None:
    case = Case.make(check(Source(TOTALS)), element, dims={"H": 60, "M": 20}, seed=1)
    program = compile_program(case.spec, case.types)
    case.check("numpy", program.run(case))
    assert "o_total = np.empty((M,), np.float32)" in program.source
    with pytest.raises(Disagreement):
        case.check("numpy", exec_of(case, program.source.replace("np.empty((M,), np.float32)", "np.empty((M,), 'f2')")))


def exec_of(case: Case, source: str) -> dict[str, np.ndarray[Any, Any]]:
    names: dict[str, Any] = {}
    exec(source, names)
    return Program(source, names[case.spec.name]).run(case)


@pytest.mark.parametrize("name", ["sums", "totals", "shared heads"])
def test_the_number_of_threads_changes_no_bit(name: str, sums: Spec) -> None:
    texts = {"totals": TOTALS.replace("each h in H, i in M", "each i in M, h in H"), "shared heads": SHARED_HEADS}
    extents = {"sums": {**DIMS, "M": 50}, "totals": {"H": 5, "M": 50}, "shared heads": {"H": 6, "G": 2, "N": 500}}
    spec = sums if name == "sums" else check(Source(texts[name]))
    case = Case.make(spec, "f16", dims=extents[name], seed=5)
    program = compile_program(spec, case.types)
    shared = Program(program.source, partial(program.function, _run=lambda tiles, worth: threads.run(tiles, True)))
    alone = program.run(case)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for _ in range(5):
            for output, found in shared.run(case).items():
                assert found.tobytes() == alone[output].tobytes()
    finally:
        sys.setswitchinterval(interval)


def kernels(text: str, target: str) -> list[tile.KernelOp]:
    module = lower(Case(check(Source(text)), {"T": "f32"}, {}, {}, {}), Form(target))
    return [op for op in module.body.block.ops if isinstance(op, tile.KernelOp)]


@pytest.mark.parametrize(
    ("place", "meets", "shared"),
    [("[M - 1 - i]", True, False), ("[h * 8 + i % 2]", True, False), ("[h + i]", True, False)],
)
def test_threads_share_no_programs_that_no_place_tells_apart(place: str, meets: bool, shared: bool) -> None:
    (kernel,) = kernels(TOTALS.replace("[i]", place), "numpy")
    stores = [op for op in kernel.walk() if isinstance(op, tile.StoreOp)]
    assert [op.meets for op in stores] == [meets]
    assert any(isinstance(op, tile.ThreadsOp) for op in kernel.walk()) == shared


def test_rows_of_places_of_their_own_are_shared_and_need_no_atomic_addition() -> None:
    text = TOTALS.replace("o : T[M]", "o : T[M, H]").replace("o[i]", "o[i + 1, H - 1 - h]")
    for target in ("numpy", "triton"):
        (kernel,) = kernels(text, target)
        assert not any(op.meets for op in kernel.walk() if isinstance(op, tile.StoreOp))
        assert any(isinstance(op, tile.ThreadsOp) for op in kernel.walk()) == (target == "numpy")


SHARED_HEADS = """
attention t {
    dims H, G, M, N, D
    types T
    input  q : T[H, M, D]
    input  k : T[G, N, D]
    output o : T[G, N, D]
    require H % G == 0
    each h in H, j in N
    over i in M
    let g = h / (H / G)
    o[g,j,:] += sum(exp(q[h,i,:] . k[g,j,:]) * q[h,i,:])
}
"""


def test_threads_share_the_keys_to_which_several_heads_add() -> None:
    """Heads are stepped through in each thread, in order."""
    meeting = [each for each in kernels(SHARED_HEADS, "numpy") if any(map(meets, each.walk()))]
    assert meeting
    for kernel in meeting:
        assert [op.variable.data for op in kernel.walk() if isinstance(op, tile.ThreadsOp)] == ["j"]
        assert [op.variable.data for op in kernel.walk() if isinstance(op, tile.ProgramOp)] == ["j", "h"]


def meets(op: Operation) -> bool:
    return isinstance(op, tile.StoreOp) and op.meets


MEETING = """
spec.tensor @x "input" "f32" ["H", "M"]
spec.tensor @o "output" "f32" ["M"] partial
attn.kernel @k {
  %H = spec.dim "H"
  %M = spec.dim "M"
  %h = attn.each "h" to %H
  %i = attn.each "i" to %M
  %x = attn.read @x[%h, %i] : f32
  attn.write @o[%i] = %x adds along(ALONG) : f32
}
"""


def test_rows_that_are_said_not_to_meet_do_not() -> None:
    x = encode(np.ones((3, 2)), "f32")
    found = interpret(parse_module(MEETING.replace("ALONG", "%h")), {"x": x}, {"H": 3, "M": 2}, {})
    np.testing.assert_array_equal(found["o"], [3, 3])
    with pytest.raises(AssertionError, match=r"rows of one attn\.write meet that are said not to"):
        interpret(parse_module(MEETING.replace("ALONG", "%i")), {"x": x}, {"H": 3, "M": 2}, {})


HIDDEN = """
spec.tensor @x "input" "f32" ["B", "M"]
spec.tensor @seen "input" "bool" ["B", "M"]
spec.tensor @place "input" "i32" ["B"]
spec.tensor @o "output" "f32" ["P"] partial
attn.kernel @k {
  %B = spec.dim "B"
  %b = attn.each "b" to %B
  %M = spec.dim "M"
  %i = attn.each "i" to %M
  %x = attn.read @x[%b, %i] : f32
  %seen = attn.read @seen[%b, %i] : i1
  %p = attn.read @place[%b] : index
  attn.write @o[%p] = %x adds along(%b, %i) where %seen : f32
}
"""


@pytest.mark.parametrize("fixed", ["", "fixed=true"])
def test_some_rows_of_a_tile_add_and_others_do_not(fixed: str) -> None:
    """Where none does, there may be no element to which they would add."""
    x = np.arange(15, dtype=np.float32).reshape(3, 5)
    x[2, :] = x[0, 1] = np.nan
    seen = np.array([[1, 0, 1, 1, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 0]], bool)
    arrays = {"x": x, "seen": seen, "place": np.array([1, 1, 99], np.int32)}
    module = parse_module(HIDDEN)
    for passes in ("find-meetings,pack-rows", f"tile{{rows=2 keys=4 {fixed}}},canonicalize,pad-axes,cse"):
        run_pipeline(module, parse_pipeline(passes))
        found = interpret(module, arrays, {"B": 3, "M": 5, "P": 2}, {})
        np.testing.assert_array_equal(found["o"], [0, 0 + 2 + 3 + 9])
