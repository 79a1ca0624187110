"""A small language model of characters, trained with attention whose slopes and sinks are learned.

    python examples/train_slopes.py

Trains one model three times, from the same weights on the same text, the documents of this project: with attention of
torch, with `SPEC` without its slopes and sinks, which is the same function, and with both as parameters. Prints the
losses side by side, what a step takes, and the slopes that were learned as bars. Exits with 1 where the losses of the
first two are not within `TOLERANCE` of each other. Needs the `torch` extra.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from pathlib import Path

import torch
from rich.console import Console
from torch import nn
from torch.nn import functional

import attndsl

SPEC = """
attention learned_slopes {
    dims B, H, N, D
    types T

    input  q     : T[B, H, N, D]
    input  k     : T[B, H, N, D]
    input  v     : T[B, H, N, D]
    input  slope : T[H] = 0.0
    input  sink  : T[H] = -inf
    output o     : T[B, H, N, D]

    each b in B, h in H, i in N
    over j in N

    score = q[b,h,i,:] . k[b,h,j,:] / sqrt(D) - slope[h] * (i - j)
    mask  = j <= i

    o[b,h,i,:] = softmax(score, mask, sink = sink[h]) . v[b,h,j,:]
}
"""

ROOT = Path(__file__).parents[1]

LAYERS, HEADS, FEATURES, LENGTH, BATCH = 2, 4, 16, 128, 16
WIDTH = HEADS * FEATURES

RATE = 2e-3
"""The learning rate of AdamW."""

SEED = 1

STEPS = 240
"""How many are taken; `--steps` says otherwise. What rounding moves grows with each, to where it would be printed."""

TOLERANCE = 1e-4
"""How far apart two losses may be that differ by the order of float32 sums alone."""

ROWS = 8
"""Lines of the table of losses."""

BAR = 40
"""Characters of the longest bar."""


class StockAttention(nn.Module):
    """Causal attention of torch."""

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """Query, key and value [B, H, N, D] -> [B, H, N, D]."""
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True)


class SpecAttention(nn.Module):
    """`SPEC`; without its slopes and sinks it is causal attention."""

    def __init__(self, op: Callable[..., torch.Tensor], learned: bool) -> None:
        super().__init__()
        self.op = op
        self.learned = nn.ParameterDict({name: torch.zeros(HEADS) for name in ("slope", "sink") if learned})

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """Query, key and value [B, H, N, D] -> [B, H, N, D]."""
        return self.op(q=q, k=k, v=v, **self.learned)


class Block(nn.Module):
    """A layer: attention, then two linear maps, each of what is normed and added to what there was."""

    def __init__(self, attention: nn.Module) -> None:
        super().__init__()
        self.attention = attention
        self.first_norm, self.second_norm = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """States [B, N, WIDTH] -> [B, N, WIDTH]."""
        q, k, v = self.qkv(self.first_norm(x)).unflatten(-1, (3, HEADS, FEATURES)).permute(2, 0, 3, 1, 4)
        attended: torch.Tensor = self.attention(q, k, v)
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        mapped: torch.Tensor = self.mlp(self.second_norm(x))
        return x + mapped


class Model(nn.Module):
    """A model of the next character; of places it is told by attention alone."""

    def __init__(self, characters: int, attention: Callable[[], nn.Module]) -> None:
        super().__init__()
        self.embedding = nn.Embedding(characters, WIDTH)
        self.blocks = nn.ModuleList(Block(attention()) for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, characters, bias=False)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        """The mean loss of all characters of a text, int64 [B, N + 1], but the first of each line."""
        x = self.embedding(text[:, :-1])
        for block in self.blocks:
            x = block(x)
        return functional.cross_entropy(self.head(self.norm(x)).flatten(0, 1), text[:, 1:].flatten())


class Training:
    """A model that is trained, the losses of its steps, and the seconds that they took."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
        self.losses: list[float] = []
        self.seconds: list[float] = []

    def step(self, text: torch.Tensor) -> None:
        """A step on a batch of text."""
        start = time.perf_counter()
        self.optimizer.zero_grad()
        loss = self.model(text)
        loss.backward()
        self.optimizer.step()
        self.seconds.append(time.perf_counter() - start)
        self.losses.append(loss.item())


