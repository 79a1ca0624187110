"""The rigs that suites are measured on: the current GPU, or this machine's CPU with so many threads."""

from __future__ import annotations

import subprocess

import torch

from attndsl.bench import limits
from attndsl.bench.machine import busy_cores, circumstances
from attndsl.bench.suite import Rig
from attndsl.bench.timing import CpuClock, GpuClock
from attndsl.op import blas

QUIET = 0.2
"""Cores that others may keep busy where the wall's time is to be believed."""


def on_gpu(device: torch.device) -> Rig:
    """A GPU, whose limits are measured now."""
    reached = limits.measure(device, GpuClock(sample=0.1), bytes_=2 * 2**30, side=8192)
    head = {**circumstances("attndsl", "torch", "triton", "numpy"), **described(device), **reached.head()}
    return Rig(device, GpuClock(), reached, head)


def on_cpu(threads: int) -> Rig:
    """This machine's CPU: `threads` for torch, and so for the operators, which use as many as torch.

    On a machine on which something else runs, the processors' time is compared and not the wall's.
    """
    torch.set_num_threads(threads)
    busy = busy_cores()
    quiet = busy < QUIET
    head = {
        **circumstances("attndsl", "numpy", "torch"),
        "blas": blas.described(),
        "threads": f"{threads} for all contestants, waiting passively",
        "time": f"{'the wall' if quiet else 'the processors'}: others keep {busy:.1f} cores busy",
    }
    return Rig(torch.device("cpu"), CpuClock(by_processor=not quiet), None, head)


def described(device: torch.device) -> dict[str, str]:
    """The GPU, its driver and toolkit, for the head of a file of results."""
    try:
        query = ("nvidia-smi", "--query-gpu=driver_version,power.limit", "--format=csv,noheader")
        driver = subprocess.check_output(query, text=True).splitlines()[0]
    except (OSError, subprocess.CalledProcessError):
        driver = "unknown"
    toolkit = torch.version.cuda or torch.version.hip or "unknown"
    cudnn = torch.backends.cudnn.version()
    return {"device": torch.cuda.get_device_name(device), "driver": driver, "cuda": toolkit, "cudnn": str(cudnn)}
