"""Which schedules are tried, what is found wrong with them, and what is kept."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import attndsl
from attndsl import tune
from attndsl.driver.tuned import Tuned
from attndsl.op import gpu
from attndsl.tune import Trial
from tests.tune.conftest import EXAMPLES, TABLES, Device, tuning, tuning_of

FASTER = {"ROWS": 16, "KEYS": 32, "num_warps": 4, "num_stages": 3}


def times(device: Device, **microseconds: float) -> None:
    """Times by `KEYS_stages`; 100 µs for all others."""
    device.microseconds = lambda s: microseconds.get(f"k{s['KEYS']}_{s['num_stages']}", 100.0)


def all_trials(device: Device, **dims: int) -> tuple[tune.Tuning, list[Trial]]:
    search = tuning(device, **dims)
    return search, list(search.trials(search.schedules(), seconds=1e9))


def test_the_neighbours_of_the_tables_choice_come_first(device: Device) -> None:
    search = tuning(device)
    assert search.tables == TABLES and search.splits == 1
    first, *others = search.schedules()
    assert first == {**TABLES, "num_stages": 4}, "a third more stages"
    assert TABLES not in others
    assert others[-1] == {**TABLES, "KEYS": 16, "num_warps": 8, "num_stages": 1}


def test_tiles_of_more_rows_are_tried_where_they_are_fewer(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    assert {schedule["ROWS"] for schedule in tuning(device).schedules()} == {16}
    assert {schedule["ROWS"] for schedule in tuning(device, Hq=2).schedules()} == {16}
    assert {schedule["ROWS"] for schedule in tuning(device, M=4).schedules()} == {16, 32, 64}
    search = tuning(device, M=16)
    assert search.tables["ROWS"] == 64
    # 128 rows make half as many tiles, though as many programs once these are cut into twice as many splits.
    launches: Any = search._program.launches
    monkeypatch.setitem(launches.__globals__, "_choose_splits", lambda asked, n, *_: asked.get("SPLITS", 8 // n))
    assert {schedule["ROWS"] for schedule in search.schedules()} == {16, 32, 64, 128}


def test_a_schedule_finds_what_it_writes_in_place_as_it_was(device: Device) -> None:
    text = (EXAMPLES / "gqa.attn").read_text(encoding="utf-8")
    text = text.replace("    require", "    inout total : T[B]\n    require").rstrip("}\n ")
    search = tuning_of(attndsl.compile(f"{text}\n    each b in B\n    total[b] += 1.0\n}}"), device)
    trials = list(search.trials([FASTER, TABLES], seconds=1e9))
    assert [trial.note for trial in trials] == ["", ""]
    assert all(trial.seconds is not None for trial in trials)


def test_a_schedule_that_wins_twice_is_kept_and_tried_first_the_next_time(device: Device) -> None:
    times(device, k32_3=90.0)
    search, trials = all_trials(device)
    best = search.best(trials)
    assert best is not None and best.schedule == FASTER and best.ratio == pytest.approx(0.9)
    search.keep(best)
    again = tuning(device)
    assert again.schedules()[0] == FASTER
    assert again.schedules().count(FASTER) == 1
    assert tuning(device, N=65).schedules()[0] == FASTER, "65 to 128 keys are of about the same size"
    assert tuning(device, N=64).schedules()[0] != FASTER


@pytest.mark.parametrize(("first", "second", "wins"), [(90.0, 96.0, True), (90.0, 98.0, False), (98.0, 90.0, False)])
def test_a_schedule_has_to_win_by_more_than_noise_both_times(
    device: Device, first: float, second: float, wins: bool
) -> None:
    taken = iter((first, second))
    device.microseconds = lambda schedule: next(taken) if schedule == FASTER else 100.0
    search, trials = all_trials(device)
    assert min(trial.ratio for trial in trials) == pytest.approx(first / 100)
    assert (search.best(trials) is not None) == wins


def test_tables_that_have_caught_up_take_the_place_of_what_was_kept(device: Device) -> None:
    times(device, k32_3=90.0)
    search, trials = all_trials(device)
    search.keep(search.best(trials))
    times(device)
    search, trials = all_trials(device)
    assert trials[0].schedule == FASTER
    search.keep(search.best(trials))
    assert tuning(device).schedules()[0] != FASTER


def test_what_is_wrong_spills_or_does_not_fit_is_told_and_not_timed(device: Device) -> None:
    device.answer = lambda s: 1.5 if s["KEYS"] == 16 else 1.0
    device.spills = lambda s: 5 if s["KEYS"] == 32 else 2 if s["KEYS"] == 64 else 0  # 2 are those of the tables
    device.refuses = lambda s: s["KEYS"] == 128
    device.microseconds = lambda s: 100.0 if s == TABLES else 50.0
    search, trials = all_trials(device)
    notes = {trial.schedule["KEYS"]: trial.note for trial in trials}
    assert notes == {
        16: "off by 5.0e-01, by 5.0e-01 in the worst row",
        32: "it spills 5 registers a thread",
        64: "",
        128: "RuntimeError: out of resource: shared memory",
    }
    assert {schedule["KEYS"] for schedule in device.timed} == {64}
    best = search.best(trials)
    assert best is not None and best.schedule["KEYS"] == 64


def test_nothing_is_kept_where_nothing_could_be_timed(device: Device) -> None:
    device.refuses = lambda s: s != TABLES
    search, trials = all_trials(device)
    assert trials and search.best(trials) is None


def test_no_schedule_is_begun_after_the_budget(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = count()
    monkeypatch.setattr(tune, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    search = tuning(device)
    assert len(list(search.trials(search.schedules(), seconds=3))) == 3


def test_splits_are_told(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    search = tuning(device)
    launches: Any = search._program.launches
    monkeypatch.setitem(launches.__globals__, "_choose_splits", lambda *_: 7)
    assert search.trial(FASTER).splits == 7


def test_an_entry_that_is_damaged_counts_for_nothing(device: Device, tmp_path: Path) -> None:
    tuned = Tuned("a GPU", "source")
    tuned.put({"N": 5}, FASTER)
    assert tuned.get({"N": 8}) == FASTER
    assert tuned.get({"N": 9}) == {}
    (entry,) = (tmp_path / "cache" / "attndsl-v1" / "tuned").iterdir()
    entry.write_bytes(entry.read_bytes()[:-9])
    assert tuned.get({"N": 8}) == {}
    tuned.put({"N": 8}, FASTER)
    assert tuned.get({"N": 5}) == FASTER


PREFILL = {"Hq": 2, "M": 256, "N": 256, "D": 128, "E": 128}


@pytest.mark.parametrize(("rows", "wide"), [(256, 1), (384, 0)])
def test_programs_of_other_rows_are_tried_with_roles(
    device: Device, monkeypatch: pytest.MonkeyPatch, rows: int, wide: int
) -> None:
    """Of one processor and two heads, tiles of 128 rows are as many as those of 192, or 6 for 4."""
    monkeypatch.setattr(gpu, "has_roles", lambda: True)
    mha, dims = attndsl.load(EXAMPLES / "mha.attn"), {"H": 2, "M": rows, "N": 64}
    globals_: dict[str, Any] = tuning_of(mha, device, **dims)._program.launches.__globals__
    monkeypatch.setattr(gpu, "load_module", lambda artifact: globals_)
    monkeypatch.setitem(globals_, "_has_roles", lambda asked, *_: bool((asked or {}).get("ROLES")))
    assert tuning_of(mha, device, **dims).schedules()[:2] == [{"ROLES": 1}, {"ROLES": 1, "WIDE": wide}]
    monkeypatch.setitem(globals_, "_has_roles", lambda asked, *_: bool((asked or {}).get("ROLES", 1)))
    search = tuning_of(mha, device, **dims)
    assert search.tables == {"ROLES": 1, "WIDE": 1 - wide, "num_warps": 4}
    assert search.schedules()[:2] == [{"ROLES": 0}, {"ROLES": 1, "WIDE": wide}]


@pytest.mark.parametrize("pays", [False, True])
def test_the_other_form_is_tried_first(device: Device, monkeypatch: pytest.MonkeyPatch, pays: bool) -> None:
    """Of a file with roles, whose launcher is told that the CPU has them, and whether they pay."""
    monkeypatch.setattr(gpu, "has_roles", lambda: True)
    with_roles, plain = {"ROLES": 1, "num_warps": 4}, {"ROWS": 64, "KEYS": 64, "num_warps": 4, "num_stages": 3}
    asked = {"ROLES": int(not pays)}
    slower, faster = (with_roles, plain) if pays else (plain, with_roles)
    search = tuning(device, **PREFILL)
    assert asked not in search.schedules(), "no Hopper GPU"

    globals_: dict[str, Any] = search._program.launches.__globals__

    def has_roles(asked: Any, splits: int, pays_: bool, *tensors: Any) -> bool:
        return bool((asked or {}).get("ROLES", pays and not asked))

    monkeypatch.setattr(gpu, "load_module", lambda artifact: globals_)
    monkeypatch.setitem(globals_, "_has_roles", has_roles)
    search = tuning(device, **PREFILL)
    device.microseconds = lambda schedule: 50.0 if schedule == faster else 100.0
    assert search.tables == slower
    first, *others = search.schedules()
    assert first == asked and asked not in others and plain not in others
    assert {schedule["KEYS"] for schedule in others} > {32, 64}
    trials = list(search.trials([first], seconds=1e9))
    best = search.best(trials)
    assert best is not None and best.schedule == asked and best.ratio == pytest.approx(0.5)
    search.keep(best)
    again = tuning(device, **PREFILL).schedules()
    assert again[0] == asked and again.count(asked) == 1