def documents() -> tuple[torch.Tensor, int]:
    """The project's documents, one after the other, as numbers of characters, and how many different ones there are."""
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))))
    numbers = {character: number for number, character in enumerate(sorted(set(text)))}
    return torch.tensor([numbers[character] for character in text]), len(numbers)


def batch(text: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Lines of `LENGTH` + 1 characters from anywhere in a text, int64 [BATCH, LENGTH + 1]."""
    starts = torch.randint(len(text) - LENGTH, (BATCH, 1), generator=generator)
    return text[starts + torch.arange(LENGTH + 1)]


def models(characters: int) -> dict[str, Model]:
    """The model with each attention, from the same weights."""
    op = attndsl.compile(SPEC)
    attentions: dict[str, Callable[[], nn.Module]] = {
        "torch": StockAttention,
        "spec": lambda: SpecAttention(op, learned=False),
        "spec, learned": lambda: SpecAttention(op, learned=True),
    }
    made = {}
    for name, attention in attentions.items():
        torch.manual_seed(SEED)
        made[name] = Model(characters, attention)
    return made


def row(title: str, cells: Iterable[str]) -> str:
    """A line of the table of losses: a cell for each model."""
    return "".join([f"{title:>12}", *(f"{cell:>16}" for cell in cells)])


def drawing(model: Model) -> list[str]:
    """A bar for the slope of each head, dotted where scores rise with the distance, and the head's sink."""
    learned = [(name, value.tolist()) for name, value in model.named_parameters()]
    slopes, sinks = ([value for name, value in learned if name.endswith(part)] for part in ("slope", "sink"))
    scale = BAR / max(abs(slope) for layer in slopes for slope in layer)
    lines = []
    for layer, head in product(range(LAYERS), range(HEADS)):
        slope, sink = slopes[layer][head], sinks[layer][head]
        bar = ("█" if slope > 0 else "░") * round(scale * abs(slope))
        lines.append(f"layer {layer} head {head}  {bar:<{BAR}}  slope {slope:6.3f}  sink {sink:6.3f}")
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Trains the models; 0 where the losses agree."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--steps", type=int, default=STEPS)
    steps = parser.parse_args(arguments).steps
    if steps < 1:
        parser.error("--steps is at least 1")
    console = Console(highlight=False, soft_wrap=True)

    text, characters = documents()
    console.print(f"Training on {len(text)} characters, {characters} different ones …\n")
    trainings = {name: Training(model) for name, model in models(characters).items()}
    generator = torch.Generator().manual_seed(SEED)
    every = -(-steps // ROWS)
    console.print(row("loss at step", trainings))
    for step in range(1, steps + 1):
        lines = batch(text, generator)
        for training in trainings.values():
            training.step(lines)
        if step % every == 0:
            console.print(row(str(step), [f"{training.losses[-1]:.4f}" for training in trainings.values()]))
    medians = [statistics.median(training.seconds) for training in trainings.values()]
    console.print(row("ms of a step", [f"{seconds * 1e3:.1f}" for seconds in medians]))

    stock, plain, learned = trainings.values()
    difference = max(abs(a - b) for a, b in zip(stock.losses, plain.losses, strict=True))
    agree = difference < TOLERANCE
    sign = "<" if agree else "[red]is not below[/red]"
    console.print(f"\nLargest difference of a loss, torch and spec: {difference:.1e} {sign} {TOLERANCE:.0e}")
    console.print("\nSlopes, by which a score falls with each character of distance:\n")
    console.print("\n".join(drawing(learned.model)))
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
