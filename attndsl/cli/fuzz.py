"""`attndsl fuzz`: hypothesis looks for a call, or a spec, on which two answers differ."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from attndsl.cli.options import (
    Duration,
    SpecFile,
    WholeNumber,
    bind_params,
    check_dims,
    json_option,
    out_option,
    params_option,
    read_spec,
    shape_option,
)
from attndsl.cli.output import live_line, show, show_json
from attndsl.driver.library import checked, signature_of
from attndsl.driver.targets import TARGETS, target_of
from attndsl.packages import pip_install
from attndsl.printable import printable_lines

if TYPE_CHECKING:
    from attndsl.testing.against import Peer
    from attndsl.testing.fuzz import FuzzPlan, Summary


class Backends(click.ParamType[tuple[str, ...]]):
    """`numpy,triton`."""

    name = "backends"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """The backends by name."""
        if isinstance(value, tuple):
            return value
        names = tuple(dict.fromkeys(name.strip() for name in value.split(",")))
        for name in names:
            if name not in TARGETS:
                self.fail(f"There is no backend {name!r}. There are {', '.join(TARGETS)}.", param, ctx)
        return names


@click.command("fuzz")
@click.argument("path", metavar="[FILE]", type=SpecFile(), required=False)
@click.option("--any", "any_spec", is_flag=True, help="Draw the specs too.")
@click.option("--backend", "backends", type=Backends(), default="numpy", show_default=True, metavar="NAME,…")
@click.option("--budget", type=Duration(), metavar="TIME", help="Stop after so long: 30s, 10m.  [default: 30s]")
@click.option("--examples", type=WholeNumber(min=1), metavar="N", help="Stop after so many cases.")
@click.option("--seed", type=WholeNumber(min=0), default=0, show_default=True, help="What is drawn depends on it.")
@click.option("--against", metavar="MODULE:FUNCTION", help="Compare this function with the spec, and no backend.")
@shape_option
@params_option
@out_option("fuzz-failures", "Where a failing case is kept.")
@click.option("--replay", type=click.Path(file_okay=False, path_type=Path), help="Run a case that was kept.")
@json_option
def command(
    path: str | None,
    any_spec: bool,
    backends: tuple[str, ...],
    budget: float | None,
    examples: int | None,
    seed: int,
    against: str | None,
    shape: dict[str, int],
    params: tuple[dict[str, str], ...],
    out: Path,
    replay: Path | None,
    as_json: bool,
) -> None:
    """Look for inputs on which a compiled spec and the reference differ by more than rounding.

    \b
    attndsl fuzz my.attn                                       30 seconds of calls, NumPy
    attndsl fuzz my.attn --backend numpy,triton --budget 5m    Triton too: on the GPU, else in its interpreter
    attndsl fuzz --any --examples 500 --seed 7                 specs too, over the whole language
    attndsl fuzz my.attn --against mymodule:function           a function of yours in the compiler's place
    attndsl fuzz --replay fuzz-failures/my-1a2b3c4d            a case that was kept, again

    Extents, types, parameters, strides and values are drawn: nothing, one, odd, infinite, out of range. What fails is
    shrunk and kept in a folder. Exits with 1 where something differs; interrupted, with 130 and what was found so far.
    """
    _require_hypothesis()
    chosen = [name for name, given in (("FILE", path), ("--any", any_spec), ("--replay", replay)) if given]
    if len(chosen) != 1:
        raise click.UsageError("Give one of FILE, --any and --replay." if not chosen else f"{' and '.join(chosen)}?")
    if replay is not None:
        _replay(replay, _peer(against))
        return
    if against is not None and path is None:
        raise click.UsageError("--against needs the FILE of the spec that the function is to agree with.")
    plan = _plan(path, backends, budget, examples, seed, _peer(against), shape, params)
    summary = _run(plan)
    place = _keep(summary, out)
    if as_json:
        show_json(_as_json(summary, place))
    else:
        _show(plan, summary, place)
    if summary.failure is not None or summary.interrupted:
        raise click.exceptions.Exit(1 if summary.failure is not None else 130)


def _require_hypothesis() -> None:
    try:
        import hypothesis  # noqa: F401
    except ModuleNotFoundError:
        raise click.UsageError(f"attndsl fuzz needs hypothesis: {pip_install('hypothesis')}") from None


def _plan(
    path: str | None,
    backends: tuple[str, ...],
    budget: float | None,
    examples: int | None,
    seed: int,
    against: Peer | None,
    shape: dict[str, int],
    params: tuple[dict[str, str], ...],
) -> FuzzPlan:
    device = _device(backends)  # first: it is too late once Triton is imported
    from attndsl.testing.fuzz import FuzzPlan

    limits: dict[str, Any] = {"seconds": budget, "examples": examples, "seed": seed, "device": device}
    if budget is None and examples is None:
        limits["seconds"] = 30.0
    if path is None:
        if shape or params:
            raise click.UsageError("--shape and --param go with a FILE: with --any the specs are drawn.")
        return FuzzPlan(None, backends, **limits)
    source = read_spec(path)
    signature, spec = signature_of(source), checked(source)
    check_dims(signature, shape)
    given = {name for assignments in params for name in assignments}
    values = {name: value for name, value in bind_params(signature, params).items() if name in given} if given else {}
    if against is None:
        return FuzzPlan(spec, backends, dims=shape, params=values, **limits)
    return FuzzPlan(spec, (), dims=shape, params=values, elements=("f32",), against=against, **limits)


def _peer(name: str | None) -> Peer | None:
    """The user's function of that name."""
    from attndsl.testing.against import NoFunction, peer_named

    try:
        return None if name is None else peer_named(name)
    except NoFunction as error:
        raise click.UsageError(f"--against: {error}.") from None


