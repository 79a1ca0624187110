"""What a program of a compiled kernel takes, read from the code: no GPU is asked."""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from attndsl.backends.gpu.targets import GpuKind


@dataclass(frozen=True, slots=True)
class Resources:
    """Of each thread: `registers` of 32 bits, `stack` in bytes of local memory, `spilled` registers that did not fit.

    A kernel of Triton's has no arrays of its own, so whatever NVIDIA's assembler put on the stack was spilled.
    """

    registers: int
    stack: int
    spilled: int


def resources_of(target: GpuKind, kernel: str, code: bytes, assembly: str) -> Resources:
    """What a kernel takes, from its code where that is a cubin, else from its assembly.

    Raises ValueError where neither says.
    """
    return _of_cubin(kernel, code) if target.backend == "cuda" else _of_gcn(kernel, assembly)


def _of_cubin(kernel: str, code: bytes) -> Resources:
    from triton import knobs

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "code.cubin")
        path.write_bytes(code)
        tool = [knobs.nvidia.cuobjdump.path, "--dump-resource-usage", str(path)]
        told = subprocess.run(tool, capture_output=True, text=True, check=True).stdout
    found = re.search(rf"Function {re.escape(kernel)}:\s+REG:(\d+) STACK:(\d+) .*LOCAL:(\d+)", told)
    if found is None:
        raise ValueError(f"cuobjdump does not know the kernel {kernel}")
    registers, stack, local = map(int, found.groups())
    return Resources(registers, stack + local, (stack + local) // 4)


def _of_gcn(kernel: str, assembly: str) -> Resources:
    """Spilled scalars are lanes of vector registers first: those that do not fit are counted there."""
    metadata = _metadata(kernel, assembly)

    def count(key: str) -> int:
        found = re.search(rf"\.{key}:\s+(\d+)\n", metadata)
        if found is None:
            raise ValueError(f"the assembly does not tell .{key} of {kernel}")
        return int(found[1])

    return Resources(count("vgpr_count"), count("private_segment_fixed_size"), count("vgpr_spill_count"))


def _metadata(kernel: str, assembly: str) -> str:
    """The metadata of a code object of LLVM's AMDGPU back end (version 3 and later), which closes the text."""
    found = re.search(r"\.amdgpu_metadata\n(.*)\.end_amdgpu_metadata", assembly, re.DOTALL)
    if found is None or not re.search(rf"\.name:\s+{re.escape(kernel)}\n", found[1]):
        raise ValueError(f"the assembly does not know the kernel {kernel}")
    return found[1]


def parameter_count(target: GpuKind, kernel: str, assembly: str) -> int:
    """How many arguments compiled code takes: its own, and pointers that Triton adds, more or fewer by its version."""
    if target.backend == "hip":
        return _metadata(kernel, assembly).count(".value_kind:")
    found = re.search(rf"\.entry {re.escape(kernel)}\((.*?)\)", assembly, re.DOTALL)
    if found is None:
        raise ValueError(f"the assembly does not know the kernel {kernel}")
    return found[1].count(".param")
