"""The server of examples/ on a real GPU, where its steps are CUDA graphs: `make test-gpu`."""

from __future__ import annotations

import pytest
import torch

import serving
from serving_engine import Engine
from serving_model import Config, Model
from serving_pages import Pages
from serving_scheduler import Batch, Request

pytestmark = pytest.mark.gpu


def test_every_token_is_that_of_the_dense_computation(capsys: pytest.CaptureFixture[str]) -> None:
    assert serving.main(["--requests", "40", "--device", "cuda"]) == 0, capsys.readouterr().out


@torch.inference_mode()
def test_a_step_allocates_no_output_and_compiles_nothing() -> None:
    """What it does allocate, for the numbers that the host brings, is free again after it."""
    pages = Pages(8, 16)
    engine = Engine(Model(Config()).cuda(), pages, 2, (8,), torch.device("cuda"))
    request = Request([1, 2, 3], wanted=40)
    compiled = engine.op.compilations
    held = []
    for _ in range(40):
        count = request.pending
        batch = Batch([request], [count], pages.append(request.cache, count))
        request.tokens += engine.step(batch)
        held.append(torch.cuda.memory_allocated())
    assert len({*held[1:]}) == 1
    assert engine.op.compilations == compiled > 0
