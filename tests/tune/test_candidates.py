"""What tuning may try: what the cost model says fits."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import attndsl
from attndsl.driver.artifact import Artifact
from attndsl.ir.context import parse_module
from attndsl.ir.machines import MACHINES
from attndsl.passes.assign_schedules import SPACE, candidates

EXAMPLES = Path(__file__).parents[2] / "examples"

SIZES = {"gqa": {"D": 128, "E": 128}, "mla_paged": {"P": 64, "R": 512, "S": 64}}


@cache
def compiled(name: str) -> Artifact:
    return attndsl.load(EXAMPLES / f"{name}.attn").artifact("triton", SIZES[name], "cuda:90", T="bf16")


def found(name: str, machine: str = "cuda:90") -> list[dict[str, int]]:
    return candidates(parse_module(compiled(name).ir["tile"]), MACHINES[machine])


@pytest.mark.parametrize("name", SIZES)
def test_the_choices_of_the_tables_are_among_them(name: str) -> None:
    listed = [line.strip(" ,") for line in compiled(name).source.splitlines() if line.startswith('    {"ROWS"')]
    schedules = [str(schedule).replace("'", '"') for schedule in found(name)]
    assert listed and set(listed) <= set(schedules)
    assert len(schedules) == len(set(schedules))


def test_they_fit_the_memory_and_the_registers_of_a_processor() -> None:
    shapes = [tuple(schedule.values()) for schedule in found("gqa")]
    assert (128, 128, 8, 3) in shapes
    assert (128, 128, 8, 4) not in shapes, "4 stages of 64 KiB beside the queries"
    assert (128, 128, 4, 2) not in shapes, "512 registers a thread"
    small = [tuple(schedule.values()) for schedule in found("gqa", "hip:gfx942")]
    assert (16, 64, 4, 3) in shapes and (16, 64, 4, 3) not in small, "64 KiB in all"


def test_tiles_divide_a_page() -> None:
    assert {schedule["KEYS"] for schedule in found("mla_paged")} == {16, 32, 64}
    assert {schedule["KEYS"] for schedule in found("gqa")} == set(SPACE["KEYS"])


def test_one_row_is_added_up_in_registers() -> None:
    text = "dims B, N, D input q : f32[B, D] input k : f32[B, N, D] output o : f32[B, D] each b in B over j in N"
    source = f"attention one_row {{ {text} o[b, :] = softmax(q[b, :] . k[b, j, :]) . k[b, j, :] }}"
    module = attndsl.compile(source).artifact("triton", {}, "cuda:90").ir["tile"]
    schedules = candidates(parse_module(module), MACHINES["cuda:90"])
    assert {schedule["num_stages"] for schedule in schedules} == {1}
    assert {(schedule["KEYS"], schedule["num_warps"]) for schedule in schedules} > {(16, 4), (32, 8)}


def test_a_module_that_only_merges_has_none() -> None:
    whole, part, merge = compiled("gqa").ir["tile"].split("  tile.kernel ")[1:]
    text = compiled("gqa").ir["tile"]
    assert found("gqa") and "merge" in merge
    only = text.replace(f"  tile.kernel {whole}", "").replace(f"  tile.kernel {part}", "")
    assert candidates(parse_module(only), MACHINES["cuda:90"]) == []
