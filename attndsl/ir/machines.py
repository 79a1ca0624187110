"""What the cost model knows of GPUs: a row each, by the name of the target that code is made for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Machine:
    """One architecture.

    `shared` is the shared memory that one program can have, in bytes; `registers` the 32-bit registers that one thread
    can have before they spill, `register_file` those of a processor; `stages` how many tiles of keys are worth having
    on their way at most; `lanes` the threads of a warp. `single` is how products of f32 numbers are made: "ieee" one by
    one, or "tf32x3" by a matrix unit.
    """

    shared: int
    registers: int
    stages: int
    lanes: int = 32
    register_file: int = 64 * 1024
    single: str = "tf32x3"


USUAL = "cuda:90"
"""The machine that code is for where nothing says which."""

MACHINES = {
    # CUDA C++ Programming Guide 13, table "Technical Specifications per Compute Capability": shared memory per block.
    "cuda:80": Machine(shared=163 * 1024, registers=255, stages=3),
    "cuda:89": Machine(shared=99 * 1024, registers=255, stages=2),
    "cuda:90": Machine(shared=227 * 1024, registers=255, stages=3),
    "cuda:100": Machine(shared=227 * 1024, registers=255, stages=3),
    "cuda:120": Machine(shared=99 * 1024, registers=255, stages=2),
    # AMD CDNA3 and CDNA4 instruction set guides: local data share per work-group, vector registers per lane.
    "hip:gfx942": Machine(64 * 1024, registers=512, stages=2, lanes=64, register_file=128 * 1024, single="ieee"),
    "hip:gfx950": Machine(160 * 1024, registers=512, stages=2, lanes=64, register_file=128 * 1024, single="ieee"),
}
