"""What is known of GPUs and CPUs: a row each, by the name of the target that code is made for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Device:
    """A device of an architecture, and what its maker says that it can do at best.

    `read` is how many bytes of memory it reads a second, `rates` how many floating-point operations of products it does
    a second, by the bytes of a number.
    """

    name: str
    read: float
    rates: Mapping[int, float]

    @classmethod
    def of(cls, name: str, read: float, *rates: float) -> Device:
        """A device whose rates, of numbers of 1, 2, 4 and 8 bytes, are in TFLOP/s."""
        return cls(name, read, {size: rate * 1e12 for size, rate in zip((1, 2, 4, 8), rates, strict=True)})


@dataclass(frozen=True, slots=True)
class Machine:
    """One architecture, and the `device` of it that limits are told for.

    `shared` is the shared memory that one program can have, in bytes; `registers` the 32-bit registers that one thread
    can have before they spill, `register_file` those of a processor; `stages` how many tiles of keys are worth having
    on their way at most; `lanes` the threads of a warp. `f32_products` is how products of f32 numbers are made: "ieee"
    one by one, or "tf32x3" by a matrix unit. `warpgroup` says whether four warps multiply as one, out of shared memory,
    `boxes` whether a program copies a box of a tensor at once.
    """

    device: Device
    shared: int
    registers: int
    stages: int
    lanes: int = 32
    register_file: int = 64 * 1024
    f32_products: str = "tf32x3"
    warpgroup: bool = False
    boxes: bool = False


DEFAULT = "cuda:90"
"""The machine that code is for where nothing says which."""

# From NVIDIA's data sheets of the A100, L40S, H200 and HGX B200, its white paper on the RTX Blackwell architecture, and
# AMD's data sheets of the MI300X and MI355X: dense products, summed in f32. The rate of f32 is the better of plain
# arithmetic and of three TF32 products, which keep full precision; where none multiplies f8 numbers, f16 stands in.
A100 = Device.of("A100 SXM 80 GB", 2.039e12, 312, 312, 156 / 3, 19.5)
L40S = Device.of("L40S", 0.864e12, 733, 362, 91.6, 91.6 / 64)
H200 = Device.of("H200 SXM", 4.8e12, 1979, 989, 495 / 3, 67)
B200 = Device.of("HGX B200", 7.7e12, 4500, 2250, 1100 / 3, 37)
RTX_5090 = Device.of("GeForce RTX 5090", 1.792e12, 419, 209.5, 104.8, 104.8 / 64)
MI300X = Device.of("Instinct MI300X", 5.3e12, 2615, 1307, 163.4, 163.4)
MI355X = Device.of("Instinct MI355X", 8e12, 5033, 2517, 157.3, 78.6)

MACHINES = {
    # CUDA C++ Programming Guide 13, table "Technical Specifications per Compute Capability": shared memory per block.
    "cuda:80": Machine(A100, shared=163 * 1024, registers=255, stages=3),
    "cuda:89": Machine(L40S, shared=99 * 1024, registers=255, stages=2),
    "cuda:90": Machine(H200, shared=227 * 1024, registers=255, stages=3, warpgroup=True, boxes=True),
    "cuda:100": Machine(B200, shared=227 * 1024, registers=255, stages=3, warpgroup=True, boxes=True),
    "cuda:120": Machine(RTX_5090, shared=99 * 1024, registers=255, stages=2),
    # AMD CDNA3 and CDNA4 instruction set guides: local data share per work-group, vector registers per lane.
    "hip:gfx942": Machine(
        MI300X, 64 * 1024, registers=512, stages=2, lanes=64, register_file=128 * 1024, f32_products="ieee"
    ),
    "hip:gfx950": Machine(
        MI355X, 160 * 1024, registers=512, stages=2, lanes=64, register_file=128 * 1024, f32_products="ieee"
    ),
}

ANY_CPU = "cpu"
"""The CPU that code is for where nothing says which: it suits all of them."""


@dataclass(frozen=True, slots=True)
class Processor:
    """What makes code faster on some CPUs, and slower on others.

    `slices` is how many rows of a product of tiles are multiplied at a time, 0 for all: which suits does not only rest
    on the CPU, but also on the library that NumPy multiplies with. Where it is `compiled`,
    Numba makes one loop of what takes NumPy several passes over a tile, if it is installed.
    """

    slices: int = 0
    compiled: bool = False


PROCESSORS = {
    ANY_CPU: Processor(),
    "cpu:slices": Processor(slices=8),
    "cpu:numba": Processor(compiled=True),
    "cpu:slices+numba": Processor(slices=8, compiled=True),
}
