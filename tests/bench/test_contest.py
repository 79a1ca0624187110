"""What is wrong is never timed; what fails says why; what is known is kept."""

from __future__ import annotations

import csv
import math
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

from attndsl.bench import ours, paged, suite
from attndsl.bench.contest import TOLERANCE, Contestant, Refused, contest, error
from attndsl.bench.limits import Limits, measure
from attndsl.bench.timing import CpuClock, Time, Turn

INPUTS = {"x": torch.arange(12.0).reshape(3, 4) + 1}
WANTED = {"y": 2 * INPUTS["x"].double()}


def double(x: Any) -> Any:
    return lambda: 2 * x["x"]


def late(x: Any) -> Any:
    raise Refused("it does not fit")


def broken(x: Any) -> Any:
    raise ValueError("no such thing\nand more")


def hinting(x: Any) -> Any:
    warnings.warn("it wants even sizes", stacklevel=1)
    raise RuntimeError("no kernel")


def wrong_row(x: Any) -> Any:
    return lambda: torch.cat([2 * x["x"][:2], 2.5 * x["x"][2:]])


class Counting(CpuClock):
    """Remembers whom it timed."""

    def race(self, turns: Any) -> Any:
        self.__dict__["timed"] = list(turns)
        return super().race(turns)


def test_outcomes() -> None:
    clock = Counting(rounds=1, sample=0, pause=0)
    own = [Contestant("wrong", wrong_row, ours=True), Contestant("broken", broken, ours=True)]
    theirs = [
        Contestant("right", double),
        Contestant("late", late),
        Contestant("wrong peer", wrong_row),
        Contestant("hinting", hinting),
    ]
    found = contest([*own, *theirs], INPUTS, WANTED, "f32", clock)
    assert clock.__dict__["timed"] == ["right"]
    assert found["right"].seconds and found["right"].error == 0
    assert (found["wrong"].verdict, found["wrong"].seconds) == ("WRONG", None)
    assert "wrong: off by 1.4e-01, by 2.5e-01 in the worst row" in found["wrong"].note
    assert (found["broken"].verdict, found["broken"].note) == ("FAILED", "broken: ValueError: no such thing")
    assert (found["late"].verdict, found["late"].note) == (None, "late: it does not fit")
    assert found["hinting"].note == "hinting: RuntimeError: no kernel it wants even sizes"
    assert found["wrong peer"].verdict == "WRONG"


@pytest.mark.parametrize(
    ("got", "wanted", "typical", "worst"),
    [
        ([[1.0, 2.0]], [[1.0, 2.0]], 0, 0),
        ([[3.0, 4.0], [0.0, 0.0]], [[3.0, 4.0], [0.0, 0.0]], 0, 0),
        ([[3.0, 4.0], [0.0, 1e-9]], [[3.0, 4.0], [0.0, 0.0]], math.inf, math.inf),
        ([[6.0, 8.0], [3.0, 4.0]], [[3.0, 4.0], [3.0, 4.0]], math.sqrt(0.5), 1),
        ([[math.nan, 4.0]], [[3.0, 4.0]], math.inf, math.inf),
        ([[-math.inf, 4.0]], [[-math.inf, 4.0]], 0, 0),
        ([[0.0, 4.0]], [[-math.inf, 4.0]], math.inf, math.inf),
    ],
)
def test_error(got: Any, wanted: Any, typical: float, worst: float) -> None:
    found = error(torch.tensor(got), {"o": torch.tensor(wanted, dtype=torch.float64)})
    assert found == pytest.approx((typical, worst))


def test_an_output_of_another_shape_is_refused() -> None:
    with pytest.raises(ArithmeticError, match=r"o is \(4,\), not \(2, 2\)"):
        error(torch.zeros(4), {"o": torch.zeros(2, 2)})


@pytest.mark.parametrize("element", TOLERANCE)
def test_the_tolerance_tells_rounding_from_a_missing_key(element: str) -> None:
    """Attention over 1024 keys in this type is within it, over 1023 beyond it."""
    from attndsl.bench.limits import DTYPES
    from attndsl.bench.peers import attend

    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 2, 1024, 64).to(DTYPES[element]) for _ in "qkv")
    wide_q, wide_k, wide_v = (x.double() for x in (q, k, v))
    wanted = {"o": attend(wide_q, wide_k, wide_v, causal=False)}
    assert error(attend(q, k, v, causal=False), wanted)[0] < TOLERANCE[element]
    without = attend(wide_q, wide_k[:, :, 1:], wide_v[:, :, 1:], causal=False)
    assert error(without, wanted)[0] > TOLERANCE[element]


