"""What compiled kernels take, read without a GPU."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from attndsl.backends.gpu.aot import load
from attndsl.backends.gpu.resources import Resources, parameter_count, resources_of
from attndsl.backends.gpu.targets import TARGETS

SUM = """
import triton
import triton.language as tl

@triton.jit
def sum_kernel(x_ptr, o_ptr, SIZE: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, SIZE))
    tl.store(o_ptr + tl.arange(0, SIZE), x * tl.sum(x, 0))
"""


@cache
def compiled(target: str, size: int, **options: int) -> tuple[bytes, str]:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    about = TARGETS[target]
    source = ASTSource(
        fn=load(SUM)["sum_kernel"],
        signature={"x_ptr": "*fp32", "o_ptr": "*fp32", "SIZE": "constexpr"},
        constexprs={"SIZE": size},
    )
    arch: Any = int(about.arch) if about.backend == "cuda" else about.arch
    made = triton.compile(
        source,
        target=GPUTarget(about.backend, arch, about.machine.lanes),
        options={**options, "enable_fp_fusion": True},
    )
    return made.asm[about.code], made.asm[about.assembly]


@pytest.mark.parametrize("target", ["cuda:80", "hip:gfx942"])
def test_a_small_kernel_spills_nothing(target: str) -> None:
    found = resources_of(TARGETS[target], "sum_kernel", *compiled(target, 128, num_warps=4))
    assert 4 <= found.registers < 64
    assert (found.stack, found.spilled) == (0, 0)


def test_a_thread_with_more_numbers_than_registers_spills() -> None:
    found = resources_of(TARGETS["cuda:80"], "sum_kernel", *compiled("cuda:80", 64 * 32, num_warps=1, maxnreg=32))
    assert found.registers <= 32
    assert found.stack >= 4 * (64 - 32)
    assert found.spilled == found.stack // 4


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90", "hip:gfx942"])
def test_triton_adds_pointers_to_what_a_kernel_takes(target: str) -> None:
    _, assembly = compiled(target, 128, num_warps=4)
    assert parameter_count(TARGETS[target], "sum_kernel", assembly) in (2, 3, 4)


def test_metadata_is_read_field_by_field() -> None:
    text = """
      .vgpr_count: 999
	.amdgpu_metadata
---
amdhsa.kernels:
  - .agpr_count:     110
    .args:
      - .address_space:  global
        .value_kind:     global_buffer
      - .offset:         8
        .value_kind:     by_value
    .name:           some_kernel
    .private_segment_fixed_size: 84
    .sgpr_spill_count: 435
    .vgpr_count:     256
    .vgpr_spill_count: 20
...
	.end_amdgpu_metadata
"""
    target = TARGETS["hip:gfx942"]
    assert resources_of(target, "some_kernel", b"", text) == Resources(registers=256, stack=84, spilled=20)
    assert parameter_count(target, "some_kernel", text) == 2
    with pytest.raises(ValueError, match="does not know the kernel other_kernel"):
        resources_of(target, "other_kernel", b"", text)


def test_an_unknown_kernel_of_a_cubin_is_named() -> None:
    code, assembly = compiled("cuda:80", 128, num_warps=4)
    with pytest.raises(ValueError, match="does not know the kernel other"):
        resources_of(TARGETS["cuda:80"], "other", code, assembly)
    with pytest.raises(ValueError, match="does not know the kernel other"):
        parameter_count(TARGETS["cuda:80"], "other", assembly)
