"""What ahead-of-time compilation leaves: code, assembly, a manifest that describes them, and a launcher."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

from attndsl.backends.gpu.aot import CompiledKernel
from attndsl.backends.gpu.host import host_text, kernel_names, schedule_tables
from attndsl.backends.gpu.targets import GpuKind
from attndsl.printable import file_stem

LOADER = Path(__file__).with_name("loader.py")


def files_of(
    name: str, target: GpuKind, about: Mapping[str, Any], binaries: Iterable[CompiledKernel], text: str
) -> dict[str, bytes]:
    """The files by name, in the order in which they must appear.

    The manifest has a digest of each file of code and assembly, the launcher one of the manifest: files of several
    compilations are never taken for one.
    `name` is that of the spec's function, `about` what the manifest says of the spec, `text` the generated file.
    """
    stem = f"{file_stem(name)}_{target.backend}_{target.arch}"
    files: dict[str, bytes] = {}
    kernels = []
    for number, binary in enumerate(binaries):
        code, assembly = f"{stem}_{number}.{target.code}", f"{stem}_{number}.{target.assembly}"
        files |= {code: binary.code, assembly: binary.assembly.encode()}
        kernels.append(_entry(binary, code, assembly))
    digests = {file: sha256(content).hexdigest() for file, content in files.items()}
    about = {**about, "target": target.name, "launcher": f"{stem}.py", "files": digests, "kernels": kernels}
    manifest = f"{json.dumps(about, indent=2)}\n".encode()
    return {**files, f"{stem}.json": manifest, f"{stem}.py": launcher(name, target, text, manifest).encode()}


def launcher(name: str, target: GpuKind, text: str, manifest: bytes) -> str:
    """A Python file that runs the code: the loader, then what the generated file has beside its kernels."""
    head = (
        f'"""{name}, compiled ahead of time for {target.name} by attndsl. Needs torch and the driver; compiles '
        'nothing."""\n\n'
    )
    loader = LOADER.read_text()
    docstring = ast.parse(loader).body[0].end_lineno
    loaded = "".join(f'{kernel} = KERNELS["{kernel}"]\n' for kernel in kernel_names(text))
    tables = schedule_tables(text)
    chosen = "".join(f"{table} = {kernel}.compiled({table})\n" for table, kernel in tables.items())
    general = "".join(f"    {table}={kernel}.compiled({table}, INDEX=tl.int64),\n" for table, kernel in tables.items())
    start = (
        f"{''.join(loader.splitlines(keepends=True)[docstring:]).lstrip()}\n\n"
        f'MANIFEST = read(Path(__file__).with_suffix(".json"), "{sha256(manifest).hexdigest()}")\n'
        "KERNELS = kernels(MANIFEST, Path(__file__).parent)\n"
        f"{loaded}"
    )
    end = f"{chosen}{name}_launches = CheckedCall(\n    {name}_launches,\n    MANIFEST,\n{general})\n"
    return f"{head}{start}\n\n{_apart(host_text(text), name, start + end)}\n\n{end}"


def _apart(host: str, name: str, loader: str) -> str:
    """What a file has beside its kernels; the spec's function gets a `_` where the loader calls something the same."""
    said = {node.id for node in ast.walk(ast.parse(loader)) if isinstance(node, ast.Name)}
    return host.replace(f"\ndef {name}(", f"\ndef {name}_(") if name in said else host


def _entry(binary: CompiledKernel, code: str, assembly: str) -> dict[str, Any]:
    limits = {name: 2**31 - 1 for name, type_ in binary.signature.items() if type_ == "i32"}
    return asdict(binary) | {"limits": {"programs": 2**31 - 1, **limits}, "code": code, "assembly": assembly}