def _device(backends: tuple[str, ...]) -> str:
    """Where Triton will run."""
    if not any(target_of(name).machines for name in backends):
        return "cpu"
    from attndsl.testing.triton_program import NoInterpreter, prepare

    try:
        return prepare()
    except ImportError as error:
        raise click.UsageError(f"The backend triton needs {error.name}: {pip_install('torch', 'triton')}") from None
    except NoInterpreter as error:
        raise click.UsageError(f"{error}.") from None


def _run(plan: FuzzPlan) -> Summary:
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    from attndsl.testing.fuzz import Unmet, fuzz

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with live_line(*columns) as progress:
        task = progress.add_task("the first case", total=None)

        def show(summary: Summary) -> None:
            worst = max(summary.used.values(), default=0.0)
            rate = summary.cases / summary.seconds if summary.seconds else 0.0
            text = f"{summary.cases} cases, {rate:.1f} a second; worst error {worst:.0%} of its bound"
            progress.update(task, description=text)

        def failing(error: str) -> None:
            progress.update(task, description=f"shrinking: {error}")

        try:
            return fuzz(plan, show, failing)
        except Unmet as error:
            raise click.UsageError(f"{error}: try --shape with some that do.") from None


def _keep(summary: Summary, out: Path) -> Path | None:
    """Where the failing case was kept; None where there is none."""
    from attndsl.testing.failures import save

    return None if summary.failure is None else save(summary.failure, out)


def _replay(place: Path, peer: Peer | None) -> None:
    from attndsl.testing.kept import NoCase, load

    try:
        example = load(place)
    except NoCase as error:
        raise click.UsageError(f"{error}.") from None
    if not example.forms and peer is None:
        raise click.UsageError(f"{place} is a case of a function: say which one, --against MODULE:FUNCTION.")
    device = _device(tuple(form.target for form in example.forms))
    from attndsl.testing.failures import describe
    from attndsl.testing.fuzz import Compiler, Failure

    try:
        if peer is not None:
            example.case.check(peer.name, peer.outputs(example.case))
        else:
            Compiler(device).replay(example)
    except Exception as error:
        form = example.forms[0] if len(example.forms) == 1 and example.calling is None else None
        show(describe(Failure(example, form, error)))
        raise click.exceptions.Exit(1) from None
    show(f"{place}: agrees now.")


def _show(plan: FuzzPlan, summary: Summary, place: Path | None) -> None:
    from rich.console import Console
    from rich.table import Table

    from attndsl.testing.constructs import CONSTRUCTS
    from attndsl.testing.failures import MESSAGE

    console = Console(highlight=False, soft_wrap=True, markup=False)
    table = Table()
    table.add_column("")
    for column in ("cases", "worst error, of its bound"):
        table.add_column(column, justify="right")
    for backend, used in summary.used.items():
        table.add_row(backend, str(summary.ran[backend]), f"{used:.1%}")
    thorough = f"; {summary.thorough} of them interpreted after each pass" if plan.backends else ""
    console.print(f"{summary.cases} cases in {summary.seconds:.0f} s, seed {plan.seed}{thorough}")
    if summary.used:
        console.print(table)
    if plan.spec is None:
        unseen = [name for name in CONSTRUCTS if name not in summary.constructs]
        console.print(f"{len(CONSTRUCTS) - len(unseen)} of {len(CONSTRUCTS)} constructs of the language")
        if unseen:
            console.print(f"  not drawn: {', '.join(unseen)}")
    if summary.passes:
        console.print(
            "passes that rewrote something: " + ", ".join(f"{n} {c}" for n, c in summary.passes.most_common())
        )
    if summary.relations:
        console.print("twins, written otherwise: " + ", ".join(f"{n} {c}" for n, c in summary.relations.most_common()))
    if summary.uncompiled:
        console.print(f"{summary.uncompiled} that Triton's compiler failed on, and were not run")
    if summary.interrupted:
        console.print("interrupted")
    if place is None:
        console.print("All agree.")
    else:
        console.print()
        console.print(printable_lines((place / MESSAGE).read_text(encoding="utf-8")))


def _as_json(summary: Summary, place: Path | None) -> dict[str, Any]:
    """The summary for a program."""
    return {
        "cases": summary.cases,
        "thorough": summary.thorough,
        "ran": dict(summary.ran),
        "uncompiled": summary.uncompiled,
        "seconds": round(summary.seconds, 1),
        "used": summary.used,
        "constructs": dict(summary.constructs.most_common()),
        "passes": dict(summary.passes.most_common()),
        "relations": dict(summary.relations.most_common()),
        "interrupted": summary.interrupted,
        "failure": None if place is None else str(place),
    }
