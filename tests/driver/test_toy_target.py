"""A target that is made as CONTRIBUTING says: its emitter and legal forms here, and one row of the table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest

import attndsl
from attndsl import cache
from attndsl.backends.dims import dim_statements
from attndsl.backends.names import Names, spec_names
from attndsl.backends.writer import Writer
from attndsl.cli.group import run
from attndsl.driver.compile import compile_spec
from attndsl.driver.errors import CompilerError
from attndsl.driver.library import checked
from attndsl.driver.module import load_function
from attndsl.driver.pipelines import Options, Pipeline, numpy
from attndsl.driver.targets import TARGETS, Target
from attndsl.ir import spec, tile
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.legal import LegalForms, given
from attndsl.ir.meaning import predicate
from attndsl.ir.rewrite import constant
from attndsl.ir.xdsl import Block, ModuleOp, Operation, SSAValue, arith, f32, i1, index, math
from attndsl.python_names import python_name
from attndsl.syntax.read import read_source
from attndsl.testing.case import Case
from attndsl.testing.fuzz import FuzzPlan, fuzz
from attndsl.testing.stages import Form, check_stages

EXAMPLES = Path(__file__).parents[2] / "examples"

# --- its folder: one row for every operation of the pipeline, and an emitter that spells them

POINTWISE: dict[type[Operation], str] = {
    arith.AddiOp: "({0} + {1})",
    arith.SubiOp: "({0} - {1})",
    arith.MuliOp: "({0} * {1})",
    arith.FloorDivSIOp: "({0} // {1})",
    spec.ModOp: "({0} % {1})",
    arith.MaxSIOp: "max({0}, {1})",
    arith.MinSIOp: "min({0}, {1})",
    arith.AndIOp: "({0} and {1})",
    spec.ToFloatOp: "float({0})",
    arith.SelectOp: "({1} if {0} else {2})",
    arith.AddfOp: "({0} + {1})",
    arith.SubfOp: "({0} - {1})",
    arith.MulfOp: "({0} * {1})",
    arith.DivfOp: "({0} / {1} if {1} else math.nan)",
    arith.MaximumfOp: "max({0}, {1})",
    math.SqrtOp: "math.sqrt({0})",
    math.ExpOp: "math.exp({0})",
}
SIGNS = {"slt": "<", "sle": "<=", "sgt": ">", "sge": ">=", "oeq": "=="}
FOLDS: dict[type[Operation], str] = {tile.SumOp: "sum({0})", tile.MaxOp: 'max({0}, default=float("-inf"))'}

LEGAL = LegalForms(
    "loops",
    {
        tile.KernelOp: (given("form"), given("schedules")),
        tile.LoadOp: (given("where"),),
        tile.StoreOp: (given("where"),),
        tile.DotOp: (given("rounded"),),
        **dict.fromkeys((ModuleOp, spec.TensorOp, spec.DimOp, tile.ProgramOp, tile.RangeOp, tile.BroadcastOp), ()),
        **dict.fromkeys((tile.ThreadsOp, tile.HomeOp, tile.IntoOp, tile.LoopOp, tile.YieldOp, tile.WithinOp), ()),
        **dict.fromkeys((arith.ConstantOp, arith.CmpiOp, arith.CmpfOp, *FOLDS, *POINTWISE), ()),
    },
    (index, i1, f32),
)


def emit(module: ModuleOp, source: str = "") -> str:
    """The text of a Python file: a tile is a dict from the places of its axes to numbers, filled in plain loops."""
    LEGAL.require(module)
    (kernel,) = (op for op in module.body.block.ops if isinstance(op, tile.KernelOp))
    tensors = spec.arguments(module)
    out = Writer(source)
    out.line("import math")
    out.line(f"def {python_name(kernel.entry.data)}({', '.join(python_name(t.sym_name.data) for t in tensors)}):")
    out.indent()
    dims = sorted({op.dim.data for op in kernel.walk() if isinstance(op, spec.DimOp)})
    for statement in dim_statements(tensors, dims):
        out.line(statement)
    _Loops(Names(spec_names(module)), out).block(kernel.body.block)
    return out.text()


class _Loops:
    def __init__(self, names: Names, out: Writer) -> None:
        self.names = names
        self.out = out
        self.axes = AxesAnalysis()

    def block(self, block: Block) -> None:
        for op in block.ops:
            self.out.at(op.location)
            self.statement(op)

    def statement(self, op: Operation) -> None:
        match op:
            case spec.DimOp():
                self.names.bind(op.result, python_name(op.dim.data))
            case tile.ProgramOp():
                self.out.line(f"for {self[op.result]} in range(0, {self[op.extent]}, {self[op.step]}):")
                self.out.indent()
            case tile.RangeOp() | tile.YieldOp() | tile.WithinOp():
                pass
            case tile.ThreadsOp() | tile.HomeOp() | tile.IntoOp():  # how fast, not what
                pass
            case tile.LoopOp():
                self.loop(op)
            case tile.StoreOp():
                places = ", ".join(map(self.__getitem__, op.indices))
                tensor = python_name(op.tensor.string_value())
                self.filled(op.indices, f"{tensor}[{places}] = {self[op.value]}")
            case _:
                (result,) = op.results
                if self.axes(result):
                    self.out.line(f"{self.names[result]} = {{}}")
                self.filled([result], f"{self[result]} = {self.value(op)}")

    def filled(self, values: Iterable[SSAValue], line: str) -> None:
        """A line, at each place of the axes that values vary along."""
        with self.out.saved_indentation():
            for axis in self.axes_of(*values):
                self.out.line(f"for {self.names[axis]} in {self.span(axis)}:")
                self.out.indent()
            self.out.line(line)

    def loop(self, op: tile.LoopOp) -> None:
        block = op.body.block
        for argument, start, result in zip(block.args[1:], op.iter_args, op.results, strict=True):
            self.names.bind(argument, self.names.fresh("state"))
            self.names.bind(result, self.names[argument])
            self.out.line(f"{self.names[argument]} = {self.names[start]}")
        ends = ", ".join(map(self.__getitem__, (op.lb, op.ub, op.step)))
        self.out.line(f"for {self.names[block.args[0]]} in range({ends}):")
        with self.out.indented():
            self.block(block)
            carried = ", ".join(map(self.names.__getitem__, block.args[1:]))
            self.out.line(f"{carried} = {', '.join(map(self.names.__getitem__, op.end.values))}")

    def __getitem__(self, value: SSAValue) -> str:
        """A value at one place of the axes that it varies along."""
        places = ", ".join(self.names[axis] for axis in self.axes_of(value))
        return (
            f"{self.names[value]}[{places}]"
            if places and not isinstance(value.owner, tile.RangeOp)
            else self.names[value]
        )

    def axes_of(self, *values: SSAValue) -> list[SSAValue]:
        return sorted(frozenset[SSAValue]().union(*map(self.axes, values)), key=self.names.__getitem__)

    def span(self, axis: SSAValue) -> str:
        op = axis.owner
        assert isinstance(op, tile.RangeOp)
        start = self[op.start]
        return f"range({start}, min({start} + {self[op.size]}, {self[op.stop]}))"

    def value(self, op: Operation) -> str:
        operands = [self[operand] for operand in op.operands]
        match op:
            case arith.ConstantOp():
                known = constant(op.result)
                return f'float("{known}")' if isinstance(known, float) else str(known)
            case arith.CmpiOp() | arith.CmpfOp():
                return f"{operands[0]} {SIGNS[predicate(op)]} {operands[1]}"
            case tile.LoadOp():
                kind = "int" if op.result.type == index else "float"
                return f"{kind}({python_name(op.tensor.string_value())}[{', '.join(operands)}])"
            case tile.BroadcastOp():
                return operands[0]
            case tile.DotOp():
                counts = f" if {self[op.where]}" if op.where is not None else ""
                term = f"{self[op.lhs]} * {self[op.rhs]}"
                return f"sum({term} for {self.names[op.over]} in {self.span(op.over)}{counts})"
            case tile.ReduceOp():
                terms = f"({self[op.body]} for {self.names[op.over]} in {self.span(op.over)})"
                return FOLDS[type(op)].format(terms)
        return POINTWISE[type(op)].format(*operands)


# --- its row


def pipeline(options: Options) -> Pipeline:
    """NumPy's, but for what makes one operation of a whole tile cheaper: plain loops have none."""
    attn, tiles = numpy(options)
    return Pipeline(
        attn, tuple(step for step in tiles if step.name not in ("guess-finite", "mask-edges", "skip-maxima"))
    )


