"""What code can be compiled for ahead of time."""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.ir.machines import MACHINES, Machine


@dataclass(frozen=True, slots=True)
class GpuKind:
    """A kind of GPU, named as on a command line: `cuda:90`."""

    name: str

    @property
    def backend(self) -> str:
        """Triton's name for the maker's software."""
        return self.name.partition(":")[0]

    @property
    def arch(self) -> str:
        """The architecture, as its maker calls it."""
        return self.name.partition(":")[2]

    @property
    def machine(self) -> Machine:
        """What its processors have."""
        return MACHINES[self.name]

    @property
    def code(self) -> str:
        """What Triton calls the binary, and how a file of it ends."""
        return "cubin" if self.backend == "cuda" else "hsaco"

    @property
    def assembly(self) -> str:
        """What Triton calls the text before it, and how a file of it ends."""
        return "ptx" if self.backend == "cuda" else "amdgcn"


TARGETS = {name: GpuKind(name) for name in MACHINES}
"""By name."""
