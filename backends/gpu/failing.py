"""The failures of Triton's own compiler, told apart from ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class TritonFails(RuntimeError):
    """Triton's compiler gave up on a generated kernel: no wrong numbers, and none at all."""


SAYS = ("PassManager", "triton maximum tensor numel", "arange must fit in int32")
"""What its errors say that are not of a mistake in the kernel: a pass fails, a tile has more elements than it takes."""


@contextmanager
def compiling(name: str) -> Iterator[None]:
    """Raises TritonFails where Triton's compiler fails on the kernel, or on the kernels of the spec, of this name."""
    try:
        yield
    except Exception as error:  # of several types of Triton's
        *_, reason = str(error).splitlines() or [""]
        if not any(words in reason for words in SAYS):
            raise
        import triton

        raise TritonFails(
            f"the compiler of Triton {triton.__version__} fails on {name}: {reason}; other tiles or element types may "
            "pass, smaller extents too, and NumPy runs it on a CPU"
        ) from error
