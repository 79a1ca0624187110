"""DTensor: a call is sharded along what is independent, and gives what it gives on one device."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FAKE = """
import torch, torch.distributed as dist, attndsl
from torch.testing._internal.distributed.fake_pg import FakeStore
first = attndsl.load("gqa")  # before DTensor is imported
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard

dist.init_process_group("fake", rank=0, world_size=4, store=FakeStore())
line, square = init_device_mesh("cpu", (4,)), init_device_mesh("cpu", (2, 2))

def placed(op, mesh, places, heads, groups):
    shapes = [(4, heads, 5, 8), (4, groups, 7, 8), (4, groups, 7, 8)]
    whole = [torch.zeros(shape) for shape in shapes]
    same = [DTensor.from_local(t, mesh, [Replicate()] * mesh.ndim) for t in whole]
    parts = [t.redistribute(mesh, at) for t, at in zip(same, places)]
    o = op(*parts)
    assert o.shape == (4, heads, 5, 8)
    return list(o.placements)

batch, heads, rows, all_ = Shard(0), Shard(1), Shard(2), Replicate()
gqa, mqa, mha = first, attndsl.load("mqa"), attndsl.load("mha")
assert placed(gqa, line, [[batch]] * 3, 4, 2) == [batch]
assert placed(gqa, line, [[heads]] * 3, 8, 4) == [heads]
assert placed(gqa, line, [[heads], [all_], [all_]], 4, 2) == [all_]  # of two groups, four devices have no parts
assert placed(gqa, square, [[batch, heads]] * 3, 8, 4) == [batch, heads]
assert placed(gqa, square, [[heads, heads]] * 3, 12, 6) != [heads, heads]  # nor of six
assert placed(mha, line, [[rows], [all_], [all_]], 4, 4) in ([rows], [all_])
dist.destroy_process_group()
"""

GLOO = """
import os, sys, torch, torch.distributed as dist, attndsl
import torch.multiprocessing as mp

def work(rank, path):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{path}", rank=rank, world_size=2)
    mesh, op = init_device_mesh("cpu", (2,)), attndsl.load("gqa")
    random = torch.Generator().manual_seed(0)
    given = [torch.randn(3, heads, 5, 8, generator=random) for heads in (4, 2, 2)]
    alone = [t.clone().requires_grad_() for t in given]
    wanted = op(*alone)
    wanted.square().sum().backward()
    for one, two in ((Shard(0), Shard(0)), (Shard(1), Shard(1)), (Shard(2), Replicate()), (Shard(0), Shard(1))):
        parts = [distribute_tensor(t, mesh, [at]).requires_grad_() for t, at in zip(given, (one, two, two))]
        o = op(*parts)
        torch.testing.assert_close(o.full_tensor(), wanted)
        o.square().sum().backward()
        for part, each in zip(parts, alone):
            torch.testing.assert_close(part.grad.full_tensor(), each.grad)
        if one == two:
            assert list(o.placements) == [one]
    dist.barrier()  # neither leaves while the other is still connected to it
    dist.destroy_process_group()
    os._exit(0)  # threads of gloo outlive the group: one that drops a tensor while Python ends would abort the process

if __name__ == "__main__":
    mp.spawn(work, args=(sys.argv[1],), nprocs=2)
"""


def test_what_is_independent_stays_where_it_is() -> None:
    subprocess.run([sys.executable, "-c", FAKE], check=True)


@pytest.mark.matrix
def test_devices_give_together_what_one_gives(tmp_path: Path) -> None:
    """With gradients; the batch has three of which one device gets one."""
    program = tmp_path / "program.py"
    program.write_text(GLOO)
    subprocess.run([sys.executable, program, tmp_path / "store"], check=True)
