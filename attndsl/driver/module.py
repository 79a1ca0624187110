"""Generated source as what it defines."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from attndsl.driver.artifact import Artifact
from attndsl.python_names import python_name


def load_function(artifact: Artifact) -> Callable[..., None]:
    """The function that an artifact is for: inputs, then outputs, by position; parameters by keyword."""
    function: Callable[..., None] = load_module(artifact)[python_name(artifact.name)]
    return function


def load_module(artifact: Artifact) -> dict[str, Any]:
    """All that an artifact's source defines, by name.

    The generated lines are kept where Python finds them: tracebacks show them, and Triton reads its kernels there.
    """
    source = artifact.source
    filename = f"<attndsl {artifact.name} {artifact.target} {sha256(source.encode()).hexdigest()[:8]}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    namespace: dict[str, Any] = {"__name__": f"attndsl.generated.{artifact.name}"}
    exec(compile(source, filename, "exec"), namespace)
    return namespace
