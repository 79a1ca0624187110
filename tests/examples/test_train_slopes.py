"""The model of examples/train_slopes.py, in the ways that a model is trained: each gives the same gradients."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from train_slopes import Model, models

EXAMPLES = Path(__file__).parents[2] / "examples"
CHARACTERS = 20
TEXT = torch.randint(CHARACTERS, (4, 33), generator=torch.Generator().manual_seed(0))

PROCESS = f"""
import os
import sys

import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel
from train_slopes import models

folder, rank = sys.argv[1], int(sys.argv[2])
torch.set_num_threads(1)
distributed.init_process_group("gloo", init_method=f"file://{{folder}}/store", rank=rank, world_size=2)
model = models({CHARACTERS})["spec, learned"]
parallel = DistributedDataParallel(model)
parallel(torch.load(f"{{folder}}/text")[rank::2]).backward()
torch.save([parameter.grad for parameter in model.parameters()], f"{{folder}}/{{rank}}")
distributed.barrier()  # neither leaves while the other is still connected to it
distributed.destroy_process_group()
os._exit(0)  # threads of gloo outlive the group: one that drops a tensor while Python ends would abort the process
"""
"""One of two processes, each of which is given half of the lines."""


def learned() -> Model:
    return models(CHARACTERS)["spec, learned"]


def gradients(model: nn.Module, loss: torch.Tensor) -> Sequence[torch.Tensor]:
    return torch.autograd.grad(loss, list(model.parameters()))


@pytest.fixture(scope="module")
def expected() -> Sequence[torch.Tensor]:
    model = learned()
    return gradients(model, model(TEXT))


def test_slopes_and_sinks_are_reached(expected: Sequence[torch.Tensor]) -> None:
    names = [name for name, _ in learned().named_parameters()]
    reached = [grad for name, grad in zip(names, expected, strict=True) if name.endswith(("slope", "sink"))]
    assert len(reached) == 4
    assert all((grad != 0).all() for grad in reached)


def test_without_them_the_gradients_are_those_of_torch() -> None:
    stock, plain, _ = models(CHARACTERS).values()
    torch.testing.assert_close(gradients(plain, plain(TEXT)), gradients(stock, stock(TEXT)))


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpointing(expected: Sequence[torch.Tensor], reentrant: bool) -> None:
    """What a block saves is computed again in the backward."""
    model = learned()
    for block in model.blocks:
        block.forward = partial(checkpoint, block.forward, use_reentrant=reentrant)
    loss = model(TEXT)
    loss.backward()
    torch.testing.assert_close([parameter.grad for parameter in model.parameters()], expected)


def test_compiled(expected: Sequence[torch.Tensor]) -> None:
    model = learned()
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(gradients(model, compiled(TEXT)), expected)


def test_two_processes(expected: Sequence[torch.Tensor], tmp_path: Path) -> None:
    """Gradients that they average are those of all lines at once."""
    torch.save(TEXT, tmp_path / "text")
    processes = [
        subprocess.Popen([sys.executable, "-c", PROCESS, str(tmp_path), str(rank)], cwd=EXAMPLES) for rank in range(2)
    ]
    assert [process.wait() for process in processes] == [0, 0]
    for rank in range(2):
        torch.testing.assert_close(torch.load(tmp_path / str(rank)), expected)
