"""A small language-model server: continuous batching over a paged cache, with attention that a spec describes.

    python examples/serving.py

Hundreds of requests come at random times and share a few long prefixes. Each step computes chunks of prefills and
decodes together: in each layer one call of the operator of append_ragged.attn, which puts their keys into the cache,
too. The same requests are served once more with keys gathered for torch's attention. Every token is compared with the
dense computation of its request; exits with 1 where one differs. Takes a GPU where there is one, and the `torch` extra.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from serving_engine import Engine
from serving_gather import GatherEngine
from serving_model import Config, Model
from serving_pages import Pages
from serving_scheduler import Request, Scheduler, Tally

REQUESTS = 200
SEATS = 32
SIZES = (8, 16, 32, 64, 96, 128)
"""How many requests are served at once, and how many tokens a step may compute; few sizes, as each is prepared."""

PAGES, PAGE = 200, 16
"""The cache: so many pages of so many keys, which are fewer than the requests would like to have at once."""

PREFIXES = (500, 790, 350)
"""How many tokens the prefixes have that requests share; none fills its last page."""

OWN, WANTED = (4, 60), (8, 40)
"""The least and most tokens that a prompt has after its prefix, and that are generated."""

RATE = 1.2
"""Requests that come in a step, on average."""

SEED = 0


@dataclass
class Served:
    """What a server has done: the tokens of each request, in their order, and how long its steps took."""

    generated: list[list[int]]
    seconds: list[float] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)


def draw_requests(number: int, vocabulary: int) -> list[Request]:
    """Requests with random tokens; time is counted in steps, so that each run is the same."""
    draw = random.Random(SEED)

    def tokens(count: int) -> list[int]:
        return [draw.randrange(vocabulary) for _ in range(count)]

    prefixes = [tokens(count) for count in PREFIXES]
    made, now = [], 0.0
    for _ in range(number):
        now += draw.expovariate(RATE)
        prefix = draw.choice(prefixes)
        prompt = prefix + tokens(draw.randint(*OWN))
        made.append(Request(prompt, draw.randint(*WANTED), arrival=int(now), shared=len(prefix)))
    return made


def serve(engine: Engine, requests: Sequence[Request], progress: Progress, title: str) -> Served:
    """Serves all requests, each from the step on at which it arrives."""
    scheduler = Scheduler(engine.pages, engine.seats, engine.sizes[-1])
    coming = deque(sorted(requests, key=lambda request: request.arrival))
    served = Served([], tally=scheduler.tally)
    bar = progress.add_task(title, total=len(requests), note="")
    now = 0
    while coming or scheduler.waiting or scheduler.running:
        while coming and coming[0].arrival <= now:
            scheduler.submit(coming.popleft())
        now += 1
        start = time.perf_counter()
        batch = scheduler.schedule()
        if not batch.requests:
            continue
        ready = scheduler.advance(batch, engine.step(batch))
        served.seconds.append(time.perf_counter() - start)
        served.rows.append(batch.rows)
        pages = len(engine.pages.owners) - engine.pages.free
        rate = sum(served.rows) / sum(served.seconds)
        note = f"{len(batch.requests):2} running, {pages:3} pages, {rate:5.0f} tokens/s"
        progress.update(bar, advance=len(ready), note=note)
    served.generated = [request.generated for request in requests]
    return served


def dense(model: Model, requests: Sequence[Request], device: torch.device, progress: Progress) -> list[list[int]]:
    """What the dense computation says after each token of requests that were served.

    Where it says what was generated it would itself have generated that, token by token.
    """
    bar = progress.add_task("dense", total=len(requests), note="")
    said = []
    for request in requests:
        following = model.following_dense(torch.tensor(request.tokens[:-1], device=device))
        said.append(following[len(request.prompt) - 1 :].tolist())
        progress.advance(bar)
    return said


def same(generated: Sequence[Sequence[int]], expected: Sequence[Sequence[int]]) -> int:
    """How many tokens of all requests are as expected."""
    pairs = zip(generated, expected, strict=True)
    return sum(one == other for ours, theirs in pairs for one, other in zip(ours, theirs, strict=True))


def report(servers: dict[str, Served], expected: Sequence[Sequence[int]]) -> Table:
    """What each server gave, and took."""
    table = Table()
    for title in ("", "as dense", "generated/s", "computed/s", "median step", "all steps"):
        table.add_column(title, justify="right" if title else "left", no_wrap=True)
    for name, served in servers.items():
        seconds, generated = sum(served.seconds), sum(map(len, served.generated))
        table.add_row(
            name,
            f"{same(served.generated, expected)} of {generated}",
            f"{generated / seconds:.0f}",
            f"{sum(served.rows) / seconds:.0f}",
            f"{statistics.median(served.seconds) * 1e3:.1f} ms",
            f"{seconds:.1f} s",
        )
    return table


@torch.inference_mode()
def main(arguments: Sequence[str] | None = None) -> int:
    """Serves the requests with each engine; 0 where each token is that of the dense computation."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--requests", type=int, default=REQUESTS)
    found = "cuda" if torch.cuda.is_available() else "cpu"
    parser.add_argument("--device", choices=sorted({"cpu", found}), default=found)
    given = parser.parse_args(arguments)
    if given.requests < 1:
        parser.error("--requests is at least 1")
    console = Console(highlight=False, soft_wrap=True)
    config, device = Config(), torch.device(given.device)
    torch.set_num_threads(1)  # a step of so small a model is too short for more
    torch.manual_seed(SEED)
    model = Model(config).to(device).eval()
    console.print(
        f"{given.requests} requests, up to {SEATS} at once, on {PAGES} pages of {PAGE} keys, on {device}: "
        f"{config.layers} layers, {config.heads} heads that share the keys of {config.kv_heads} …"
    )

    columns = (
        TextColumn("{task.description:>7}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
    )
    servers: dict[str, Served] = {}
    with Progress(*columns, console=console) as progress:
        for name, kind in {"gather": GatherEngine, "attndsl": Engine}.items():
            requests = draw_requests(given.requests, config.vocabulary)
            engine = kind(model, Pages(PAGES, PAGE), SEATS, SIZES, device)
            servers[name] = serve(engine, requests, progress, name)
        expected = dense(model, requests, device, progress)

    prompts, different = sum(len(request.prompt) for request in requests), len({*chain(*expected)})
    served = servers["attndsl"]
    tally = served.tally
    console.print(
        f"{prompts} tokens of prompts, {sum(map(len, expected))} generated, {different} different ones, "
        f"in {len(served.rows)} steps of up to {max(served.rows)}.\n"
        f"{tally.forked} requests began on the pages of a prefix; {tally.copied} pages were copied before a write, "
        f"{tally.evicted} prefixes evicted,\n{tally.preempted} requests preempted; "
        f"at most {tally.most_pages} pages were in use."
    )
    console.print(report(servers, expected))
    right = all(each.generated == expected for each in servers.values())
    if not right:
        console.print("[red]There are tokens that the dense computation does not give.[/red]")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
