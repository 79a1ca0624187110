"""`attndsl compile`: the program that a spec becomes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from attndsl.checking.typed import Spec
from attndsl.cli.options import (
    bind_types,
    check_dims,
    check_left_out,
    json_option,
    misused,
    shape_option,
    spec_argument,
    types_option,
    without_option,
)
from attndsl.cli.output import live_line, show, show_json
from attndsl.driver.library import artifact_of, checked, signature_of
from attndsl.driver.signature import Signature
from attndsl.driver.targets import TARGETS, UnknownTarget, place_of, places
from attndsl.files import write_together
from attndsl.printable import file_stem
from attndsl.syntax.source import Source


@click.command("compile")
@spec_argument
@click.option(
    "--target",
    metavar="TARGET",
    default="numpy",
    show_default=True,
    help=f"{', '.join(places())}.",
)
@types_option
@shape_option
@without_option
@click.option(
    "-o",
    "--output",
    "folder",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write there: NAME.py, where NAME is the spec's name, or GPU code and its launcher. Else print it.",
)
@json_option
def command(
    source: Source,
    target: str,
    types: dict[str, str],
    shape: dict[str, int],
    left_out: tuple[str, ...],
    folder: Path | None,
    as_json: bool,
) -> None:
    """Compile a spec to a readable program that needs nothing of attndsl, or to GPU code, for which no GPU is needed.

    \b
    attndsl compile gqa.attn                          print the NumPy program
    attndsl compile gqa.attn -o build                 write build/gqa.py
    attndsl compile sinks.attn --without sink         for calls that leave it out
    attndsl compile gqa.attn --target triton --types T=f16
    attndsl compile gqa.attn --target gluon --types T=bf16 --shape D=128,E=128
                                                      for Hopper GPUs: warps of a program have roles
    attndsl compile gqa.attn --target cuda:90 --types T=f16 --shape D=128,E=128 -o build
                                                      cubins, their assembly, a JSON file that describes them, and a
                                                      Python file that runs them and needs torch alone

    NumPy programs suit any CPU; with cpu:slices, those that multiply faster a few rows at a time, as attndsl explain
    tells; with cpu:numba, or cpu:slices+numba, Numba compiles loops of theirs where it is installed. GPU code is for
    one of cuda:80, 89, 90, 100, 120, hip:gfx942, gfx950, and made for fixed extents of some dims; --shape gives them.
    """
    left_out = check_left_out(source, left_out)
    signature = signature_of(source, left_out)
    bound = bind_types(signature, types)
    check_dims(signature, shape)
    try:
        row, machine = place_of(target)
    except UnknownTarget as error:
        raise misused(error) from None
    if target in TARGETS or machine in row.processors:
        sizes = _features(signature, shape) if row.closed else {}
        artifact = artifact_of(source, bound, row.name, sizes, machine=machine, left_out=left_out)
        files = {f"{file_stem(artifact.name)}.py": artifact.source.encode()}
        report = {"source": artifact.source, "schedule": dict(artifact.schedule)}
    elif folder is None:
        raise click.UsageError("GPU code is not printed: give a folder for it with -o.")
    else:
        files = _gpu_files(checked(source, *left_out), bound, target, shape)
        report = {}
    written = [str(path) for path in _write(files, folder)] if folder else []
    if as_json:
        show_json({"name": signature.name, "target": target, "types": bound, "files": written, **report})
    else:
        show("\n".join(written) if folder else str(report["source"]).removesuffix("\n"))


def _features(signature: Signature, shape: Mapping[str, int]) -> dict[str, int]:
    """The extents of features, for which code is made. Raises UsageError."""
    if missing := [dim for dim in signature.dims if dim in signature.features and dim not in shape]:
        told = ", ".join(missing)
        raise click.UsageError(
            f"this code is made for fixed extents of {told}: --shape {','.join(f'{dim}=…' for dim in missing)}"
        )
    return {dim: shape[dim] for dim in signature.features}


def _write(files: Mapping[str, bytes], folder: Path) -> list[Path]:
    try:
        return write_together(folder, files)
    except OSError as error:
        raise click.ClickException(f"{folder} cannot be written: {error.strerror}. -o takes another folder.") from None


def _gpu_files(spec: Spec, types: Mapping[str, str], target: str, sizes: Mapping[str, int]) -> dict[str, bytes]:
    from attndsl.backends.gpu.aot import PackageMissing
    from attndsl.backends.gpu.failing import TritonFails
    from attndsl.backends.gpu.stand_ins import TooLarge
    from attndsl.driver.ahead import ExtentsMissing, gpu_files

    try:
        with live_line() as progress:
            task = progress.add_task(f"compiling for {target}", total=None)
            return gpu_files(
                spec, types, target, sizes, lambda done, of: progress.update(task, completed=done, total=of)
            )
    except ExtentsMissing as error:
        raise click.UsageError(f"{error}: --shape {','.join(f'{dim}=…' for dim in error.dims)}") from None
    except (PackageMissing, TooLarge, TritonFails) as error:
        raise click.ClickException(f"{error}.") from None
