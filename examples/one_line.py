"""A language model with compiled attention by one line: the same tokens as with its own, and the time of both.

    python examples/one_line.py

The model is a Mistral with random weights, which no network brings: grouped heads, a sliding window. It
continues a batch of prompts of different lengths, padded on the left. Exits with 1 where a token differs. Needs the
`demo` extra.
"""

from __future__ import annotations

import os

os.environ["HF_HUB_OFFLINE"] = "1"  # read when transformers is imported

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from transformers import MistralConfig, MistralForCausalLM
from transformers.utils import logging

from attndsl.integrations.transformers import register

PROMPTS = (2048, 512, 1024)
"""How many tokens each prompt has."""

NEW = 16
"""How many tokens are generated behind each."""

ROUNDS = 3
"""How often each model is timed; the median counts."""

LAYERS, WINDOW, VOCABULARY = 2, 256, 1024


def model(attention: str) -> Any:
    """The model with this attention; the weights are the same each time."""
    config = MistralConfig(
        vocab_size=VOCABULARY,
        hidden_size=128,
        intermediate_size=256,
        head_dim=32,
        num_hidden_layers=LAYERS,
        num_attention_heads=8,
        num_key_value_heads=2,
        sliding_window=WINDOW,
        eos_token_id=None,
        pad_token_id=0,
    )
    torch.manual_seed(0)
    made: Any = MistralForCausalLM._from_config(config, attn_implementation=attention).eval()
    for name, weight in made.named_parameters():
        if name.endswith(("q_proj.weight", "k_proj.weight")):
            torch.nn.init.normal_(weight, std=0.15)  # so that a query tells keys apart
    return made


def prompts() -> dict[str, torch.Tensor]:
    """Random tokens, padded on the left to the longest."""
    ids = torch.randint(2, VOCABULARY, (len(PROMPTS), max(PROMPTS)))
    mask = torch.arange(max(PROMPTS)) >= max(PROMPTS) - torch.tensor(PROMPTS)[:, None]
    return {"input_ids": ids.masked_fill(~mask, 0), "attention_mask": mask.long()}


def medians(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
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


@torch.inference_mode()
def main() -> int:
    """Runs the comparison; 0 where all tokens are the same."""
    console = Console()
    logging.set_verbosity_error()
    console.print(f"A Mistral of {LAYERS} layers, whose window is {WINDOW} tokens …")

    register()  # the one line
    models = {"stock": model("sdpa"), "attndsl": model("attndsl")}

    given = prompts()
    lengths = " + ".join(map(str, PROMPTS))
    console.print(f"Continuing {len(PROMPTS)} prompts of {lengths} tokens, padded on the left, by {NEW} …")

    def read(name: str) -> torch.Tensor:
        logits: torch.Tensor = models[name](**given, logits_to_keep=1).logits
        return logits

    def generate(name: str) -> torch.Tensor:
        tokens: torch.Tensor = models[name].generate(**given, max_new_tokens=NEW, do_sample=False)
        return tokens[:, max(PROMPTS) :]

    stock, ours = (generate(name) for name in models)
    same = int((stock == ours).sum())
    console.print(f"Tokens that are the same: {same} of {stock.numel()}, of which {len(stock.unique())} are different")

    console.print(f"Timing {ROUNDS} rounds …")
    table = Table(title="Median time", title_justify="left")
    table.add_column("")
    for name in models:
        table.add_column(name, justify="right")
    for title, call in (("reading the prompts", read), (f"reading them, and {NEW} tokens", generate)):
        seconds = medians({name: partial(call, name) for name in models})
        table.add_row(title, *(f"{seconds[name] * 1e3:.0f} ms" for name in models))
    console.print(table)
    return 0 if same == stock.numel() else 1


if __name__ == "__main__":
    sys.exit(main())
