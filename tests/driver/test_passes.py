"""Pipelines: how they are named, held together by the verifier, and what is said where a pass fails."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from attndsl.cli.group import run
from attndsl.driver import opt
from attndsl.driver.errors import CompilerError, PipelineError
from attndsl.driver.opt import load_module, run_passes
from attndsl.driver.passes import Timing, parse_pipeline, passes_of, run_pipeline
from attndsl.driver.pipelines import spelling
from attndsl.driver.targets import TARGETS
from attndsl.ir import attn
from attndsl.ir.context import parse_module, print_module
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass

GQA = str(Path(__file__).parents[2] / "examples" / "gqa.attn")


@dataclass(frozen=True)
class Fails(ModulePass):
    """Fails, as a pass with a bug does."""

    name = "fails"
    after: int = 3

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise IndexError("a bug of ours")


@dataclass(frozen=True)
class Breaks(ModulePass):
    """Leaves IR that is not well formed."""

    name = "breaks"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for other in list(op.walk()):
            if isinstance(other, attn.WriteOp) and (block := other.parent) is not None:
                block.erase_op(other)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("canonicalise", "There is no pass canonicalise, did you mean canonicalize?"),
        ("cse,tiles{rows=64}", "There is no pass tiles, did you mean tile?"),
        ("xyzzy", "There is no pass xyzzy.\nThe passes are canonicalize, cse,"),
        ("cse,,tile", "There is no pass ."),
        ("tile{row=64}", 'Provided arguments ["row"] not found'),
        ("tile{rows=64", "The passes are"),
    ],
)
def test_a_pipeline_that_is_none(text: str, message: str) -> None:
    with pytest.raises(PipelineError) as raised:
        parse_pipeline(text)
    assert message in str(raised.value)


@pytest.mark.parametrize("target", TARGETS)
def test_every_step_has_a_reason_and_a_text_that_names_it_with_its_options(target: str) -> None:
    steps = TARGETS[target].lowering((8, 0), {"D": 64, "E": 32}).steps
    assert all(step.reason for step in steps)
    assert parse_pipeline(spelling(steps)) == passes_of(steps)


@pytest.mark.parametrize(
    ("failing", "said"),
    [
        (Fails(), "the pass fails failed: IndexError: a bug of ours"),
        (Breaks(), "the pass breaks failed: VerifyException: "),
    ],
)
def test_a_pass_that_fails_says_how_to_see_it_again(failing: ModulePass, said: str) -> None:
    module = load_module(GQA)
    before = print_module(module)
    with pytest.raises(CompilerError) as raised:
        run_pipeline(module, [*parse_pipeline("cse"), failing, *parse_pipeline("cse")])
    message = str(raised.value)
    assert said in message
    assert "This is a bug in attndsl, not in your spec." in message
    found = re.search(r"attndsl opt (\S+) --passes '([^']+)'", message)
    assert found is not None
    assert Path(found[1]).read_text(encoding="utf-8") == before
    assert found[2].split(",") == ["cse", failing.name]
    assert print_module(parse_module(before)) == before


def test_what_the_lowering_leaves_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    module = load_module(GQA)
    (tile,) = parse_pipeline("tile")
    monkeypatch.setattr(type(tile), "apply", lambda self, ctx, op: None)
    with pytest.raises(CompilerError, match=r"attn\.\w+ is left after the lowering to tile"):
        run_pipeline(module, [tile])


def test_times_and_stages_are_told_in_order() -> None:
    seen: list[str] = []
    timing = Timing()
    run_pipeline(load_module(GQA), parse_pipeline("canonicalize,cse"), lambda name, *_: seen.append(name), timing)
    assert seen == [name for name, _ in timing.passes] == ["canonicalize", "cse"]
    assert all(seconds >= 0 for _, seconds in timing.passes)


def test_ir_text_goes_on_where_a_spec_stopped(tmp_path: Path) -> None:
    passes = [step.spelling for step in TARGETS["numpy"].lowering().steps]
    stopped = tmp_path / "half.mlir"
    first, rest = ",".join(passes[:7]), ",".join(passes[7:])
    stopped.write_text(run_passes(GQA, first, print_after_all=False, time_passes=False), encoding="utf-8")
    whole = run_passes(GQA, ",".join(passes), print_after_all=False, time_passes=False)
    assert run_passes(str(stopped), rest, print_after_all=False, time_passes=False) == whole


def test_a_bug_of_ours_reaches_a_user_as_a_message(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(opt, "parse_pipeline", lambda text: (Fails(),))
    assert run(["opt", GQA, "--passes", "cse"]) == 1
    told = capfd.readouterr()
    assert told.out == ""
    assert told.err.startswith("Error: the pass fails failed: IndexError: a bug of ours\n")
    assert "Traceback" not in told.err
