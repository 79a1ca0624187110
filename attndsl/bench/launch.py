"""What a call on a GPU costs beside its kernels: Python's time for a launch, and the wait for a first output."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import torch
from torch.nn.attention.flex_attention import flex_attention
from torch.nn.functional import scaled_dot_product_attention

import attndsl
from attndsl.bench.machine import ROOT
from attndsl.bench.results import Column, Row
from attndsl.bench.suite import Effort, Job, Measured, Rig, Study

SPEC = ROOT / "examples" / "gqa.attn"

HOST_LIMIT = 30e-6
"""Seconds of Python for a decode launch like an earlier one."""

FIRST_RATIO = 3
"""How many times sooner the first output of a new spec comes than compiled FlexAttention's, with empty caches."""

IN_A_ROW = 100
"""Calls between two waits for the GPU: few enough that its queue of launches does not fill up."""

Inputs = tuple[torch.Tensor, torch.Tensor, torch.Tensor]

CACHES = ("ATTNDSL_CACHE_DIR", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR")

FIRST = """
import json, time, torch
q = torch.randn(1, 32, 1024, 128, device="cuda", dtype=torch.bfloat16)
k, v = torch.randn(2, 1, 8, 1024, 128, device="cuda", dtype=torch.bfloat16)
torch.cuda.synchronize()
start = time.perf_counter()
{work}
torch.cuda.synchronize()
print(json.dumps(time.perf_counter() - start))
"""

FIRSTS = {
    "attndsl": f"import attndsl; attndsl.load({str(SPEC)!r})(q=q, k=k, v=v)",
    "compiled FlexAttention": """
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
mask = create_block_mask(lambda b, h, i, j: j <= i, None, None, 1024, 1024, device="cuda")
torch.compile(flex_attention)(q, k, v, block_mask=mask, enable_gqa=True)
""",
}
"""From the first import to the first output of a causal prefill, in a process that has used torch on the GPU."""


def of_seconds(seconds: float) -> str:
    """Three digits and a unit."""
    for unit, scale in (("s", 1.0), ("ms", 1e3)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


COLUMNS = (Column("what"), Column("who"), Column("median", of_seconds), Column("fastest", of_seconds))


def jobs(effort: Effort) -> list[Job]:
    """What the host takes, then first outputs."""
    host, firsts = (20, 1) if effort is Effort.QUICK else (100, 3)
    return [Job("host", partial(on_the_host, host)), Job("first outputs", partial(first_outputs, firsts))]


def on_the_host(rounds: int, rig: Rig) -> Measured:
    """Python's time for launches."""
    rows = host_rows(rounds)
    ours = medians(rows)["host, the same decode call", "attndsl"]
    late = f"a decode launch takes {of_seconds(ours)} of Python, limit {of_seconds(HOST_LIMIT)}"
    return rows, [late] if ours > HOST_LIMIT else []


def first_outputs(rounds: int, rig: Rig) -> Measured:
    """The waits for a first output."""
    rows = first_rows(rounds)
    ours, theirs = (medians(rows)["first output, empty caches", who] for who in FIRSTS)
    late = f"a first output comes {theirs / ours:.1f} times sooner than FlexAttention's, not {FIRST_RATIO}"
    return rows, [late] if theirs < FIRST_RATIO * ours else []


def medians(rows: list[Row]) -> dict[tuple[str, str], float]:
    """The medians of rows, by what was measured of whom."""
    return {(what, who): median for what, who, median, _ in rows}


def host_rows(rounds: int) -> list[Row]:
    """Python's time for a decode launch: where nothing changes from call to call, and where there is one key more."""
    op = attndsl.load(SPEC)
    flex = torch.compile(flex_attention)
    q = torch.randn(1, 32, 1, 128, device="cuda", dtype=torch.bfloat16)
    k, v = torch.randn(2, 1, 8, 128 + IN_A_ROW * (rounds + 1), 128, device="cuda", dtype=torch.bfloat16)
    same = (q, k[:, :, :128], v[:, :, :128])
    calls: dict[str, Callable[..., object]] = {
        "attndsl": lambda q, k, v: op(q=q, k=k, v=v),
        "torch SDPA": partial(scaled_dot_product_attention, enable_gqa=True),
        "compiled FlexAttention": partial(flex, enable_gqa=True),
    }
    times: dict[tuple[str, str], list[float]] = {}
    with torch.no_grad():
        for call in calls.values():
            for _ in range(20):
                call(*same)
        for number in range(rounds):
            for who, call in calls.items():
                taken = seconds_each(partial(again, call, same))
                times.setdefault(("host, the same decode call", who), []).append(taken)
            if number % 10:
                continue  # SDPA plans anew for each length, for a tenth of a second in all
            for who in ("attndsl", "torch SDPA"):  # FlexAttention would compile anew
                taken = seconds_each(partial(longer, calls[who], (q, k, v), 129 + number * IN_A_ROW))
                times.setdefault(("host, a decode call with one key more", who), []).append(taken)
    return [(*what, statistics.median(taken), min(taken)) for what, taken in sorted(times.items(), reverse=True)]


def again(call: Callable[..., object], inputs: Inputs, _: int) -> object:
    """The same call, whatever its number."""
    return call(*inputs)


def longer(call: Callable[..., object], inputs: Inputs, first: int, number: int) -> object:
    """A call with so many keys, of those that there are."""
    q, k, v = inputs
    return call(q, k[:, :, : first + number], v[:, :, : first + number])


def seconds_each(call: Callable[[int], object]) -> float:
    """Seconds of Python of a call, the mean of IN_A_ROW."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    for number in range(IN_A_ROW):
        call(number)
    taken = time.perf_counter() - start
    torch.cuda.synchronize()
    return taken / IN_A_ROW


def first_rows(rounds: int) -> list[Row]:
    """The wait for a first output in new processes: with empty caches, and with those that a process before filled."""
    cold, warm = ({who: list[float]() for who in FIRSTS} for _ in range(2))
    for _ in range(rounds):
        for who, work in FIRSTS.items():
            with tempfile.TemporaryDirectory() as folder:
                cold[who].append(first(work, folder))
                warm[who] += [first(work, folder) for _ in range(2)]
    named = {"first output, empty caches": cold, "first output, cached": warm}
    return [
        (what, who, statistics.median(taken), min(taken)) for what, each in named.items() for who, taken in each.items()
    ]


def first(work: str, folder: str) -> float:
    """Seconds of a piece of Python in a new process, whose caches are in a folder."""
    caches: Mapping[str, str] = {name: str(Path(folder, name.lower())) for name in CACHES}
    for path in caches.values():
        Path(path).mkdir(mode=0o700, exist_ok=True)
    script, environment = FIRST.format(work=work), {**os.environ, **caches}
    output = subprocess.check_output([sys.executable, "-c", script], env=environment, cwd=ROOT)
    seconds: float = json.loads(output.splitlines()[-1])
    return seconds


SUITE = Study(
    title=f"Launches of {SPEC.name}, bf16, Hq = 32, Hkv = 8, D = 128: seconds",
    columns=COLUMNS,
    jobs=jobs,
    remarks=(
        f"Host: Python's time for a call with B = M = 1, N = 128; {IN_A_ROW} calls between two waits for the GPU.",
        "First output: from an import to an output, B = 1, M = N = 1024, in a process that has used the GPU.",
    ),
)
