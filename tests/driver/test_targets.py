"""The table of targets: what a row promises, and that a name that none has is refused wherever one is given."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import attndsl
from attndsl.cli.group import run
from attndsl.driver.ahead import generated
from attndsl.driver.compile import compile_spec, lower
from attndsl.driver.errors import CompilerError
from attndsl.driver.library import artifact_of, checked
from attndsl.driver.targets import TARGETS, Target, UnknownTarget, place_of, target_of
from attndsl.ir import spec, tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.context import parse_module
from attndsl.ir.legal import IllegalModule
from attndsl.ir.machines import DEFAULT
from attndsl.ir.xdsl import ModuleOp, Operation
from attndsl.syntax.read import read_source
from attndsl.testing.case import Case
from attndsl.testing.fuzz import FuzzPlan, fuzz
from attndsl.testing.stages import Form, check_stages

GQA = str(Path(__file__).parents[2] / "examples" / "gqa.attn")
SOURCE = read_source(GQA)
TYPES = {"T": "f16"}


def lowered(target: str) -> ModuleOp:
    return lower(checked(SOURCE), TYPES, target)[0]


# --- names

ENTRIES: dict[str, Callable[[], object]] = {
    "compile_spec": lambda: compile_spec(checked(SOURCE), TYPES, "pallas"),
    "lower": lambda: lower(checked(SOURCE), TYPES, "pallas"),
    "artifact_of": lambda: artifact_of(SOURCE, TYPES, "pallas"),
    "artifact": lambda: attndsl.load(GQA).artifact("pallas"),
    "explain": lambda: attndsl.load(GQA).explain("pallas", B=1, Hq=2, Hkv=1, M=4, N=4, D=8, E=8),
    "a form": lambda: check_stages([Case.make(checked(SOURCE))], form=Form("pallas")),
    "fuzz": lambda: fuzz(FuzzPlan(checked(SOURCE), ("pallas",), examples=1)),
    "a machine": lambda: compile_spec(checked(SOURCE), TYPES, "triton", machine="pallas"),
    "ahead of time": lambda: generated(checked(SOURCE), TYPES, "pallas", {"D": 16, "E": 16}),
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_name_that_no_target_has_is_refused(entry: str) -> None:
    machines = entry in ("a machine", "ahead of time")
    with pytest.raises(UnknownTarget, match=r"^there is no target pallas") as raised:
        ENTRIES[entry]()
    assert ("cuda:80, cuda:89" if machines else "There are numpy, triton") in str(raised.value)


@pytest.mark.parametrize(
    "arguments",
    [
        ("compile", GQA, "--target", "pallas"),
        ("explain", GQA, "--target", "pallas"),
        ("opt", GQA, "--target", "pallas"),
        ("fuzz", GQA, "--backend", "pallas"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_command_refuses_it_too(arguments: tuple[str, ...], capfd: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    told = capfd.readouterr().err
    assert "pallas" in told and "numpy" in told and "triton" in told


def test_a_machine_is_a_place_of_its_target() -> None:
    assert place_of("hip:gfx942") == (target_of("triton"), "hip:gfx942")
    assert place_of("numpy") == (target_of("numpy"), "cpu")
    assert place_of("cpu:slices") == (target_of("numpy"), "cpu:slices")


def test_a_cpu_that_multiplies_in_slices_has_a_pass_more() -> None:
    plain, slices = (target_of("numpy").lowering(machine=machine).steps for machine in ("cpu", "cpu:slices"))
    assert [s.spelling for s in slices if s not in plain] == ["order-axes{sliced=true}", "slice-products{rows=8}"]
    assert [step.name for step in slices if step.name != "slice-products"] == [step.name for step in plain]


def test_code_that_numba_compiles_has_two_passes_more_and_longer_steps() -> None:
    plain, fused = (target_of("numpy").lowering(machine=machine).steps for machine in ("cpu", "cpu:numba"))
    assert [step.spelling for step in fused if step not in plain] == [
        "choose-keys{least=512 most=2048 products=524288 few=4 longer=4096 streamed=4}",
        "batch-programs{numbers=262144 least=2 streamed=4}",
        "stream-products{products=1048576 halves=16384}",
        "fuse-pointwise{numbers=16384}",
    ]
    added = ("stream-products", "fuse-pointwise")
    assert [step.name for step in fused if step.name not in added] == [step.name for step in plain]


def test_the_table_imports_neither_passes_nor_emitters() -> None:
    heavy = ("xdsl", "torch", "triton", "lark", "numpy")
    program = f"import attndsl.driver.targets, sys; print(*[name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


# --- what a target takes


@pytest.mark.parametrize("row", TARGETS.values(), ids=TARGETS)
def test_what_a_launch_chooses_is_what_its_row_says(row: Target) -> None:
    chosen = {op.choice.data for op in lowered(row.name).walk() if isinstance(op, spec.ChoiceOp)}
    assert chosen == set(row.chooses)


@pytest.mark.parametrize(
    ("made", "given", "said"),
    [
        (
            "triton",
            "numpy",
            ("no spec.choice (gqa.attn:", "no tile.place (gqa.attn:22", "no tile.dot with `rounded` (gqa.attn:19"),
        ),
        ("numpy", "triton", ("no tile.range that is not full (gqa.attn:14", "no tile.home (gqa.attn:14")),
    ],
)
def test_the_module_of_another_target_is_refused_in_words(made: str, given: str, said: tuple[str, ...]) -> None:
    module = lowered(made)
    with pytest.raises(IllegalModule, match=rf"^{given} takes no ") as raised:
        target_of(given).emitter()(module, "")
    assert all(words in str(raised.value) for words in said)
    assert target_of(made).emitter()(module, "")


def test_what_a_user_writes_by_hand_is_refused_in_words(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["opt", GQA, "--passes", "canonicalize,cse", "--target", "triton"]) == 1
    told = capfd.readouterr().err
    assert told.startswith("Error: triton takes no attn.kernel, no attn.each (gqa.attn:14, 3 of them), no attn.over (")
    assert told.endswith(", no attn.softmax (gqa.attn:22), and others.\n")


def test_what_a_pipeline_leaves_wrong_is_a_bug_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    row = TARGETS["numpy"]
    wrong = Target(row.name, TARGETS["triton"].pipeline, row.legal, row.emitter, row.tiles, default=DEFAULT)
    monkeypatch.setitem(TARGETS, "numpy", wrong)
    with pytest.raises(CompilerError, match=r"^the pipeline of numpy is wrong: numpy takes no ") as raised:
        compile_spec(checked(SOURCE), TYPES, "numpy")
    assert "This is a bug in attndsl, not in your spec. To reproduce it:" in str(raised.value)
    assert str(raised.value).endswith(" --target numpy")


# --- each rule, by a kernel that has only that wrong

KERNEL = """
spec.tensor @x "input" "f32" ["M", "N"]
spec.tensor @o "{role}" "f32" ["M", "{extent}"]
tile.kernel @k {form} {{
  %zero = arith.constant 0 : index
  %size = arith.constant {size} : index
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i0 = tile.program "i" to %M step %size
  %i_end = arith.addi %i0, {end} : index
  %i = tile.range "i" from %i0 to %i_end size %size
  %n = {chosen}
  %j = tile.range "j" from %zero to %size size %size
  %k = tile.range "k" from %zero to %size size %size
  %x = tile.load @x[{read}] : {type}
  %y = tile.load @x[%j, %k] : {type}
  %w = arith.cmpi {sign}, %i, %j : index
  %s = tile.dot %x, %y over %j {rounded} : {type}
  tile.store @o[%i, %k] = {stored} : {type}
}}
"""
RIGHT = {
    "role": "output",
    "extent": "N",
    "form": "",
    "size": "16",
    "end": "%size",
    "chosen": 'spec.choice "ROWS"',
    "sign": "slt",
    "read": "%i, %j",
    "type": "f32",
    "rounded": "",
    "stored": "%s",
}
NUMPY = {**RIGHT, "chosen": "arith.addi %M, %N : index"}


def illegal(target: str, text: str) -> set[str]:
    return {
        f"{op.name} {words}".rstrip()
        for op, words in TARGETS[target].legal().illegal(parse_module(text), AxesAnalysis())
    }


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, set()),
        ({"role": "workspace"}, set()),
        ({"role": "workspace", "extent": "choice(SPLITS)"}, {"spec.tensor whose extents a launch chooses"}),
        ({"form": 'form "whole"'}, {"tile.kernel with `form`"}),
        ({"form": 'schedules [{"ROWS" = 16 : index}]'}, {"tile.kernel with `schedules`"}),
        ({"chosen": "tile.padded %N"}, {"tile.padded"}),
        ({"sign": "ult"}, {"arith.cmpi with a predicate that has no sign"}),
        ({"rounded": 'rounded to "f16"'}, {"tile.dot with `rounded`"}),
        ({"rounded": "in slices of 8"}, set()),
        ({"rounded": "in slices of 4"}, {"tile.dot in slices of other than 8 rows"}),
        ({"rounded": "streamed from 1"}, set()),
        ({"type": "f16"}, {f"tile.{name} of the type f16" for name in ("load", "dot")}),
    ],
)
def test_what_numpy_takes(changed: dict[str, str], said: set[str]) -> None:
    assert illegal("numpy", KERNEL.format(**{**NUMPY, **changed})) == said


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, set()),
        ({"role": "workspace", "form": 'form "split"', "rounded": 'rounded to "f16"'}, set()),
        ({"size": "12"}, {"tile.range that is not full", "tile.dot of too few places"}),
        ({"size": "8"}, {"tile.dot of too few places"}),
        ({"end": "%zero"}, {"tile.range that is not full"}),
        ({"chosen": 'spec.choice "WARPS"'}, {"spec.choice that no launch makes"}),
        ({"sign": "ult"}, {"arith.cmpi with a predicate that has no sign"}),
        ({"rounded": "where %w"}, {"tile.dot with `where`"}),
        ({"rounded": "in slices of 8"}, {"tile.dot with `slices`"}),
        ({"rounded": "streamed from 1"}, {"tile.dot with `streamed`"}),
        ({"read": "%zero, %j"}, {"tile.dot of no two matrices", "tile.store of one value to many places"}),
        ({"type": "f16"}, {f"tile.{name} of the type f16" for name in ("load", "dot")}),
    ],
)
def test_what_triton_takes(changed: dict[str, str], said: set[str]) -> None:
    assert illegal("triton", KERNEL.format(**{**RIGHT, **changed})) == said


def test_triton_takes_one_batch_axis() -> None:
    text = """
    spec.tensor @x "input" "f32" ["N", "N", "N", "N"]
    %zero = arith.constant 0 : index
    %size = arith.constant 16 : index
    %a = tile.range "a" from %zero to %size size %size
    %b = tile.range "b" from %zero to %size size %size
    %i = tile.range "i" from %zero to %size size %size
    %j = tile.range "j" from %zero to %size size %size
    %k = tile.range "k" from %zero to %size size %size
    %x = tile.load @x[%zero, %b, %i, %k] : f32
    %y = tile.load @x[%zero, %b, %k, %j] : f32
    %t = tile.dot %x, %y over %k : f32"""
    assert illegal("triton", text) == set()
    assert illegal("triton", text.replace("%zero, %b", "%a, %b")) == {"tile.dot with several batch axes"}
    assert illegal("triton", text.replace("%b, %k, %j", "%b, %k, %zero")) == {"tile.dot of no two matrices"}


def test_numpy_alone_takes_homes() -> None:
    text = """
    spec.tensor @x "input" "f32" ["N"]
    %zero = arith.constant 0 : index
    %size = arith.constant 16 : index
    tile.home @h(%size) : f32
    %i = tile.range "i" from %zero to %size size %size
    %x = tile.load @x[%i] : f32
    tile.into @h[%i] = %x : f32"""
    assert illegal("numpy", text) == set()
    assert illegal("triton", text) == {"tile.home", "tile.into"}


def test_a_axis_is_full_however_its_end_is_written() -> None:
    """The passes after pad-axes add constants up, and leave equal ones apart."""
    ends = ("%j0 to %j_end size %a", "%zero to %b size %a", "%j_end to %j_later size %b")
    for axis in ends:
        text = f"""
        %zero = arith.constant 0 : index
        %a = arith.constant 16 : index
        %b = arith.constant 16 : index
        %two = arith.constant 32 : index
        %j0 = spec.dim "N"
        %j_end = arith.addi %j0, %b : index
        %j_later = arith.addi %j0, %two : index
        %j = tile.range "j" from {axis}"""
        assert illegal("triton", text) == set()


@pytest.mark.parametrize(
    ("kept", "said"),
    [("scf.yield %zero", set()), ('%b = spec.param "p" : index scf.yield %b', {"scf.if that keeps no state"})],
)
def test_a_choice_keeps_states_or_computes_them_anew(kept: str, said: set[str]) -> None:
    text = f"""
    %zero = arith.constant 0 : index
    %a = arith.cmpi eq, %zero, %zero : index
    %r = scf.if %a -> (index) {{
      {kept} : index
    }} else {{
      %c = arith.addi %zero, %zero : index
      scf.yield %c : index
    }}"""
    assert illegal("triton", text) == said


def test_operations_that_do_nothing_are_legal() -> None:
    nothing: tuple[type[Operation], ...] = (spec.AssumeOp, tile.PresentOp, tile.HoldsOp, tile.WithinOp)
    assert all(kind in row.legal().operations for row in TARGETS.values() for kind in nothing)
