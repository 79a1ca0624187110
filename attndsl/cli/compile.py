"""`attndsl compile`: the program that a spec becomes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from attndsl.cli.options import bind_types, check_dims, json_option, shape_option, spec_argument, types_option
from attndsl.cli.output import show_json, to_json
from attndsl.driver.files import write_atomically
from attndsl.driver.library import artifact_of, checked, signature_of
from attndsl.syntax.source import Source

SOURCES = ("numpy", "triton")
"""The targets that are source text; the others are GPU code."""


@click.command("compile")
@spec_argument
@click.option(
    "--target", metavar="TARGET", default="numpy", show_default=True, help="numpy, triton, cuda:90, hip:gfx942."
)
@types_option
@shape_option
@click.option(
    "-o",
    "--output",
    "folder",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write there: NAME.py, where NAME is the spec's name, or each kernel's code. Else the program is printed.",
)
@json_option
def command(
    source: Source, target: str, types: dict[str, str], shape: dict[str, int], folder: Path | None, as_json: bool
) -> None:
    """Compile a spec to a readable program that needs nothing of attndsl, or to GPU code, for which no GPU is needed.

    \b
    attndsl compile gqa.attn                          print the NumPy program
    attndsl compile gqa.attn -o build                 write build/gqa.py
    attndsl compile gqa.attn --target triton --types T=f16
    attndsl compile gqa.attn --target cuda:90 --types T=f16 --shape D=128,E=128 -o build
                                                      a cubin, its assembly, and a JSON file that tells how to start it

    GPU code is made for fixed extents of some dims; --shape gives them.
    """
    signature = signature_of(source)
    bound = bind_types(signature, types)
    check_dims(signature, shape)
    if target in SOURCES:
        artifact = artifact_of(source, bound, target)
        files = {f"{artifact.name}.py": artifact.source.encode()}
        report = {"source": artifact.source, "schedule": dict(artifact.schedule)}
    elif not target.startswith(("cuda:", "hip:")):
        raise click.UsageError(f"There is no target {target}: it is {', '.join(SOURCES)}, cuda:ARCH or hip:ARCH.")
    elif folder is None:
        raise click.UsageError("GPU code is not printed: give a folder for it with -o.")
    else:
        files = _gpu_files(source, bound, target, shape)
        report = {}
    written = [str(path) for path in _write(files, folder)] if folder else []
    if as_json:
        show_json({"name": signature.name, "target": target, "types": bound, "files": written, **report})
    else:
        click.echo("".join(f"{path}\n" for path in written) if folder else report["source"], nl=False)


def _write(files: Mapping[str, bytes], folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    mask = os.umask(0o022)  # it can be read only by setting it
    os.umask(mask)
    for name, content in files.items():
        write_atomically(folder / name, content, mode=0o666 & ~mask)
    return [folder / name for name in files]


def _gpu_files(source: Source, types: Mapping[str, str], target: str, sizes: Mapping[str, int]) -> dict[str, bytes]:
    """For each kernel its code, its assembly, and what its launch needs."""
    from attndsl.driver.ahead import ExtentsMissing, compile_for_gpu

    try:
        binaries = compile_for_gpu(checked(source), types, target, sizes)
    except ExtentsMissing as error:
        raise click.UsageError(f"{error}: --shape {','.join(f'{dim}=…' for dim in error.dims)}") from None
    except ValueError as error:
        raise click.UsageError(f"{error}.") from None
    except ImportError as error:
        raise click.ClickException(str(error)) from None
    code, assembly = ("cubin", "ptx") if target.startswith("cuda") else ("hsaco", "amdgcn")
    files: dict[str, bytes] = {}
    for binary in binaries:
        launch: dict[str, Any] = {k: v for k, v in asdict(binary).items() if k not in ("code", "assembly")}
        files[f"{binary.kernel}.{code}"] = binary.code
        files[f"{binary.kernel}.{assembly}"] = binary.assembly.encode()
        files[f"{binary.kernel}.json"] = f"{to_json(launch)}\n".encode()
    return files
