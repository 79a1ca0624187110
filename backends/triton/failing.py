"""The failures of Triton's own compiler, told apart from ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class TritonFails(RuntimeError):
    """Triton's compiler gave up on a generated kernel: no wrong numbers, and none at all."""


@contextmanager
def compiling(name: str) -> Iterator[None]:
    """Raises TritonFails where Triton's compiler fails on the kernel, or on the kernels of the spec, of this name."""
    try:
        yield
    except RuntimeError as error:
        if "PassManager" not in str(error):
            raise
        import triton

        raise TritonFails(
            f"the compiler of Triton {triton.__version__} fails on {name}: {error}; other tiles or element types may "
            "pass, and NumPy runs it on a CPU"
        ) from error
