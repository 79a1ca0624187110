"""Ahead-of-time compilation: a generated Triton file to GPU code, on a machine that needs no GPU."""

from __future__ import annotations

import importlib.util
import linecache
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from attndsl.backends.triton.emit import emit, kernel_name
from attndsl.backends.triton.launcher import host_value
from attndsl.backends.triton.parameters import POINTERS, Parameters, quotient_names, scalar_type
from attndsl.ir import spec, tile
from attndsl.ir.xdsl import ModuleOp
from attndsl.python_names import python_name

CUDA = ("80", "89", "90", "100", "120")
HIP = ("gfx942", "gfx950")
TARGETS = (*(f"cuda:{arch}" for arch in CUDA), *(f"hip:{arch}" for arch in HIP))
"""What code can be compiled for."""

SHORT = {"int64": "i64", "int1": "i1", "float32": "fp32", "float64": "fp64"}


class TritonMissing(ImportError):
    """Compiling for a GPU takes the package triton, and it is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "compiling for a GPU needs the package triton, which is not installed: pip install 'attndsl[triton]'"
        )


@dataclass(frozen=True, slots=True)
class Binary:
    """One kernel, compiled: `code` is a cubin or hsaco, `assembly` its PTX or GCN text.

    `signature` gives the type of each argument, in order; "constexpr" marks those that `constants` fixes. Shared
    memory is counted in bytes.
    """

    kernel: str
    target: str
    code: bytes
    assembly: str
    signature: Mapping[str, str]
    constants: Mapping[str, int]
    num_warps: int
    shared: int


def compile_ahead(
    module: ModuleOp, target: str, sizes: Mapping[str, int], source: str = "", num_warps: int = 4
) -> list[Binary]:
    """Every kernel of a module at the `tile` level, with full lanes, for a target of TARGETS.

    `sizes` gives each dim that the size of a tile depends on (`Parameters.static`) its extent. Raises TritonMissing
    where triton is not installed, ValueError for another target, KeyError for a dim that is wanted and not given.
    """
    if importlib.util.find_spec("triton") is None:
        raise TritonMissing
    if target not in TARGETS:
        raise ValueError(f"{target} is none of {', '.join(TARGETS)}")
    functions = load(emit(module, source))
    tensors = [op for op in module.body.block.ops if isinstance(op, spec.TensorOp)]
    return [
        _compile(functions[kernel_name(op)], Parameters.of(op, tensors), target, sizes, num_warps)
        for op in module.body.block.ops
        if isinstance(op, tile.KernelOp)
    ]


def load(text: str) -> dict[str, Any]:
    """What a generated file defines. Triton reads the lines of functions, so they are kept where it finds them."""
    filename = f"<attndsl triton {sha256(text.encode()).hexdigest()[:8]}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    namespace: dict[str, Any] = {"__name__": "attndsl.generated"}
    exec(compile(text, filename, "exec"), namespace)
    return namespace


def constants_of(taken: Parameters, sizes: Mapping[str, int]) -> dict[str, int]:
    """The arguments that code is made for, by name, where the static dims have the extents `sizes`."""
    constants = {python_name(dim): sizes[dim] for dim in taken.static}
    return constants | {str(size.name_hint): host_value(size, sizes) for size in taken.sizes}


def signature_of(taken: Parameters) -> dict[str, str]:
    """The type of each argument of a kernel, in order, as Triton writes it."""
    signature: dict[str, str] = {}
    for tensor in taken.tensors:
        signature[f"{tensor.sym_name.data}_ptr"] = f"*{POINTERS[tensor.element.data]}"
        signature.update(dict.fromkeys(taken.strides[tensor.sym_name.data], "i64"))
    signature.update(dict.fromkeys((*map(python_name, taken.dims), *taken.parts), "i64"))
    signature.update({python_name(op.param.data): SHORT[scalar_type(op.result.type)] for op in taken.params})
    signature.update(dict.fromkeys(quotient_names(taken.quotients), "i64"))
    signature.update({f"n_{op.variable.data}": "i32" for op in taken.counts})
    signature.update({python_name(dim): "constexpr" for dim in taken.static})
    return signature | {str(size.name_hint): "constexpr" for size in taken.sizes}


def _compile(function: Any, taken: Parameters, target: str, sizes: Mapping[str, int], num_warps: int) -> Binary:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    backend, _, arch = target.partition(":")
    gpu = GPUTarget("cuda", int(arch), 32) if backend == "cuda" else GPUTarget("hip", arch, 64)
    signature, constants = signature_of(taken), constants_of(taken, sizes)
    made = triton.compile(
        ASTSource(fn=function, signature=signature, constexprs=constants),
        target=gpu,
        options={"num_warps": num_warps, "enable_fp_fusion": True},
    )
    code, assembly = ("cubin", "ptx") if backend == "cuda" else ("hsaco", "amdgcn")
    return Binary(
        kernel=made.metadata.name,
        target=target,
        code=made.asm[code],
        assembly=made.asm[assembly],
        signature=signature,
        constants=constants,
        num_warps=made.metadata.num_warps,
        shared=made.metadata.shared,
    )
