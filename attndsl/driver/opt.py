"""What `attndsl opt` does: passes run by hand on a spec or on IR text."""

from __future__ import annotations

from pathlib import Path

from attndsl.driver.library import checked
from attndsl.driver.passes import Timing, parse_pipeline, passes_of, run_pipeline
from attndsl.driver.summarise import summarise
from attndsl.driver.targets import place_of, target_of
from attndsl.ir.build import build
from attndsl.ir.context import parse_module, print_module
from attndsl.ir.xdsl import ModuleOp
from attndsl.syntax.read import read_source


def run_passes(
    path: str, passes: str | None, *, print_after_all: bool, time_passes: bool, target: str | None = None
) -> str:
    """The IR of a spec (`.attn`) or of IR text after `passes`; without any, as it is built or read.

    `print_after_all` adds the IR before the first pass and after each, `time_passes` a table of milliseconds. With one
    of the two and no passes, those of the NumPy target run. With a `target` and no passes its own run, and its emitter
    takes what is left. Raises SpecError, ParseError, PipelineError, UnknownTarget, IllegalModule, CompilerError,
    UnicodeDecodeError.
    """
    row, machine = (None, None) if target is None else place_of(target)
    module = load_module(path)
    chosen = parse_pipeline(passes) if passes else ()
    if passes is None and (print_after_all or time_passes or row is not None):
        chosen = passes_of((row or target_of("numpy")).lowering(machine=machine).steps)
    sections = [f"// before all passes\n{print_module(module)}"]
    timing = Timing()

    def after(name: str, module: ModuleOp, changed: bool) -> None:
        if print_after_all:
            sections.append(f"// after {name}\n{print_module(module)}")

    run_pipeline(module, chosen, after, timing)
    if row is not None:
        row.legal().require(module)
    text = "\n".join(sections) if print_after_all else print_module(module)
    if time_passes:
        lines = [f"// {seconds * 1e3:9.2f} ms  {name}" for name, seconds in timing.passes]
        total = sum(seconds for _, seconds in timing.passes)
        text += "\n".join(["", *lines, f"// {total * 1e3:9.2f} ms  total", ""])
    return text.rstrip("\n")


def load_module(path: str) -> ModuleOp:
    """The module of a spec, every type variable at its default, or of IR text."""
    if Path(path).suffix != ".attn":
        module = parse_module(Path(path).read_text(encoding="utf-8"), path)
    else:
        spec = checked(read_source(path))
        module = build(spec, summarise(spec).default_types())
    module.verify()
    return module
