"""What ahead-of-time compilation leaves: code, assembly, a manifest that describes them, and a launcher."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from attndsl.backends.triton.aot import Binary
from attndsl.backends.triton.host import host_text, kernel_names
from attndsl.backends.triton.launcher import schedules_name
from attndsl.backends.triton.targets import Target

LOADER = Path(__file__).with_name("loader.py")


def files_of(
    name: str, target: Target, about: Mapping[str, Any], binaries: Iterable[Binary], text: str
) -> dict[str, bytes]:
    """The files by name, in the order in which they must appear: the manifest and the launcher describe the others.

    `name` is that of the spec's function, `about` what the manifest says of the spec, `text` the generated file.
    """
    stem = f"{name}_{target.backend}_{target.arch}"
    files: dict[str, bytes] = {}
    kernels = []
    for number, binary in enumerate(binaries):
        code, assembly = f"{stem}_{number}.{target.code}", f"{stem}_{number}.{target.assembly}"
        files |= {code: binary.code, assembly: binary.assembly.encode()}
        kernels.append(_entry(binary, code, assembly))
    manifest = {**about, "target": target.name, "launcher": f"{stem}.py", "kernels": kernels}
    files[f"{stem}.json"] = f"{json.dumps(manifest, indent=2)}\n".encode()
    files[f"{stem}.py"] = launcher(name, target, text).encode()
    return files


def launcher(name: str, target: Target, text: str) -> str:
    """A Python file that runs the code: the loader, then what the generated file has beside its kernels."""
    head = (
        f'"""{name}, compiled ahead of time for {target.name} by attndsl. Needs torch and the driver; compiles '
        'nothing."""\n\n'
    )
    loader = LOADER.read_text()
    docstring = ast.parse(loader).body[0].end_lineno
    loaded = "".join(f'{kernel} = KERNELS["{kernel}"]\n' for kernel in kernel_names(text))
    tables = {schedules_name(kernel): kernel for kernel in kernel_names(text)}
    chosen = "".join(f"{table} = {kernel}.compiled({table})\n" for table, kernel in tables.items())
    general = "".join(f"    {table}={kernel}.compiled({table}, INDEX=tl.int64),\n" for table, kernel in tables.items())
    return (
        f"{head}{''.join(loader.splitlines(keepends=True)[docstring:]).lstrip()}\n\n"
        'MANIFEST = read(Path(__file__).with_suffix(".json"))\n'
        "KERNELS = kernels(MANIFEST, Path(__file__).parent)\n"
        f"{loaded}\n\n{host_text(text)}\n\n"
        f"{chosen}{name}_launches = Call(\n    {name}_launches,\n    MANIFEST,\n{general})\n"
    )


def _entry(binary: Binary, code: str, assembly: str) -> dict[str, Any]:
    limits = {name: 2**31 - 1 for name, type_ in binary.signature.items() if type_ == "i32"}
    return asdict(binary) | {"limits": {"programs": 2**31 - 1, **limits}, "code": code, "assembly": assembly}
