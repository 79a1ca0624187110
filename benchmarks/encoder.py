"""How fast the compiled operator is on the CPU, beside torch's scaled_dot_product_attention."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from rich.progress import track
from torch.nn.functional import scaled_dot_product_attention

import attndsl
from attndsl.bench.machine import ROOT
from attndsl.bench.results import Column, Results, milliseconds, of_milliseconds
from benchmarks.timing import in_turns
from benchmarks.truth import verify

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROUNDS = 15
THREADS = torch.get_num_threads()

COLUMNS = (
    Column("work"),
    Column("B"),
    Column("H"),
    Column("N"),
    Column("D"),
    Column("attndsl", of_milliseconds),
    Column("SDPA on 1", of_milliseconds),
    Column("SDPA on all", of_milliseconds),
    Column("ratio to 1", "{:.2f}".format),
    Column("ratio to all", "{:.2f}".format),
)


@dataclass(frozen=True)
class Work:
    """A shape and the spec that says what is computed with it; `padded` gives the spec a mask of keys."""

    name: str
    spec: str
    shape: tuple[int, int, int, int]
    causal: bool = False
    padded: bool = False

    def data(self) -> dict[str, torch.Tensor]:
        """Fresh inputs of the operator."""
        batch, _, n, _ = self.shape
        x = {name: torch.randn(self.shape) for name in "qkv"}
        if self.padded:
            x["valid"] = torch.arange(n) < torch.randint(1, n + 1, (batch, 1))
        return x

    def peer(self, x: dict[str, torch.Tensor], threads: int) -> torch.Tensor:
        """The same by torch."""
        torch.set_num_threads(threads)
        mask = x["valid"][:, None, None] if self.padded else None
        return scaled_dot_product_attention(x["q"], x["k"], x["v"], attn_mask=mask, is_causal=self.causal)


WORKS = (
    Work("encoder, padded", "encoder", (1, 12, 32, 32), padded=True),
    Work("encoder, padded", "encoder", (12, 12, 32, 32), padded=True),
    Work("encoder, padded", "encoder", (32, 12, 128, 32), padded=True),
    Work("encoder, padded", "encoder", (4, 12, 512, 32), padded=True),
    Work("prefill, full", "mha", (1, 8, 1024, 64)),
    Work("prefill, causal", "causal_end", (1, 8, 1024, 64), causal=True),
)
SMALLEST = (Work("encoder, padded", "encoder", (2, 2, 8, 16), padded=True),)


def run(*, smallest: bool = False) -> Results:
    """Times every shape once its output is right."""
    torch.manual_seed(0)
    rounds = 2 if smallest else ROUNDS
    return Results(
        title="Attention on the CPU, f32, beside torch's scaled_dot_product_attention, milliseconds",
        columns=COLUMNS,
        rows=[measure(work, rounds) for work in track(SMALLEST if smallest else WORKS, "encoder")],
        remarks=(
            f"Medians of {rounds} rounds in turns, each on fresh data. A ratio is SDPA's time over attndsl's.",
            f"Both take torch tensors. attndsl computes on one thread; torch on one, and on all {THREADS}.",
        ),
        draw=draw,
    )


def measure(work: Work, rounds: int) -> tuple[Any, ...]:
    """A row of the table."""
    op = attndsl.load(ROOT / "examples" / f"{work.spec}.attn")
    with torch.inference_mode():
        data = [work.data() for _ in range(rounds)]
        calls: dict[str, Callable[[dict[str, torch.Tensor]], torch.Tensor]] = {
            "attndsl": lambda x: op(**x),
            "SDPA on 1": lambda x: work.peer(x, 1),
            "SDPA on all": lambda x: work.peer(x, THREADS),
        }
        for call in calls.values():
            x = {name: tensor.numpy() for name, tensor in data[0].items()}
            valid = x.pop("valid")[:, None, None] if work.padded else True
            verify(call(data[0]).numpy(), **x, causal=work.causal, valid=valid)
        times = in_turns(calls, data)
    ours, one, all_ = (milliseconds(statistics.median(taken)) for taken in times.values())
    return (work.name, *work.shape, ours, one, all_, round(one / ours, 3), round(all_ / ours, 3))


def draw(axes: Axes, rows: list[tuple[Any, ...]]) -> None:
    """Two bars a shape, as long as SDPA's times are multiples of ours."""
    labels = [f"{name}\nB={b}, H={h}, N={n}, D={d}" for name, b, h, n, d, *_ in rows]
    for column, shift, color, label in ((-2, -0.2, "tab:blue", "on one thread"), (-1, 0.2, "tab:gray", "on all")):
        ratios = [row[column] for row in rows]
        bars = axes.barh([n + shift for n in range(len(rows))], ratios, height=0.38, color=color, label=label)
        axes.bar_label(bars, [f"{ratio:.2f}" for ratio in ratios], padding=3, fontsize="small")
    axes.set_yticks(range(len(rows)), labels)
    axes.legend(title="SDPA", loc="upper right", bbox_to_anchor=(0.97, 1))
    axes.axvline(1, color="black", linewidth=0.8)
    axes.invert_yaxis()
    axes.tick_params(axis="y", labelsize="small")
    axes.set_xlabel("SDPA's time / attndsl's time: beyond the line attndsl is faster")
