"""Specs as modules: what is learned, what is held, and what the module says of itself."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch

import attndsl
import attndsl.nn
from attndsl.op import errors


def qkv(heads: int = 4) -> list[torch.Tensor]:
    random = torch.Generator().manual_seed(0)
    return [torch.randn(2, heads, 5, 8, generator=random) for _ in "qkv"]


def test_a_learned_input_is_a_parameter() -> None:
    given = torch.rand(4)
    attention = attndsl.nn.Attention("alibi", slope=given)
    assert [name for name, _ in attention.named_parameters()] == ["slope"]
    assert torch.equal(attention.state_dict()["slope"], given)
    o = attention(*qkv())
    assert torch.equal(o, attndsl.load("alibi")(*qkv(), given))
    o.square().sum().backward()
    slope = attention.slope
    assert isinstance(slope, torch.nn.Parameter)
    assert slope is not given
    assert slope.grad is not None


def test_it_says_what_it_is() -> None:
    assert repr(attndsl.nn.Attention("alibi", slope=torch.rand(4))) == (
        "Attention(alibi(q=…, k=…, v=…, slope=Parameter[4]))"
    )
    assert repr(attndsl.nn.Attention("sliding_window", window=128)) == (
        "Attention(sliding_window(q=…, k=…, v=…, window=128))"
    )
    slope = torch.nn.Buffer(torch.rand(4))
    assert "slope=Buffer[4]" in repr(torch.nn.Sequential(attndsl.nn.Attention("alibi", slope=slope)))


def test_a_parameter_may_be_shared_and_a_buffer_is_not_learned() -> None:
    slope = torch.nn.Parameter(torch.rand(4))
    attention = attndsl.nn.Attention("alibi", slope=slope)
    assert attention.slope is slope
    held = attndsl.nn.Attention("alibi", slope=torch.nn.Buffer(torch.rand(4), persistent=False))
    assert not [*held.parameters()]
    assert len([*held.buffers()]) == 1
    assert not held.state_dict()


def test_ints_are_held_as_a_buffer() -> None:
    op = attndsl.compile(
        """attention taken {
            dims M, N
            input  x     : f32[N]
            input  index : i64[M]
            output o     : f32[M]
            each i in M
            o[i] = x[index[i]]
        }"""
    )
    taken = attndsl.nn.Attention(op, index=torch.tensor([2, 0]))
    assert [*taken.state_dict()] == ["index"]
    assert taken(torch.tensor([1.0, 2.0, 3.0])).tolist() == [3, 1]


def test_a_call_may_say_anew_what_is_held() -> None:
    attention, (q, k, v) = attndsl.nn.Attention("sliding_window", window=2), qkv()
    op = attndsl.load("sliding_window")
    assert torch.equal(attention(q, k, v), op(q, k, v, window=2))
    assert torch.equal(attention(q, v=v, k=k, window=3), op(q, k, v, window=3))


def test_it_moves_copies_and_compiles_as_a_module_does() -> None:
    attention = attndsl.nn.Attention("alibi", slope=torch.rand(4))
    wanted = attention(*qkv())
    for other in (copy.deepcopy(attention), pickle.loads(pickle.dumps(attention))):
        assert other.slope is not attention.slope
        assert torch.equal(other(*qkv()), wanted)
    compiled = torch.compile(attention, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(*qkv()), wanted)
    attention.to("meta")
    assert attention(*(each.to("meta") for each in qkv())).device.type == "meta"


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(errors.UnknownArgument, match="has no argument slop, did you mean slope"):
        attndsl.nn.Attention("alibi", slop=torch.rand(4))
    with pytest.raises(errors.NotHeld, match=r"^slope is of type float: a module of alibi holds tensors"):
        attndsl.nn.Attention("alibi", slope=0.5)
    attention = attndsl.nn.Attention("alibi", slope=torch.rand(4))
    with pytest.raises(errors.TooManyInputs):
        attention(*qkv(), torch.rand(4))
    with pytest.raises(errors.GivenTwice):
        attention(*qkv(), q=torch.rand(4))
