"""`attndsl explain`: the schedule of a spec, what a shape costs, and the least time that it could take."""

from __future__ import annotations

import tempfile
import webbrowser
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import click

from attndsl.checking.evaluate import Number
from attndsl.checking.typed import Spec
from attndsl.cli.options import (
    bind_dims,
    bind_types,
    check_left_out,
    given_params,
    json_option,
    params_option,
    shape_option,
    spec_argument,
    types_option,
    without_option,
)
from attndsl.cli.output import show, show_json
from attndsl.driver.artifact import Artifact
from attndsl.driver.library import artifact_of, checked, signature_of
from attndsl.driver.targets import places
from attndsl.op.explain import (
    Limit,
    compiled_for,
    computed,
    duration,
    explain,
    explained,
    heading,
    limit_of,
    quantity,
    taken,
    traffic,
)
from attndsl.printable import file_stem
from attndsl.syntax.source import Source


@click.command("explain")
@spec_argument
@click.option(
    "--target",
    type=click.Choice(tuple(places())),
    metavar="TARGET",
    default="numpy",
    show_default=True,
    help=f"{', '.join(places())}.",
)
@shape_option
@types_option
@params_option
@without_option
@json_option
@click.option("--open", "opened", is_flag=True, help="Show all of it in a browser, with drawings.")
def command(
    source: Source,
    target: str,
    shape: dict[str, int],
    types: dict[str, str],
    params: tuple[dict[str, str], ...],
    left_out: tuple[str, ...],
    as_json: bool,
    opened: bool,
) -> None:
    """Tell the schedule that was chosen, and the bytes and operations of a call.

    For a GPU, also the least time that they take there; triton is cuda:90.

    \b
    attndsl explain gqa.attn --shape B=1,Hq=32,Hkv=8,M=1,N=4096,D=128,E=128 --types T=bf16
    attndsl explain gqa.attn --target cuda:90 --shape B=8,M=1,N=4096,D=128,E=128 --types T=bf16
    attndsl explain gqa.attn --target cuda:90 --shape D=128,E=128 --open

    With --open it is a page, with the drawings of attndsl draw, for which --param is; the page holds all that it shows,
    and stays.
    """
    if as_json and opened:
        raise click.UsageError("--json prints, and --open shows a page: one of them.")
    if params and not opened:
        raise click.UsageError("--param is for the drawings of --open.")
    left_out = check_left_out(source, left_out)
    signature = signature_of(source, left_out)
    dims = bind_dims(source, signature, shape)
    types, given = bind_types(signature, types), given_params(signature, params)
    artifact = artifact_of(source, types, *compiled_for(target, signature, dims), left_out=left_out)
    try:
        needed = traffic(signature, artifact.types, dims)
    except ValueError as error:
        raise click.UsageError(f"{error}: give smaller extents with --shape.") from None
    if as_json:
        costs = replace(needed, work=computed(source, artifact, dims, needed.work))
        limit = limit_of(artifact, costs)
        schedule = {**artifact.schedule, **taken(source, artifact, dims)}
        chosen = {"types": dict(artifact.types), "dims": dims, "schedule": schedule}
        show_json({**chosen, **asdict(costs), "needed": needed.work, "limit": limit and limit.seconds})
    elif opened:
        limit = limit_of(artifact, replace(needed, work=computed(source, artifact, dims, needed.work)))
        page = _page(checked(source, *left_out), artifact, shape, given, explained(source, artifact, dims), limit)
        path = Path(tempfile.mkdtemp(prefix="attndsl-"), f"{file_stem(artifact.name)}.html")
        path.write_text(page, encoding="utf-8")
        show(str(path))
        if not webbrowser.open(path.as_uri()):
            show("no browser was found to open it with", err=True)
    else:
        show(explain(source, artifact, dims))


def _page(
    spec: Spec,
    artifact: Artifact,
    shape: Mapping[str, int],
    params: Mapping[str, Number],
    rows: Sequence[tuple[str, str]],
    limit: Limit | None,
) -> str:
    """What is explained as a page."""
    from attndsl.drawing.call import fitting
    from attndsl.drawing.drawing import DrawingMissing, draw
    from attndsl.drawing.page import Bar, page_of

    bars = []
    if limit is not None:
        bars.append(Bar("bytes", limit.moving, f"{duration(limit.moving)} at {quantity(limit.device.read, 'B/s')}"))
        bars.append(Bar("work", limit.computing, f"{duration(limit.computing)} at {quantity(limit.rate, 'flop/s')}"))
    machine = artifact.machine or ""
    target = machine if machine in places() else artifact.target
    try:
        try:
            drawing = draw(spec, artifact.types, target, fitting(spec, shape), params)
        except ValueError:  # what fits a call need not fit a picture
            drawing = draw(spec, artifact.types, target, params=params)
    except DrawingMissing as error:
        raise click.UsageError(f"attndsl explain --open: {error}") from None
    except ValueError as error:
        raise click.UsageError(f"{error}.") from None
    return page_of(drawing, heading(artifact), rows, bars)
