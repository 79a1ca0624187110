"""What hypothesis draws: well-typed specs, over every construct, of which the simplest is plain."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings

from attndsl.checking.check import check
from attndsl.checking.evaluate import evaluate, with_defaults
from attndsl.checking.typed import Read, Spec
from attndsl.inputs import default_params
from attndsl.inputs.ranges import expressions
from attndsl.syntax.read import read_source
from attndsl.syntax.source import Source
from attndsl.testing.constructs import CONSTRUCTS, constructs
from attndsl.testing.drawn_specs import Drawn, specs

EXAMPLES = Path(__file__).parents[2] / "examples"

DRAWS = 300
"""So many that each construct has come several times."""


@cache
def drawn() -> tuple[tuple[Drawn, Spec], ...]:
    found = []

    @settings(
        derandomize=True,
        database=None,
        deadline=None,
        max_examples=DRAWS,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(specs())
    def collect(one: Drawn) -> None:
        found.append((one, check(one.source)))

    collect()
    return tuple(found)


@cache
def counted() -> Counter[str]:
    return Counter(name for _, spec in drawn() for name in constructs(spec))


def test_extents_meet_the_conditions_of_what_is_drawn() -> None:
    for one, spec in drawn():
        assert one.dims.keys() == set(spec.dims), one.text
        params = with_defaults(spec.params, one.dims, default_params(spec))
        assert all(evaluate(condition, one.dims, params) for condition in spec.requires), one


def test_whatever_is_declared_is_used() -> None:
    for one, spec in drawn():
        read = {expr.tensor.name for expr in expressions(*spec.blocks) if isinstance(expr, Read)}
        assert {tensor.name for tensor in spec.inputs if tensor.role == "input"} <= read, one.text


def test_most_draws_differ() -> None:
    assert len({one.text for one, _ in drawn()}) > 0.9 * DRAWS


def test_every_construct_is_drawn() -> None:
    assert [name for name in CONSTRUCTS if not counted()[name]] == []


def test_every_construct_has_a_name_of_its_own() -> None:
    assert len(set(CONSTRUCTS)) == len(CONSTRUCTS)
    assert counted().keys() <= set(CONSTRUCTS)


def test_the_simplest_attention_is_plain() -> None:
    simplest = find(
        specs(), lambda one: "softmax(score, mask)" in one.text, settings=settings(database=None, derandomize=True)
    )
    assert simplest.text == PLAIN
    assert set(simplest.dims.values()) == {1}


PLAIN = """\
attention drawn {
    dims B, H, M, D, N, E
    types T
    input q : T[B, H, M, D]
    input k : T[B, H, N, D]
    input v : T[B, H, N, E]
    output o : T[B, H, M, E]

    each b in B, h in H, i in M
    over j in N
    score = q[b, h, i, :] . k[b, h, j, :] / sqrt(D)
    mask = j <= i
    o[b, h, i, :] = softmax(score, mask) . v[b, h, j, :]
}
"""


@pytest.mark.parametrize(
    ("name", "used"),
    [
        ("mha", {"reduce softmax", "contraction", "type variable", "score =", "operator sqrt"}),
        ("gqa", {"index: quotient", "require", "definition: value", "mask: affine", "operator ile"}),
        ("paged_prefill", {"index: page table", "index: modulo", "rows: packed", "output index: of data"}),
        ("packed_ragged", {"keys: packed", "index: packed", "definition: function", "bound: found"}),
        ("mla_projections", {"contraction of a contraction", "definition: vector", "dot of a definition"}),
        ("int4_cache", {"operator ishr", "operator iand", "input of u8", "extent divided", "vector scaled"}),
        ("shared_prefix", {"vector by an if", "keys: ragged", "operator fselect"}),
        ("cache_and_new", {"choice: ranges of keys", "keys: sum of dims"}),
        ("neighbourhood_2d", {"two key axes", "rows of four variables", "comparison chain", "parameter: int"}),
        ("topk_sparse", {"index: gather"}),
        ("sinks", {"softmax with a sink", "sink of data"}),
        ("qk_clip", {"reduce max", "several outputs of a block", "output: number of a row"}),
        ("differential", {"output: several reductions", "several scores"}),
        ("tree_speculative", {"mask: or", "mask: data", "input of bool"}),
        ("f8_cache", {"input of f8e4m3"}),
        ("weights", {"weights at their keys", "several outputs of a block"}),
        ("indexer", {"temp that is read", "block without keys"}),
    ],
)
def test_what_the_gallery_uses(name: str, used: set[str]) -> None:
    found = constructs(check(read_source(EXAMPLES / f"{name}.attn")))
    assert used <= found <= set(CONSTRUCTS)


def test_what_a_spec_does_not_use_is_not_found() -> None:
    found = constructs(check(Source(PLAIN)))
    assert found == {
        *("type variable", "score =", "mask =", "reduce softmax", "contraction", "mask: affine"),
        *("operator ile", "operator fmul", "operator fdiv", "operator sqrt", "operator float"),
    }
