"""How long torch knows an operator: as long as an op, or a graph, has it."""

from __future__ import annotations

import gc
from typing import Any, Literal

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

import attndsl
from attndsl.op import torch_op

SUM = """attention {name} {{
    dims M, N
    input  x : f32[M, N]
    output o : f32[M]
    each i in M
    over j in N
    o[i] = sum(x[i,j])
}}
"""


def known(key: str) -> bool:
    return bool(torch._C._dispatch_has_kernel(f"attndsl::{key}"))


def total(name: str) -> Any:
    return attndsl.compile(SUM.format(name=name))


def test_dropped_ops_are_unregistered() -> None:
    gc.collect()
    before, keys = {*torch_op._known}, []
    for number in range(12):
        op = total(f"dropped_{number}")
        assert known(op.key) and known(f"{op.key}_out")
        keys.append(op.key)
        if number % 10 == 0:  # what makes its gradients goes with it
            x = torch.ones(2, 3, requires_grad=True)
            op(x).sum().backward()
            assert len({*torch_op._known} - before) >= 2
            del x
    del op
    gc.collect()
    assert {*torch_op._known} == before
    assert not any(map(known, keys))
    assert not any(hasattr(torch.ops.attndsl, key) for key in keys)


def test_an_op_that_is_dropped_can_be_made_again() -> None:
    for _ in range(2):
        op = total("again")
        assert op(torch.ones(2, 3)).tolist() == [3, 3]
        assert getattr(torch.ops.attndsl, op.key)(torch.ones(2, 3)).tolist() == [3, 3]
        del op
        gc.collect()


def test_ops_of_one_meaning_share_an_operator_until_the_last_is_dropped() -> None:
    one, other = total("shared"), attndsl.compile("# said\n" + SUM.format(name="shared"))
    assert one.key == other.key
    del one
    gc.collect()
    assert known(other.key)


@pytest.mark.parametrize("mode", ["real", pytest.param("fake", marks=pytest.mark.matrix)])
def test_what_a_graph_names_stays(mode: Literal["real", "fake"]) -> None:
    op = total(f"named_{mode}")
    graph, key = make_fx(op, tracing_mode=mode)(torch.ones(2, 3)), op.key
    del op
    gc.collect()
    assert graph(torch.ones(2, 3)).tolist() == [3, 3]
    assert total(f"named_{mode}").key == key  # and is the one of an op that is made later
    gc.collect()
    assert graph(torch.ones(2, 3)).tolist() == [3, 3]


@pytest.mark.parametrize("part", ["operator", "packet"])
def test_what_somebody_holds_stays(part: str) -> None:
    op = total(f"held_{part}")
    held = getattr(torch.ops.attndsl, op.key)
    if part == "operator":
        held = held.default
    del op
    gc.collect()
    assert held(torch.ones(2, 3)).tolist() == [3, 3]
