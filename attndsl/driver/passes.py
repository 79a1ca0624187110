"""Running a pipeline: what verifies its end, and the pass named in whatever goes wrong."""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

from attndsl.driver.errors import CompilerError, PipelineError
from attndsl.driver.hints import did_you_mean
from attndsl.driver.pipelines import Step
from attndsl.ir import attn, tile
from attndsl.ir.context import context, parse_module, parts_of, print_module
from attndsl.ir.errors import RequirementError
from attndsl.ir.statements import operations
from attndsl.ir.verified import verify
from attndsl.ir.xdsl import ArgSpecParseError, ModuleOp, ModulePass, PassPipeline
from attndsl.passes import PASSES, load_pass


@dataclass
class Timing:
    """How long each pass took, in seconds, in the order in which they ran."""

    passes: list[tuple[str, float]] = field(default_factory=list)


After = Callable[[str, ModuleOp, bool], None]
"""Is shown the name of a pass, the module that it leaves, and whether it changed that."""


def parse_pipeline(text: str) -> tuple[ModulePass, ...]:
    """The passes that a text such as `cse,tile{rows=64}` names; raises PipelineError, which says what there are."""
    for name in re.sub(r"\{[^}]*(\}|$)", "", text).split(","):
        if name.strip() not in PASSES:
            hint = did_you_mean(name.strip(), PASSES) or "."
            raise PipelineError(f"There is no pass {name.strip()}{hint}\nThe passes are {', '.join(PASSES)}.")
    available: dict[str, Callable[[], type[ModulePass]]] = {name: partial(load_pass, name) for name in PASSES}
    try:
        return PassPipeline.parse_spec(available, text).passes
    except (ArgSpecParseError, ValueError) as error:
        raise PipelineError(f"{error}\nThe passes are {', '.join(PASSES)}.") from None


def passes_of(steps: Iterable[Step]) -> tuple[ModulePass, ...]:
    """The passes that steps name, with their options."""
    return tuple(load_pass(step.name)(**step.options) for step in steps)


def run_pipeline(
    module: ModuleOp,
    passes: Iterable[ModulePass],
    after: After | None = None,
    timing: Timing | None = None,
    text: Callable[[], str] | None = None,
    verify_each: bool = True,
) -> None:
    """Runs passes on a module, in place; `after` is shown the module after each.

    `text` tells the module's text, as it is now, where something fails; left out, the module is printed before.

    The verifier takes as long as all passes together: it runs at the end, and, where something has failed or someone
    looks, who may do without with `verify_each`, after each pass that changed something. Raises PipelineError where a
    pass needs another before it, CompilerError, which names the pass and the file that reproduces the failure.
    """
    before, passes, loaded = text or partial(str, print_module(module)), tuple(passes), context()
    parts = parts_of(module) if after is not None else []
    for count, each in enumerate(passes, 1):
        start = time.perf_counter()
        try:
            each.apply(loaded, module)
            changed = after is not None and (now := parts_of(module)) != parts
            if changed:
                parts = now
            if (changed and verify_each) or count == len(passes):
                _verify(module, passes[:count])
        except RequirementError as error:
            raise PipelineError(str(error)) from None
        except Exception as error:
            raise CompilerError(_report(*_blamed(before(), passes, error), before())) from error
        if timing is not None:
            timing.passes.append((each.name, time.perf_counter() - start))
        if after is not None:
            after(each.name, module, changed)


def _verify(module: ModuleOp, ran: Iterable[ModulePass]) -> None:
    """Raises where what passes left is no module, or not of the level that they lower to."""
    verify(module)
    if any(each.name == "tile" for each in ran):
        check_lowered(module)


def _blamed(before: str, passes: tuple[ModulePass, ...], error: Exception) -> tuple[tuple[ModulePass, ...], Exception]:
    """The first of the passes that leaves no module, and those before it, with what it meets."""
    module = parse_module(before)
    for count, each in enumerate(passes, 1):
        try:
            each.apply(context(), module)
            _verify(module, passes[:count])
        except Exception as first:
            return passes[:count], first
    return passes, error


def check_lowered(module: ModuleOp) -> None:
    """Raises ValueError where something of the `attn` level is left."""
    for op in operations(module):
        if op.name.startswith(f"{attn.ATTN.name}."):
            raise ValueError(f"{op.name} is left after the lowering to {tile.TILE.name}")


def report_illegal(target: str, error: Exception, ran: tuple[ModulePass, ...], before: str) -> str:
    """What to tell where the passes that `ran` on the text `before` left what the emitter of `target` refuses."""
    return _told(f"the pipeline of {target} is wrong: {error}", target, ran, before, f" --target {target}")


def _report(ran: tuple[ModulePass, ...], error: Exception, before: str) -> str:
    """What to tell of a failure in the last of the passes that `ran` on the text `before`."""
    failed = ran[-1].name
    reason = str(error).splitlines()[0] if str(error) else ""
    return _told(f"the pass {failed} failed: {type(error).__name__}: {reason}", failed, ran, before)


def _told(said: str, failed: str, ran: tuple[ModulePass, ...], before: str, options: str = "") -> str:
    """What went wrong, and the command that shows it again, with the text `before` in a file."""
    with tempfile.NamedTemporaryFile(
        "w", prefix=f"attndsl-{failed}-", suffix=".mlir", delete=False, encoding="utf-8"
    ) as file:
        file.write(before)
    spelled = ",".join(str(each.pipeline_pass_spec()) for each in ran)
    return (
        f"{said}\n"
        "This is a bug in attndsl, not in your spec. To reproduce it:\n"
        f"    attndsl opt {os.path.normpath(file.name)} --passes '{spelled}'{options}"
    )
