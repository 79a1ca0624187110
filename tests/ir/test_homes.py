"""Homes of tiles: when tiles can share one, and that the interpreter finds what is read too late."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from attndsl.backends.numpy.emit import emit
from attndsl.ir import tile
from attndsl.ir.allocation import propose
from attndsl.ir.analyses.liveness import Liveness
from attndsl.ir.context import parse_module
from attndsl.ir.interpret import interpret
from attndsl.ir.residence import Overwritten
from attndsl.ir.xdsl import ModuleOp

KERNEL = """
spec.tensor @x "input" "f32" ["M", "N"]
spec.tensor @o "output" "f32" ["M"]
tile.kernel @k {{
  %zero = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
  %size = arith.constant 4 : index
  %M = spec.dim "M"
  %N = spec.dim "N"
  {homes}
  %i0 = tile.program "i" to %M step %size
  %i = tile.range "i" from %i0 to %M size %size
  %start = tile.broadcast %none over (%i) : f32 to f32
  {start_into}
  %last = tile.loop %j0 = %zero to %N step %size iter_args(%state = %start) -> (f32) {{
    %j = tile.range "j" from %j0 to %N size %size
    %x = tile.load @x[%i, %j] : f32
    {body}
    tile.yield %next : f32
  }}
  tile.store @o[%i] = %last : f32
}}
"""

SUM = """
%p = math.exp2 %x : f32
{p_into}
%part = tile.sum %p over %j : f32 to f32
{part_into}
%next = arith.addf %state, %part : f32
{next_into}
"""

LARGEST = """
%part = tile.max %x over %j : f32 to f32
%next = arith.maximumf %state, %part : f32
{next_into}
%scale = arith.subf %state, %next : f32
{scale_into}
"""


BROADCAST = """
%s = arith.addf %x, %state : f32
%next = tile.sum %s over %j : f32 to f32
"""


def kernel(body: str, homes: str = "", **statements: str) -> ModuleOp:
    """A kernel that folds the keys of rows."""
    named = dict.fromkeys(("p_into", "part_into", "next_into", "scale_into", "start_into"), "") | statements
    module = parse_module(KERNEL.format(homes=homes, start_into=named["start_into"], body=body.format(**named)))
    module.verify()
    return module


@pytest.mark.parametrize(
    ("body", "clashing", "free"),
    [
        # What a loop starts from may be added to in its place, and nothing else lives there while it runs. A reduction
        # does not write over what it reads; an elementwise operation may.
        (SUM, ["part start", "part next", "p part"], ["start next", "next next", "x p", "p p"]),
        # The state before is read after the next one has been made.
        (LARGEST, ["next next", "next start", "part start", "part next", "scale next"], ["part scale", "scale scale"]),
        # What is made outside of a loop and read there, the next iteration reads again.
        ("%next = arith.addf %state, %start : f32", ["next start"], ["next next"]),
        # An operand with other axes is read for several elements.
        (BROADCAST, ["s start"], ["s x"]),
    ],
)
def test_tiles_that_are_needed_at_once_clash(body: str, clashing: Sequence[str], free: Sequence[str]) -> None:
    module = kernel(body)
    found = Liveness(next(op for op in module.walk() if isinstance(op, tile.KernelOp)))
    named = {result.name_hint: result for op in module.walk() for result in op.results}
    for wanted, pairs in ((True, clashing), (False, free)):
        for pair in pairs:
            one, other = (named[name] for name in pair.split())
            assert found.clash(one, other) == found.clash(other, one) == wanted, pair


def test_a_proposal_adds_up_in_one_place() -> None:
    module = kernel(SUM)
    (op,) = (op for op in module.walk() if isinstance(op, tile.KernelOp))
    found = propose(op, lambda op: not isinstance(op, tile.LoadOp))
    assert [[value.name_hint for value in each.tiles] for each in found] == [["start", "next"], ["part"], ["p"]]


TURNED = """
%p = math.exp2 %x : f32
tile.into @tiles[%i, %j] stage %zero = %p : f32
%q = arith.negf %p : f32
tile.into @tiles[%j, %i] stage %zero = %q : f32
%next = tile.max %q over %j : f32 to f32
"""

RING = """
spec.tensor @x "input" "f32" ["N", "M"]
spec.tensor @o "output" "f32" ["M"]
tile.kernel @k {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %none = arith.constant 0.0 : f32
  %stages = arith.constant STAGES : index
  %M = spec.dim "M"
  %N = spec.dim "N"
  tile.home @ring(%M) stages STAGES : index : f32
  %d = tile.range "d" from %zero to %M size %M
  %start = tile.broadcast %none over (%d) : f32 to f32
  %first = tile.load @x[%zero, %d] : f32
  tile.into @ring[%d] stage %zero = %first : f32
  %sum, %rest = tile.loop %n = %zero to %N step %one iter_args(%state = %start, %now = %first) -> (f32, f32) {
    %after = arith.addi %n, %one : index
    %stage = spec.mod %after, %stages
    %there = arith.cmpi slt, %after, %N : index
    %ahead = tile.load @x[%after, %d] where %there : f32
    tile.into @ring[%d] stage %stage = %ahead : f32
    %next = arith.addf %state, %now : f32
    tile.yield %next, %ahead : f32, f32
  }
  tile.store @o[%d] = %sum : f32
}
"""
"""What an iteration adds, the one before has read: as long as there are two stages."""

ROWS = "tile.home @rows(%size) : f32"
TILES = "tile.home @tiles(%size, %size) : f32"
STATE = {"start_into": "tile.into @rows[%i] = %start : f32", "next_into": "tile.into @rows[%i] = %next : f32"}
X = np.arange(42, dtype=np.float32).reshape(6, 7) / 16
DIMS = {"M": 6, "N": 7}


def run(module: ModuleOp, x: np.ndarray[Any, Any] = X) -> np.ndarray[Any, Any]:
    """What the generated file computes."""
    namespace: dict[str, Any] = {}
    exec(compile(emit(module), "<k>", "exec"), namespace)
    out = np.full(6, np.nan, np.float32)
    namespace["k"](x, out)
    return out


def test_a_state_that_is_added_to_where_it_lies() -> None:
    module = kernel(SUM, ROWS, **STATE)
    wanted = np.exp2(X).sum(axis=1)
    np.testing.assert_allclose(interpret(module, {"x": X}, DIMS, {})["o"], wanted, rtol=1e-6)
    np.testing.assert_allclose(run(module), wanted, rtol=1e-6)
    text = emit(module)
    assert "    rows = np.empty((4,), np.float32)\n    for i0 in range(0, M, 4):" in text
    assert "next = np.ndarray((i_end - i0,), np.float32, rows)\n" in text
    assert "np.add(last, np.exp2(x_2).sum(axis=1), out=next)\n" in text


def test_a_home_may_have_its_axes_in_another_order() -> None:
    module = kernel(SUM, TILES, p_into="tile.into @tiles[%j, %i] = %p : f32")
    np.testing.assert_allclose(run(module), np.exp2(X).sum(axis=1), rtol=1e-6)
    text = emit(module)
    assert "p = np.ndarray((j_end - j0, i_end - i0), np.float32, tiles).T\n            np.exp2(x_2, out=p)" in text


def test_tiles_that_a_block_writes_into_one_place_have_one_name() -> None:
    """That of the first that has one; what is made of the one before is made in place."""
    body = """
    %0 = math.exp2 %x : f32
    tile.into @tiles[%i, %j] = %0 : f32
    %s = arith.mulf %0, %x : f32
    tile.into @tiles[%i, %j] = %s : f32
    %1 = arith.subf %x, %s : f32
    tile.into @tiles[%i, %j] = %1 : f32
    %part = tile.sum %1 over %j : f32 to f32
    %next = arith.addf %state, %part : f32
    """
    module = kernel(body, TILES)
    np.testing.assert_allclose(run(module), (X - np.exp2(X) * X).sum(axis=1), rtol=1e-5)
    lines = [line.strip() for line in emit(module).splitlines()]
    place = lines.index("s = np.ndarray((i_end - i0, j_end - j0), np.float32, tiles)")
    assert lines[place + 1 : place + 4] == ["np.exp2(x_2, out=s)", "s *= x_2", "np.subtract(x_2, s, out=s)"]
    assert "last = last + s.sum(axis=1)" in lines


LATE = """
%p = math.exp2 %x : f32
tile.into @tiles[%i, %j] = %p : f32
%part = tile.sum %p over %j : f32 to f32
tile.into @rows[%i] = %part : f32
%twice = arith.addf %part, %part : f32
%wide = tile.broadcast %part over (%j) : f32 to f32
%other = tile.max %x over %j : f32 to f32
tile.into @rows[%i] = %other : f32
%sum = arith.addf %other, %twice : f32
%most = tile.max %wide over %j : f32 to f32
%both = arith.addf %sum, %most : f32
%next = arith.addf %state, %both : f32
"""


def test_what_was_computed_before_a_home_is_written_over_stays() -> None:
    """Neither put off to where it is used, nor a view."""
    module = kernel(LATE, f"{ROWS}\n{TILES}")
    parts = np.array([np.exp2(X[:, :4]).sum(axis=1), np.exp2(X[:, 4:]).sum(axis=1)])
    wanted = (3 * parts + [X[:, :4].max(axis=1), X[:, 4:].max(axis=1)]).sum(axis=0)
    np.testing.assert_allclose(interpret(module, {"x": X}, DIMS, {})["o"], wanted, rtol=1e-6)
    np.testing.assert_allclose(run(module), wanted, rtol=1e-6)


def test_a_ring_holds_a_tile_in_each_stage() -> None:
    module = parse_module(RING.replace("STAGES", "2"))
    module.verify()
    x = X.T.copy()
    wanted = x.sum(axis=0)
    np.testing.assert_array_equal(interpret(module, {"x": x}, DIMS, {})["o"], wanted)
    np.testing.assert_array_equal(run(module, x), wanted)
    assert "ring = np.empty((2, M), np.float32)" in emit(module)
    assert "ahead = ring[stage]" in emit(module)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (
            kernel(SUM, ROWS, **STATE, part_into="tile.into @rows[%i] = %part : f32"),
            (
                "@rows holds no longer what tile.broadcast %start made when arith.addf %next reads it: "
                "tile.sum %part wrote over it"
            ),
        ),
        (
            kernel(LARGEST, ROWS, **STATE),
            (
                "@rows holds no longer what tile.broadcast %start made when arith.subf %scale reads it: "
                "arith.maximumf %next wrote over it"
            ),
        ),
        (
            kernel(TURNED, "tile.home @tiles(%size, %size) stages 1 : index : f32"),
            "arith.negf %q writes over what it reads, in @tiles",
        ),
        (
            parse_module(RING.replace("STAGES", "1")),
            (
                "@ring holds no longer what tile.load %first made when arith.addf %next reads it: "
                "tile.load %ahead wrote over it"
            ),
        ),
    ],
)
def test_what_is_read_too_late_is_found(module: ModuleOp, message: str) -> None:
    with pytest.raises(Overwritten) as raised:
        interpret(module, {"x": X.T.copy() if "ring" in message else X}, DIMS, {})
    assert str(raised.value) == message
