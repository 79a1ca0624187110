"""A failing case on disk: a folder that shows what went wrong, and that `attndsl.testing.kept` reads again."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from string import ascii_letters, digits
from zipfile import ZipFile

import numpy as np

from attndsl.driver.plain_json import to_json
from attndsl.printable import file_stem, printable_lines
from attndsl.testing.calls import Calling
from attndsl.testing.case import Array, Disagreement
from attndsl.testing.fuzz import Failure
from attndsl.testing.stages import Form, check_stages

SPEC, INPUTS, CALL, MESSAGE = "case.attn", "inputs.npz", "call.json", "message.txt"


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
    written = to_json(call)
    key = sha256((text + written).encode()).hexdigest()[:8]
    place = folder / f"{file_stem(case.spec.name)}-{key}"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".") as made:
        part = Path(made) / place.name
        part.mkdir()
        (part / SPEC).write_text(text, encoding="utf-8")
        _save_arrays(part / INPUTS, case.arrays)
        (part / CALL).write_text(written + "\n", encoding="utf-8")
        message = f"{describe(failure)}\n\n{replay_command(place, failure.peer)}\n"
        (part / MESSAGE).write_text(message, encoding="utf-8", errors="backslashreplace")
        shutil.rmtree(place, ignore_errors=True)
        part.rename(place)
    return place


def replay_command(place: Path, peer: str | None) -> str:
    """What runs a saved case again."""
    words = ["attndsl", "fuzz", "--replay", str(place), *(["--against", peer] if peer is not None else [])]
    return " ".join(map(_shell_word, words))


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
    return printable_lines(f"{prefix}{said}{how}\n\n{case.spec.source.text.rstrip()}\n\nInputs:\n{shapes}")


def _save_arrays(path: Path, arrays: Mapping[str, Array]) -> None:
    """What `np.savez` does, which has words of its own for arguments: `file` may be an input."""
    with ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.array(array, order="C"), allow_pickle=False)


def _shell_word(word: str) -> str:
    """A word as a shell reads it, and in one line of what can be seen: by its bytes where it is more than that."""
    if word.isprintable():
        return shlex.quote(word)
    plain = f"/.-_{ascii_letters}{digits}"
    shown = (chr(byte) if chr(byte) in plain else f"\\x{byte:02x}" for byte in os.fsencode(word))
    return f"$'{''.join(shown)}'"


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