LOOPS = Target("loops", pipeline=pipeline, legal=lambda: LEGAL, emitter=lambda: emit, tiles=(2, 3))


@pytest.fixture(autouse=True)
def _in_the_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(TARGETS, "loops", LOOPS)
    monkeypatch.setenv(cache.ENVIRONMENT, str(tmp_path))


# --- what it then has


def test_the_driver_compiles_for_it() -> None:
    artifact = attndsl.load(EXAMPLES / "gqa.attn").artifact("loops")
    case = Case.make(checked(read_source(EXAMPLES / "gqa.attn")), dims={"N": 7, "M": 5})
    outputs = {"o": np.full([case.dims[dim] for dim in ("B", "Hq", "M", "E")], np.nan, np.float32)}
    load_function(artifact)(*case.arrays.values(), *outputs.values())
    case.check("loops", outputs)
    assert (artifact.schedule["tile_rows"], artifact.schedule["tile_keys"], artifact.machine) == (2, 3, None)


@pytest.mark.parametrize("name", ["gqa", "causal_end", "mha"])
def test_every_stage_and_its_program_agree(name: str) -> None:
    seen: list[str] = []
    check_stages([Case.make(checked(read_source(EXAMPLES / f"{name}.attn")))], form=Form("loops"), seen=seen)
    assert "tile" in seen


