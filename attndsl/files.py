"""Files in and out."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

PREFIX = "attndsl-"

TEMPORARY = re.compile(PREFIX + r"[a-z0-9_]{8}\.tmp")
"""The names of what `write_atomically` writes before it is whole."""


def write_atomically(path: Path, content: bytes, mode: int) -> None:
    """Make a file's content `content`: who reads it meanwhile sees the old or the new, never a part. Raises OSError.

    A killed writer leaves a TEMPORARY file beside it.
    """
    import tempfile  # it takes longer to import than a kept entry to read

    handle, name = tempfile.mkstemp(dir=path.parent, prefix=PREFIX, suffix=".tmp")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        temporary.chmod(mode)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_together(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    """Write files into a folder, made where there is none: nothing of them appears before all are on the disk.

    They appear one after the other, in order. Raises OSError. A killed writer leaves a `.tmp` folder there.
    """
    import tempfile

    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, suffix=".tmp") as temporary:
        for name, content in files.items():
            Path(temporary, name).write_bytes(content)
        return [Path(temporary, name).replace(folder / name) for name in files]