def test_a_wrong_result_stands_in_the_table_and_fails_the_run(
    measure: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from attndsl.op.op import Op

    right = Op.__call__
    monkeypatch.setattr(Op, "__call__", lambda self, **given: 1.1 * right(self, **given))
    results = measure(paged.SUITE, [paged.decode(4, 2, 16, 2, 64)])
    (row,) = (dict(zip([c.name for c in results.columns], row, strict=True)) for row in results.rows)
    assert row["ours"] == row["ours, dense"] == "WRONG"
    assert row["speed-up"] is None and row["naive"] > 0
    assert results.failures[0].startswith("Hq 4, Hkv 2, D 16, B 2, keys 64: ours: off by 1.0e-01")
    assert "WRONG" in (tmp_path / "rows.csv").read_text()


def test_rows_are_kept_as_they_come_and_the_budget_ends_them(
    measure: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    works = [paged.decode(4, 2, 16, batch, 64) for batch in (1, 2, 3)]
    now = iter([0.0, 1.0, 2.0, 99.0])
    kept: list[int] = []

    class Clock:
        def monotonic(self) -> float:
            kept.append(
                len((tmp_path / "rows.csv").read_text().splitlines()) if kept or (tmp_path / "rows.csv").exists() else 0
            )
            return next(now)

    monkeypatch.setattr(suite, "time", Clock())
    results = measure(paged.SUITE, works, seconds=10)
    assert len(results.rows) == 2
    assert results.remarks[-1] == "1 of 3 rows were not run: 10 s were over."
    comments = len(paged.SUITE.remarks) + 3  # the title, the circumstances and the names of the columns
    assert kept[1:] == [comments, comments + 1, comments + 2]


def test_rows_of_lower_rank_come_first_and_stand_in_their_place(measure: Any, tmp_path: Path) -> None:
    from dataclasses import replace

    works = [replace(paged.decode(4, 2, 16, batch, 64), rank=-batch) for batch in (1, 2, 3)]
    results = measure(paged.SUITE, works)
    assert [row[3] for row in results.rows] == [1, 2, 3]
    run = csv.reader(line for line in (tmp_path / "rows.csv").read_text().splitlines() if not line.startswith("#"))
    assert [row[3] for row in run] == ["B", "3", "2", "1"]


@pytest.mark.parametrize(
    ("failure", "said", "rows"),
    [
        (RuntimeError("CUDA error: an illegal access"), "stopped here: RuntimeError: CUDA error: an illegal access", 1),
        (torch.OutOfMemoryError("too large"), "OutOfMemoryError: too large", 2),
    ],
)
def test_a_lost_device_ends_the_run_and_a_row_that_does_not_fit_is_left_out(
    measure: Any, monkeypatch: pytest.MonkeyPatch, failure: Exception, said: str, rows: int
) -> None:
    def truth(name: str, inputs: Any, params: Any) -> Any:
        if inputs["q"].shape[0] == 2:
            raise failure
        return ours.truth(name, inputs, params)

    monkeypatch.setattr(suite, "truth", truth)
    results = measure(paged.SUITE, [paged.decode(4, 2, 16, batch, 64) for batch in (1, 2, 3)])
    assert len(results.rows) == rows
    assert results.failures == (f"Hq 4, Hkv 2, D 16, B 2, keys 64: {said}",)


def test_limits_are_what_is_moved_or_computed_in_a_second() -> None:
    class Clock:
        def race(self, turns: Any) -> Any:
            for turn in turns.values():
                assert isinstance(turn, Turn)
                turn.calls[0]()
            return {name: Time(0.5 if name == "copy" else 2.0, 0.0) for name in turns}

    found = measure(torch.device("cpu"), Clock(), bytes_=400, side=10)
    assert found.read == 2 * 400 / 0.5
    assert found.rates == dict.fromkeys(("f16", "bf16", "f32"), 1000.0)
    assert Limits(10.0, {"f32": 100.0}).seconds(moved=20, flops=100, element="f32") == 2.0
    assert Limits(10.0, {"f32": 100.0}).seconds(moved=20, flops=300, element="f32") == 3.0
