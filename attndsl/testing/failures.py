"""A failing case on disk: a folder that shows what went wrong, and can be run again."""

from __future__ import annotations

import json
import shlex
import shutil
import tempfile
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from attndsl.checking.check import check
from attndsl.diagnostics.base import SpecError
from attndsl.syntax.read import read_source
from attndsl.syntax.source import Source
from attndsl.testing.calls import Calling
from attndsl.testing.case import Array, Case, Disagreement
from attndsl.testing.fuzz import Example, Failure
from attndsl.testing.metamorphic import Twin
from attndsl.testing.stages import Form, check_stages

SPEC, INPUTS, CALL, MESSAGE = "case.attn", "inputs.npz", "call.json", "message.txt"


class NoCase(ValueError):
    """A folder that holds no case, or one that cannot be read."""


def save(failure: Failure, folder: Path) -> Path:
    """Writes a failing case to a new folder in `folder`, whole or not at all; raises OSError."""
    case = failure.example.case
    text = case.spec.source.text
    call = {
        "types": dict(case.types),
        "dims": dict(case.dims),
        "params": dict(case.params),
        "strides": {name: list(array.strides) for name, array in case.arrays.items()},
        "forms": [asdict(form) for form in ([failure.form] if failure.form else failure.example.forms)],
        "file": case.spec.source.name,
        "calling": asdict(failure.example.calling) if failure.example.calling else None,
        "twin": asdict(failure.example.twin) if failure.example.twin else None,
    }
    key = sha256((text + json.dumps(call)).encode()).hexdigest()[:8]
    place = folder / f"{case.spec.name}-{key}"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".") as made:
        part = Path(made) / place.name
        part.mkdir()
        (part / SPEC).write_text(text, encoding="utf-8")
        arrays: dict[str, Any] = {name: np.array(array, order="C") for name, array in case.arrays.items()}
        np.savez(part / INPUTS, **arrays)
        (part / CALL).write_text(json.dumps(call, indent=2) + "\n", encoding="utf-8")
        message = f"{describe(failure)}\n\n{replay_command(place, failure.peer)}\n"
        (part / MESSAGE).write_text(message, encoding="utf-8", errors="backslashreplace")
        shutil.rmtree(place, ignore_errors=True)
        part.rename(place)
    return place


def replay_command(place: Path, peer: str | None) -> str:
    """What runs a saved case again."""
    return shlex.join(["attndsl", "fuzz", "--replay", str(place), *(["--against", peer] if peer is not None else [])])


def load(place: Path) -> Example:
    """The example in a folder that `save` wrote; raises NoCase."""
    try:
        call = json.loads((place / CALL).read_text(encoding="utf-8"))
        with np.load(place / INPUTS, allow_pickle=False) as stored:
            arrays = {name: with_strides(stored[name], call["strides"][name]) for name in stored.files}
        spec = check(Source(read_source(place / SPEC).text, call["file"]))
        forms = tuple(Form(**form) for form in call["forms"])
        calling = Calling(**call["calling"]) if call["calling"] else None
        twin = Twin.from_json(call["twin"]) if call["twin"] else None
        return Example(Case(spec, call["types"], call["dims"], call["params"], arrays), forms, calling, twin)
    except (OSError, ValueError, KeyError, TypeError, BadZipFile, SpecError) as error:
        raise NoCase(f"{place} holds no case of `attndsl fuzz`: {error}") from error


def describe(failure: Failure) -> str:
    """What went wrong: the stage that is to blame, the spec, the entry, both values, and the bound."""
    case = failure.example.case
    error = _blamed(failure)
    said = str(error) or type(error).__name__
    prefix = "" if isinstance(error, Disagreement) else f"{case.spec.name}: {type(error).__name__}: "
    form, calling, twin = failure.form, failure.example.calling, failure.example.twin
    how = "" if form is None else f"\nCompiled for {form.target}: {_options(form)}"
    if form is None and calling is not None:
        how = f"\nCalled: {_options(calling)}"
    if twin is not None:
        how += f"\nIts twin, {twin.relation}:\n\n{twin.text.rstrip()}"
    how += f"\nThe spec, in a file called {case.spec.source.name!a}:"
    shapes = "\n".join(f"    {name}: {_layout(array)}" for name, array in case.arrays.items())
    return f"{prefix}{said}{how}\n\n{case.spec.source.text.rstrip()}\n\nInputs:\n{shapes}"


def with_strides(array: Array, strides: list[int]) -> Array:
    """The array laid out in memory with these strides in bytes, between which all bits are set."""
    if not array.size or not array.ndim:
        return array
    reach = [stride * (size - 1) for stride, size in zip(strides, array.shape, strict=True)]
    low, high = sum(min(0, each) for each in reach), sum(max(0, each) for each in reach)
    memory = np.full(high - low + array.itemsize, 0xFF, np.uint8)
    laid: Array = np.ndarray(array.shape, array.dtype, memory.data, -low, tuple(strides))
    laid[...] = array
    return laid


def _blamed(failure: Failure) -> Exception:
    """The failure at the first stage that shows it, where interpreting the IR after each pass shows one."""
    if failure.form is None:
        return failure.error
    try:
        check_stages([failure.example.case], form=failure.form)
    except Exception as error:
        return error
    return failure.error


def _options(chosen: Form | Calling) -> str:
    return ", ".join(f"{name} = {value}" for name, value in asdict(chosen).items() if name != "target")


def _layout(array: Array) -> str:
    sizes = " × ".join(map(str, array.shape)) or "scalar"
    values = array.ravel()[:6].tolist()
    shown = ", ".join(f"{value:.4g}" if isinstance(value, float) else str(value) for value in values)
    more = ", …" if array.size > len(values) else ""
    return f"{array.dtype} {sizes}, strides {array.strides}: {shown}{more}"
