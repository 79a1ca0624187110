"""Numbers that are too long, or ask for more than a machine has, are refused before anything is made of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import attndsl as package
from attndsl.backends.gpu.stand_ins import TooLarge, stand_in
from attndsl.op.errors import WrongParameter

EXAMPLES = Path(__file__).parents[2] / "examples"
GQA, WINDOW = EXAMPLES / "gqa.attn", EXAMPLES / "sliding_window.attn"
DIGITS = "9" * 5000
NINES = "99999999999999999999… (5000 characters)"


@pytest.mark.parametrize("number", [DIGITS, str(2**48 + 1), str(10**30)])
@pytest.mark.parametrize("command", ["run", "explain", "compile", "fuzz", "tune"])
def test_an_extent_has_a_bound(attndsl: Any, command: str, number: str) -> None:
    result = attndsl(command, GQA, "--shape", f"N={number}")
    shown = NINES if number == DIGITS else number
    assert (result.code, result.out) == (2, "")
    assert f"Invalid value for '--shape': N={shown}: an extent is at most 2^48." in result.err


TIMES = "is no time: 30s, 10m or 1h are."


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "--seed", DIGITS), f"Invalid value for '--seed': {NINES} is longer than 100 digits."),
        (("fuzz", "--seed", DIGITS), f"Invalid value for '--seed': {NINES} is longer than 100 digits."),
        (("fuzz", "--examples", DIGITS), f"Invalid value for '--examples': {NINES} is longer than 100 digits."),
        (("run", "--param", f"window={DIGITS}"), f"--param window={NINES}: window is a whole number from -2^62 to"),
        (("run", "--param", f"window={2**62 + 1}"), f"={2**62 + 1}: window is a whole number from -2^62 to 2^62."),
        (("run", "--shape", f"N={'x' * 5000}"), "N=xxxxxxxxxxxxxxxxxxxx… (5000 characters): an extent is a whole"),
        (("tune", "--budget", "nan"), f"'nan' {TIMES}"),
        (("tune", "--budget", "inf"), f"'inf' {TIMES}"),
        (("fuzz", "--budget", "1e999"), f"'1e999' {TIMES}"),
        (("fuzz", "--budget", DIGITS), f"for '--budget': '9999999999999999999… (5002 characters) {TIMES}"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_other_numbers_have_bounds(attndsl: Any, arguments: tuple[str, ...], said: str) -> None:
    command, *options = arguments
    result = attndsl(command, WINDOW, *options)
    assert (result.code, result.out) == (2, "")
    assert said in result.err


def test_a_suite_s_budget_is_a_time(attndsl: Any) -> None:
    assert "'nan' is no time: 30s, 10m or 1h are." in attndsl("bench", "paged", "--budget", "nan").err


def test_a_call_larger_than_the_memory_is_not_begun() -> None:
    """It is refused with no more memory than a small call takes."""
    program = f"""
from attndsl.cli.group import run
import numpy, attndsl.op.op, attndsl.inputs.make, resource
in_use = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (in_use + 2**29, resource.RLIM_INFINITY))
raise SystemExit(run(["run", {str(GQA)!r}, "--shape", "N=1000000000000,B=1,Hq=1,Hkv=1,M=1,D=2,E=4"]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stdout == ""
    assert "M = 1, N = 1000000000000, D = 2, E = 4 takes 43.7 TiB of memory, " in done.stderr
    assert "29.1 TiB for v alone, and this machine has " in done.stderr
    assert "give smaller extents with --shape." in done.stderr


def test_a_tuning_larger_than_the_memory_is_not_begun(attndsl: Any) -> None:
    result = attndsl("tune", GQA, "--shape", "N=1000000000000,B=1,Hq=1,Hkv=1,M=1,D=2,E=4")
    assert result.code == 2 and "29.1 TiB for v alone, and this machine has " in result.err


def test_memory_that_runs_out_is_told(attndsl: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise MemoryError("Unable to allocate 5 GiB")

    monkeypatch.setattr("attndsl.inputs.make_inputs", refuse)
    result = attndsl("run", GQA)
    assert result.code == 1
    assert result.err.endswith("Error: the memory of this machine does not suffice: Unable to allocate 5 GiB\n")


def test_fuzzing_draws_no_larger_calls(attndsl: Any) -> None:
    result = attndsl("fuzz", GQA, "--examples", "1", "--shape", "D=1000000000000")
    assert result.code == 2 and "no small extents and parameters were found that meet its conditions" in result.err


def test_explaining_only_counts(attndsl: Any) -> None:
    assert "N = 1000000000000" in attndsl("explain", GQA, "--shape", "N=1000000000000").out
    op, largest = package.load(GQA), 2**48
    told = op.explain(B=largest, Hq=largest, Hkv=1, M=largest, N=largest, D=largest, E=largest)
    assert "Pflop, were no position masked" in told
    op.explain("cuda:90", B=largest, Hq=largest, Hkv=1, M=largest, N=largest, D=128, E=128)


@pytest.mark.parametrize("size", [2**48 + 1, pytest.param(10**5000, id="long"), -1, 1.5, "4", None])
def test_explaining_takes_extents_that_a_call_could_have(size: Any) -> None:
    with pytest.raises(ValueError, match=r"^N = .*: an extent is an int from 0 to 2\^48$"):
        package.load(GQA).explain(B=1, Hq=1, Hkv=1, M=1, N=size, D=1, E=1)


def test_what_no_float_can_count(attndsl: Any, tmp_path: Path) -> None:
    """A tensor of thirty dims."""
    dims = [f"n{number}" for number in range(30)]
    extents, each = ", ".join(dims), ", ".join(f"i{dim} in {dim}" for dim in dims)
    copy = f"o[{(places := ','.join(f'i{dim}' for dim in dims))}] = x[{places}]"
    path = tmp_path / "many.attn"
    head = f"dims {extents}\ninput x : f32[{extents}]\noutput o : f32[{extents}]\neach {each}"
    path.write_text(f"attention many {{\n{head}\n{copy}\n}}\n")
    result = attndsl("explain", path, "--shape", ",".join(f"{dim}={2**48}" for dim in dims))
    assert result.code == 2, result.err
    assert "a call of many with these dims is more than a float can count: give smaller extents" in result.err


@pytest.mark.parametrize("value", [pytest.param(10**5000, id="long"), pytest.param(-(10**5000), id="low"), 2**62 + 1])
def test_a_parameter_that_python_does_not_print(value: int) -> None:
    with pytest.raises(WrongParameter, match=r"but sliding_window wants an int from -2\^62 to 2\^62"):
        package.load(WINDOW)(q=None, k=None, v=None, window=value)


def test_no_memory_holds_some_tensors() -> None:
    with pytest.raises(TooLarge, match="no memory holds a tensor of 7 × 281474976710656 × 281474976710656 elements"):
        stand_in("f32", [7, 2**48, 2**48])