def test_it_is_fuzzed() -> None:
    summary = fuzz(FuzzPlan(checked(read_source(EXAMPLES / "gqa.attn")), ("loops",), examples=5, elements=("f32",)))
    assert summary.failure is None, summary.failure.error
    assert summary.ran["loops"] == 5


def test_what_it_lacks_is_a_bug_of_the_pipeline_that_can_be_seen_again(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CompilerError) as raised:
        compile_spec(checked(read_source(EXAMPLES / "paged_decode.attn")), {"T": "f32", "I": "i32"}, "loops")
    first, *_, command = str(raised.value).splitlines()
    assert first.startswith("the pipeline of loops is wrong: loops takes no ")
    assert "no tile.load with `where` (paged_decode.attn:" in first
    assert command.endswith(" --target loops")
    arguments = command.split("attndsl ", 1)[1].replace("'", "").split(" ")
    passes = slice(arguments.index("--passes") + 1, arguments.index("--target"))
    assert run([*arguments[: passes.start], " ".join(arguments[passes]), *arguments[passes.stop :]]) == 1
    assert capfd.readouterr().err.startswith("Error: loops takes no ")


COMMANDS: dict[str, Callable[[str], list[str]]] = {
    "compile": lambda path: ["compile", path, "--target", "loops"],
    "opt": lambda path: ["opt", path, "--target", "loops"],
    "fuzz": lambda path: ["fuzz", path, "--backend", "loops", "--examples", "1"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_know_it(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(COMMANDS[command](str(EXAMPLES / "gqa.attn"))) == 0
    assert capfd.readouterr().out


def test_the_pipelines_are_printed(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["opt", "--print-pipeline"]) == 0
    assert "\nloops: canonicalize,cse," in capfd.readouterr().out
