"""`attndsl draw`: the mask of a spec with its tiles, and its data flow, as a picture."""

from __future__ import annotations

from pathlib import Path

import click

from attndsl.cli.options import (
    bind_types,
    check_dims,
    check_left_out,
    given_params,
    params_option,
    shape_option,
    spec_argument,
    types_option,
    without_option,
)
from attndsl.cli.output import show
from attndsl.driver.library import checked, signature_of
from attndsl.driver.targets import places
from attndsl.files import write_together
from attndsl.printable import file_stem
from attndsl.syntax.source import Source

ENDINGS = (".svg", ".png")


@click.command("draw")
@spec_argument
@click.option(
    "--target",
    type=click.Choice([*places()]),
    metavar="TARGET",
    default="triton",
    show_default=True,
    help="triton, cuda:90, hip:gfx942; numpy for a CPU.",
)
@shape_option
@types_option
@params_option
@without_option
@click.option(
    "-o",
    "--output",
    "path",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where it goes: a .svg or a .png. Else NAME.svg, where NAME is the spec's name.",
)
def command(
    source: Source,
    target: str,
    shape: dict[str, int],
    types: dict[str, str],
    params: tuple[dict[str, str], ...],
    left_out: tuple[str, ...],
    path: Path | None,
) -> None:
    """Draw which keys the rows of a head see, how programs walk them in tiles, and where the data flows.

    \b
    attndsl draw gqa.attn                                writes gqa.svg
    attndsl draw sliding_window.attn --param window=20 -o window.png
    attndsl draw gqa.attn --shape M=16,N=128
    attndsl draw gqa.attn --target numpy                 the loops of a CPU

    Tiles are small, so that a small call shows them all: full ones, mixed ones, and what is skipped. Numbers beside the
    rows tell which program starts first; the second picture has the keys in parts, as a launch with few rows cuts them.
    """
    left_out = check_left_out(source, left_out)
    signature = signature_of(source, left_out)
    check_dims(signature, shape)
    bound, given = bind_types(signature, types), given_params(signature, params)
    path = path or Path(f"{file_stem(signature.name)}.svg")
    if path.suffix.lower() not in ENDINGS:
        raise click.UsageError(f"{path} is no picture: its name ends in {' or '.join(ENDINGS)}.")
    from attndsl.drawing.drawing import DrawingMissing, draw

    try:
        drawing = draw(checked(source, *left_out), bound, target, shape, given)
    except DrawingMissing as error:
        raise click.UsageError(f"attndsl draw: {error}") from None
    except ValueError as error:
        raise click.UsageError(f"{error}.") from None
    picture = drawing.png() if path.suffix.lower() == ".png" else drawing.svg().encode()
    try:
        write_together(path.parent, {path.name: picture})
    except OSError as error:
        raise click.ClickException(f"{path} cannot be written: {error.strerror}. -o takes another file.") from None
    show(str(path))
