"""Typed spec to GPU code, on a machine that needs no GPU."""

from __future__ import annotations

from collections.abc import Mapping

from attndsl.backends.triton.aot import Binary, compile_ahead
from attndsl.backends.triton.parameters import Parameters
from attndsl.checking.typed import Spec
from attndsl.driver.compile import lower
from attndsl.ir import spec as spec_dialect
from attndsl.ir import tile


class ExtentsMissing(ValueError):
    """GPU code is made for fixed extents of some dims, and these are not given; `dims` names them."""

    def __init__(self, dims: list[str]) -> None:
        self.dims = dims
        super().__init__(f"GPU code is made for fixed extents of {', '.join(dims)}")


def compile_for_gpu(spec: Spec, types: Mapping[str, str], target: str, sizes: Mapping[str, int]) -> list[Binary]:
    """Every kernel of a spec, compiled for `cuda:90`, `hip:gfx942` and the like, with the extents of `sizes`.

    Raises ExtentsMissing, ValueError for a target that is not known, ImportError where triton is not installed.
    """
    module, _ = lower(spec, types, "triton")
    tensors = [op for op in module.body.block.ops if isinstance(op, spec_dialect.TensorOp)]
    kernels = [op for op in module.body.block.ops if isinstance(op, tile.KernelOp)]
    wanted = {dim for kernel in kernels for dim in Parameters.of(kernel, tensors).static}
    if missing := [dim for dim in spec.dims if dim in wanted - sizes.keys()]:
        raise ExtentsMissing(missing)
    return compile_ahead(module, target, sizes, spec.source.text)
