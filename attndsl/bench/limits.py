"""What the device can do at best: how fast it reads memory and multiplies matrices, measured before a suite."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import torch

from attndsl.bench.timing import Clock, Turn

DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}


@dataclass(frozen=True)
class Limits:
    """Bytes a second that are read, and floating-point operations a second by element type."""

    read: float
    rates: Mapping[str, float]

    def seconds(self, moved: int, flops: float, element: str) -> float:
        """The least time for so many bytes and operations: no kernel can be faster."""
        return max(moved / self.read, flops / self.rates[element])

    def head(self) -> dict[str, str]:
        """The limits for the head of a file of results."""
        rates = ", ".join(f"{element} {rate / 1e12:.0f}" for element, rate in self.rates.items())
        return {"read limit": f"{self.read / 1e9:.0f} GB/s", "product limit": f"{rates} TFLOP/s"}


def measure(device: torch.device, clock: Clock, bytes_: int, side: int) -> Limits:
    """The limits of a device: what its memory gives to the better of a copy and a sum, and what `torch.mm` reaches.

    `bytes_` is the size of what is read, far beyond the caches, `side` that of the square matrices; all is random, as
    zeros draw less power and run faster.
    """
    source = torch.randn(bytes_ // 4, device=device)
    target = torch.empty_like(source)
    turns = {"copy": Turn([lambda: target.copy_(source)]), "sum": Turn([source.sum])}
    for element, dtype in DTYPES.items():
        a, b = (torch.randn(side, side, device=device).to(dtype) for _ in range(2))
        turns[element] = Turn([partial(torch.mm, a, b)])
    times = {name: time.seconds for name, time in clock.race(turns).items()}
    read = max(2 * source.nbytes / times["copy"], source.nbytes / times["sum"])
    return Limits(read, {element: 2 * side**3 / times[element] for element in DTYPES})
