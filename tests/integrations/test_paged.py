"""Continuous batching: requests side by side over a paged cache."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import ContinuousBatchingConfig, GenerationConfig

from attndsl.integrations.transformers import register
from attndsl.integrations.transformers.masks import KeyRows
from attndsl.integrations.transformers.paged import knows_requests, read_pages
from tests.integrations.tiny import DECODERS


class Gathered:
    """A cache whose keys are there."""

    def __init__(self, keys: torch.Tensor) -> None:
        self.keys = keys

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, layer_idx: int, kwargs: dict[str, Any]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The keys of all requests; transformers chooses those of the layer's kind as it updates."""
        kwargs["cu_seq_lens_k"] = kwargs["cu_seq_lens_k"]["kind"]
        return self.keys, 2 * self.keys


@pytest.mark.parametrize("window", [None, 1, 3])
@pytest.mark.parametrize(
    ("queries", "keys"),
    [([3, 1, 4], [3, 6, 7]), ([1], [1]), ([2, 0, 0], [5, 0, 0]), ([0, 3, 0, 1], [0, 3, 0, 9])],
)
def test_who_sees_the_keys_of_requests(queries: list[int], keys: list[int], window: int | None) -> None:
    """Where a call is filled up to a fixed size, what is behind the requests sees nothing and is not seen."""
    ends = {name: [0, *torch.tensor(sizes).cumsum(0).tolist()] for name, sizes in (("q", queries), ("k", keys))}
    seen = torch.zeros(ends["q"][-1] + 2, ends["k"][-1] + 3, dtype=torch.bool)
    for (first, end), (begin, stop) in zip(pairwise(ends["q"]), pairwise(ends["k"]), strict=True):
        for i in range(first, end):
            own = stop - (end - i)  # the key at the query's place
            seen[i, begin if window is None else max(begin, own - window + 1) : own + 1] = True
    numbers = {name: torch.tensor(places, dtype=torch.int32) for name, places in ends.items()}
    given = {"cu_seq_lens_q": numbers["q"], "cu_seq_lens_k": {"kind": numbers["k"]}, "sliding_window": window}
    cache = Gathered(torch.zeros(1, 1, seen.shape[1], 4))
    assert knows_requests(cache, given)
    layer: Any = SimpleNamespace(layer_idx=0)
    new = torch.zeros(1, 1, seen.shape[0], 4)
    found = read_pages(layer, cache, new, new, given)
    mask = KeyRows.of(found["since"], found["until"], (1, 1, *seen.shape), new.device)
    assert torch.equal(mask.dense()[0, 0], seen)
    assert found["k"] is cache.keys
    given["cu_seq_lens_k"] = {"kind": numbers["k"]}
    found = read_pages(layer, cache, new, new, given, start=True)
    since, until, start = (found[name][0] for name in ("since", "until", "start"))
    rows = torch.arange(seen.shape[0])[:, None]
    assert torch.equal((since <= rows) & (start <= rows) & (rows < until), seen)
    for (first, end), (begin, stop) in zip(pairwise(ends["q"]), pairwise(ends["k"]), strict=True):
        far = torch.arange(first, end)[:, None] - since[begin:stop]  # of the last query the last key is its own
        assert torch.equal(far[-1:], torch.arange(stop - begin).flip(0)[None][: end - first])


@pytest.mark.matrix
def test_a_mask_of_distances() -> None:
    """A window that the model does not have, over pages."""
    register(name="near", mask="far < 5")
    prompts = [torch.randint(3, 64, (n,), generator=torch.Generator().manual_seed(n)).tolist() for n in (5, 9, 1, 13)]
    asked = GenerationConfig(max_new_tokens=8, do_sample=False, eos_token_id=63, pad_token_id=0)
    model = DECODERS["llama"].make("near")
    wanted = [model.generate(torch.tensor([prompt]), generation_config=asked)[0, len(prompt) :] for prompt in prompts]
    size = ContinuousBatchingConfig(num_blocks=64, page_size=4, max_batch_tokens=12)
    found = (
        DECODERS["llama"].make("near").generate_batch(prompts, generation_config=asked, continuous_batching_config=size)
    )
    requests = sorted(found.values(), key=lambda each: int(each.request_id.rpartition("_")[2]))
    assert [each.generated_tokens for each in requests] == [tokens.tolist() for tokens in wanted]


@pytest.mark.matrix
@pytest.mark.parametrize("name", ["llama", "mistral", "qwen3", "gemma2", "gemma3", "gpt_oss"])
def test_models(name: str) -> None:
    """Prompts of several lengths, some in chunks beside others that decode, give the tokens that each gives alone."""
    own, ours = DECODERS[name].pair()
    numbers = torch.Generator().manual_seed(0)
    prompts = [torch.randint(3, 64, (n,), generator=numbers).tolist() for n in (5, 9, 1, 13, 7, 3)]
    asked = GenerationConfig(max_new_tokens=8, do_sample=False, eos_token_id=63, pad_token_id=0)
    wanted = [own.generate(torch.tensor([prompt]), generation_config=asked)[0, len(prompt) :] for prompt in prompts]
    size = ContinuousBatchingConfig(num_blocks=64, page_size=4, max_batch_tokens=12)
    found = ours.generate_batch(prompts, generation_config=asked, continuous_batching_config=size)
    requests = sorted(found.values(), key=lambda each: int(each.request_id.rpartition("_")[2]))
    assert [each.generated_tokens for each in requests] == [tokens.tolist() for tokens in wanted]
