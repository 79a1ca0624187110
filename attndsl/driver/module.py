"""Generated NumPy source as a function to call."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from attndsl.driver.artifact import Artifact
from attndsl.python_names import python_name


def load_function(artifact: Artifact) -> Callable[..., None]:
    """The function that an artifact's source defines: inputs, then outputs, by position; parameters by keyword.

    Tracebacks through it show the generated lines.
    """
    source = artifact.source
    filename = f"<attndsl {artifact.name} {artifact.target} {sha256(source.encode()).hexdigest()[:8]}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    namespace: dict[str, Any] = {"__name__": f"attndsl.generated.{artifact.name}"}
    exec(compile(source, filename, "exec"), namespace)
    function: Callable[..., None] = namespace[python_name(artifact.name)]
    return function
