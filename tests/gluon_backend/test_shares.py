"""Consumers that share out the sums of a row: latent attention, in the interpreter, and what goes wrong there."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from attndsl.checking.check import check
from attndsl.checking.typed import Spec
from attndsl.driver.compile import compile_spec, lower
from attndsl.ir import roles, tile
from attndsl.ir.analyses.role_parts import NoRoles
from attndsl.ir.analyses.roled import roled
from attndsl.ir.context import context
from attndsl.ir.coroutines import RolesFail
from attndsl.ir.gathers import GatherOp
from attndsl.ir.interpret import SMALL_CHOICES, interpret
from attndsl.ir.machines import MACHINES
from attndsl.ir.rings import BoxesOp, RelayOp, RingOp
from attndsl.ir.xdsl import (
    ArrayAttr,
    IntegerAttr,
    ModuleOp,
    Operation,
    SSAValue,
    StringAttr,
    VerifyException,
    arith,
    index,
    scf,
)
from attndsl.passes.assign_roles import AssignRoles
from attndsl.syntax.source import Source
from attndsl.testing.case import Case, Disagreement, types_with

from .test_roles import EXTENTS, MASKS, SCORES, drawn, kernels, spec_of

LATENT, ROTARY = 512, 16

LATENTS = """
attention latents {{
    dims B, H, M, N, R
    types T
    input  q : T[B, H, M, R]
    input  c : T[B, N, R]
    {inputs}
    output o : T[B, H, M, R]
    each b in B, h in H, i in M
    over j in N
    score = q[b,h,i,:] . c[b,j,:] / 16
    {score}
}}
"""

OF_ONE_HEAD = LATENTS.replace("H, ", "").replace("h in ", "").replace("b,h,i", "b,i")
"""Rows that are side by side, so that queries are boxes."""

PLAIN = "o[b,{h}i,:] = softmax(score, j <= i + (N - M)) . c[b,j,:]"

SINKS = ("input  s : f32[H]", "o[b,h,i,:] = softmax(score, j <= i + (N - M), sink = s[h]) . c[b,j,:]")
LSE = (
    "output l : f32[B, H, M]",
    "o[b,h,i,:] = softmax(score, j <= i + (N - M)) . c[b,j,:]\n    l[b,h,i] = logsumexp(score, j <= i + (N - M))",
)
GATED = ("input  g : T[B, H, M, R]", "o[b,h,i,:] = g[b,h,i,:] * (softmax(score, j <= i + (N - M)) . c[b,j,:])")
NORMED = (
    "",
    "let x = softmax(score, j <= i + (N - M)) . c[b,j,:]\n    o[b,h,i,:] = x * rsqrt(x . x + 1.0)",
)

ROWS, KEYS = 3, 16


def written(inputs: str, score: str) -> Spec:
    return check(Source(LATENTS.format(inputs=inputs, score=score), "latents.attn"))


def shared(spec: Spec, **sizes: int) -> ModuleOp:
    """Both forms, with roles; each has a consumer that follows."""
    module, _ = lower(spec, types_with(spec, "bf16"), "triton", sizes, "cuda:90")
    AssignRoles(rows=ROWS, keys=KEYS).apply(context(), module)
    module.verify()
    found = kernels(module, "roles")
    assert found
    assert all(sum(op.follow is not None for op in each(kernel, roles.ConsumersOp)) == 1 for kernel in found)
    return module


@cache
def latent() -> ModuleOp:
    return shared(spec_of("mla_latent"), R=LATENT, P=ROTARY)


def each(within: Operation, kind: type[Operation], ring: str = "") -> list[Any]:
    found = [op for op in within.walk() if isinstance(op, kind)]
    return [op for op in found if not ring or op.ring.string_value() == ring]  # type: ignore[attr-defined]


def agrees(module: ModuleOp, case: Case, splits: int) -> None:
    """Raises Disagreement, or RolesFail; absent keys are poisoned or not."""
    for one in (case, case.poisoned()):
        choices = {**SMALL_CHOICES, "KEYS": KEYS, "SPLITS": splits}
        one.check("assign-roles", interpret(module, one.arrays, one.dims, one.params, choices), narrowed=True)


def of_latents(spec: Spec, seed: int, **dims: int) -> Case:
    few = {"B": 2, "H": 3, "R": LATENT, "P": ROTARY, **dims}
    return Case.make(spec, "bf16", seed, {dim: size for dim, size in few.items() if dim in spec.dims})


def on_pages(spec: Spec, seed: int) -> Case:
    """Some pages that the table names lie nowhere."""
    random = np.random.default_rng(seed)
    case = of_latents(spec, seed, M=2, C=5, S=16, L=3)
    table = random.integers(0, 5, (2, 3)).astype(np.int32)
    table[random.random((2, 3)) < 0.3] = (-1, 5, 2**31 - 1)[seed % 3]
    length = random.integers(0, 49, 2, dtype=np.int32)
    return replace(case, arrays={**case.arrays, "table": table, "length": length})


@pytest.mark.parametrize("splits", [1, 3])
def test_latent_attention_agrees_with_the_reference(splits: int) -> None:
    spec, module = spec_of("mla_latent"), latent()
    for seed, (rows, keys) in enumerate([(2, 37), (5, 3), (1, 16), (3, 0), (0, 4)]):
        agrees(module, of_latents(spec, seed, M=rows, N=keys), splits)


@pytest.mark.parametrize("splits", [1, 2])
def test_a_latent_cache_lies_on_pages(splits: int) -> None:
    spec = spec_of("mla_paged")
    module = shared(spec, R=LATENT, P=ROTARY, S=16)
    for seed in range(3):
        agrees(module, on_pages(spec, seed), splits)


@pytest.mark.parametrize("more", [SINKS, LSE, GATED], ids=["sinks", "lse", "gated"])
def test_what_follows_the_sums_is_each_consumers_own(more: tuple[str, str]) -> None:
    spec = written(*more)
    agrees(shared(spec, R=LATENT), of_latents(spec, 1, M=4, N=21), 1)


def test_values_may_be_no_keys() -> None:
    text = LATENTS.replace("q : T[B, H, M, R]", "q : T[B, H, M, D]").replace("c : T[B, N, R]", "c : T[B, N, D]")
    more = "input v : T[B, N, R]", PLAIN.format(h="h,").replace("c[b,j,:]", "v[b,j,:]")
    spec = check(Source(text.replace("N, R\n", "N, R, D\n").format(inputs=more[0], score=more[1]), "latents.attn"))
    agrees(shared(spec, R=LATENT, D=16), of_latents(spec, 3, M=4, N=37, D=16), 1)


def test_queries_may_be_boxes() -> None:
    text = OF_ONE_HEAD.format(inputs="", score=PLAIN.format(h=""))
    spec = check(Source(text, "latents.attn"))
    module = shared(spec, R=LATENT)
    assert any(op.tensor.string_value() == "q" for op in each(module, RingOp))
    source = compile_spec(spec, types_with(spec, "bf16"), "gluon", {"R": LATENT}).source
    ast.parse(source)
    assert "            q_256_ring.index(part),\n" in source, "before the loop over keys queries lie where they lie"
    assert "                q_256_ring.index(part + _anew(turn_2)),\n" in source
    agrees(module, of_latents(spec, 2, M=7, N=40), 1)


def test_a_key_that_is_a_value_is_copied_once() -> None:
    (kernel, _) = kernels(latent(), "roles")
    assert [(op.sym_name.data, op.readers.value.data) for op in each(kernel, RingOp)] == [
        *(("k_rope_ring", 1), ("c_ring", 1), ("c_256_ring", 2)),
    ]


def test_a_result_of_all_sums_is_refused() -> None:
    spec = written(*NORMED)
    module, _ = lower(spec, types_with(spec, "bf16"), "triton", {"R": LATENT}, "cuda:90")
    with pytest.raises(NoRoles, match="a result rests on all sums of a row, which consumers share out"):
        roled(kernels(module, "whole")[0])


def test_what_is_refused_of_whole_rows_has_no_roles_in_splits() -> None:
    """A launch asks of both at once: of what it took of another block, else."""
    spec = written(*NORMED)
    module, _ = lower(spec, types_with(spec, "bf16"), "gluon", {"R": LATENT}, "cuda:90")
    assert not kernels(module, "roles")


@pytest.mark.parametrize("values", [320, 384])
def test_shares_need_not_be_equal(values: int) -> None:
    """The first consumer, which has scores beside its sums, has the fewer of them."""
    text = LATENTS.replace("q : T[B, H, M, R]", "q : T[B, H, M, D]").replace("c : T[B, N, R]", "c : T[B, N, D]")
    score = PLAIN.format(h="h,").replace("c[b,j,:]", "v[b,j,:]")
    text = text.replace("N, R\n", "N, R, D\n").format(inputs="input v : T[B, N, R]", score=score)
    spec = check(Source(text, "latents.attn"))
    module = shared(spec, R=values, D=16)
    agrees(module, of_latents(spec, 4, M=4, N=37, D=16, R=values), 1)


LAYERS = """
attention layers {
    dims B, M, R, G, C, S, L
    types T, I = i32 | i64
    input  q      : T[B, M, R]
    input  lay    : I[B]
    input  cache  : T[G, C, S, R]
    input  table  : I[B, L]
    input  length : I[B]
    output o      : T[B, M, R]
    let c[b, j, :] = cache[lay[b], table[b, j / S], j % S, :]
    each b in B, i in M
    over j in length[b]
    o[b,i,:] = softmax(q[b,i,:] . c[b,j,:] / 16, j <= i + (length[b] - M)) . c[b,j,:]
}
"""


def test_a_place_that_data_say_before_the_loop_is_known_in_each_piece() -> None:
    """What is computed in a piece is not known beside it, which the verifier holds."""
    spec = check(Source(LAYERS, "layers.attn"))
    module, _ = lower(spec, types_with(spec, "bf16"), "gluon", {"R": 128, "S": 16}, "cuda:90")
    (kernel,) = kernels(module, "roles")
    (first, *_) = each(kernel, GatherOp)
    inner = next(op for op in first.starts.block.ops if op.results)
    subtracted = [op for op in each(kernel, arith.SubiOp) if op.parent is first.parent]
    later = next(op for op in subtracted if first.is_before_in_block(op))
    later.operands = [inner.results[0], later.rhs]
    with pytest.raises(VerifyException, match="takes what is not known where it stands"):
        module.verify()


TWO_RESULTS = """
attention results {
    dims B, M, N, R, D
    types T
    input  q : T[B, M, D]
    input  k : T[B, N, D]
    input  v : T[B, N, R]
    output o : T[B, M, R]
    output r : T[B, M, R]
    each b in B, i in M
    over j in N
    let x = softmax(q[b,i,:] . k[b,j,:]) . v[b,j,:]
    o[b,i,:] = x
    r[b,i,:] = 2.0 * x
}
"""


def test_each_store_has_an_outbox() -> None:
    """Two results of a row have two, where shared memory has room for both."""
    (kernel, *_) = kernels(shared(check(Source(TWO_RESULTS, "results.attn")), R=LATENT, D=16), "roles")
    room = sum(op.bytes * op.stages.value.data for op in each(kernel, BoxesOp))
    assert room <= MACHINES["cuda:90"].shared


def test_no_loop_carries_what_nobody_needs() -> None:
    """Of both shares a role that computes a tile again makes its own."""
    (kernel, _) = kernels(latent(), "roles")
    again = [op for op in each(kernel, tile.LoopOp) if op.axis is None and op.iter_args and not _has_turns(op)]
    assert [len(op.iter_args) for op in again] == [3, 3]


def _has_turns(loop: tile.LoopOp) -> bool:
    return any(op.name.startswith("roles.") for op in loop.walk())


@pytest.mark.matrix
@pytest.mark.parametrize("mask", MASKS)
def test_masks_and_scores_in_any_combination(mask: str) -> None:
    """Whole and cut by keys, in tiles of several sizes; what meets NaN takes slow paths."""
    taken = 0
    for seed, score in enumerate(SCORES):
        spec = drawn(score, mask)
        sizes = {"D": (16, 48)[seed % 2], "E": 512}
        module, _ = lower(spec, types_with(spec, "bf16"), "triton", sizes, "cuda:90")
        AssignRoles(rows=1 + seed % 3, keys=(1, 4, 16)[seed % 3]).apply(context(), module)
        module.verify()
        taken += any(op.follow is not None for op in each(module, roles.ConsumersOp))
        rows, keys = EXTENTS[seed % len(EXTENTS)]
        case = Case.make(spec, "bf16", seed, {"B": 2, "H": 2, "M": rows, "N": keys, **sizes})
        case = case.poisoned() if seed // 2 % 2 else case
        found = interpret(module, case.arrays, case.dims, case.params, {**SMALL_CHOICES, "SPLITS": 1 + seed % 4})
        case.check("assign-roles", found, narrowed=True)
    assert taken == (0 if "%" in mask else len(SCORES))  # what divides takes the registers of scores


# --- what is found

Plant = Callable[[tile.KernelOp], None]


def drop(op: Operation) -> None:
    op.detach()
    op.erase(safe_erase=False)


def weights_that_are_overwritten(kernel: tile.KernelOp) -> None:
    for op in each(kernel, roles.WaitOp, "weights"):
        if op.barrier.data == "empty":
            drop(op)


def weights_that_nobody_releases(kernel: tile.KernelOp) -> None:
    drop(each(kernel, roles.ReleaseOp, "weights")[0])


def a_factor_that_is_forgotten(kernel: tile.KernelOp) -> None:
    (view,) = each(kernel, roles.ViewOp, "factor_0")
    scaled = next(iter(view.result.uses)).operation
    scaled.results[0].replace_all_uses_with(scaled.operands[0])
    drop(scaled)


def a_factor_that_is_not_handed(kernel: tile.KernelOp) -> None:
    drop(each(kernel, roles.HandOp, "factor_0")[-1])


def weights_of_another_type(kernel: tile.KernelOp) -> None:
    next(op for op in each(kernel, RelayOp) if op.sym_name.data == "weights").element = StringAttr("f16")


def a_relay_that_is_too_small(kernel: tile.KernelOp) -> None:
    relay = next(op for op in each(kernel, RelayOp) if op.sym_name.data == "factor_0")
    relay.sizes = ArrayAttr([IntegerAttr(1, index)])


def the_sums_of_another(kernel: tile.KernelOp) -> None:
    """The follower multiplies weights with the values of the first consumer's columns, and releases its own."""
    follower = each(kernel, roles.ConsumersOp)[1]
    (view,) = each(follower, roles.ViewOp, "c_256_ring")
    other = each(kernel, roles.ViewOp, "c_ring")[0]
    view.ring = other.ring


def what_is_handed_on_is_stored_behind_its_release(kernel: tile.KernelOp) -> None:
    """A copy of what is stored where a tile is right: on the way of a task nothing needs what was read before."""
    (release,) = each(kernel, roles.ReleaseOp, "ends_1")
    (choice,) = (op for op in each(kernel, roles.ConsumersOp)[1].walk() if isinstance(op, scf.IfOp) and not op.results)
    copies = dict[SSAValue, SSAValue]()
    for op in reversed([op.clone(copies) for op in choice.true_region.block.ops if not isinstance(op, scf.YieldOp)]):
        release.parent.insert_op_after(op, release)


PLANTS: Mapping[Plant, str] = {
    what_is_handed_on_is_stored_behind_its_release: "released before anything has needed what was read from it",
    weights_that_are_overwritten: "roles.hand waits until its stage of @weights is empty",
    a_factor_that_is_not_handed: "what lies beside @weights is handed before, @factor_0, too",
    weights_of_another_type: "has factors of one element type",
    a_relay_that_is_too_small: "@factor_0 has room for",
    the_sums_of_another: "roles.view waits until its stage of @c_ring is full",
}
"""What the verifier finds, and how it says so."""


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
def test_the_verifier_finds(plant: Plant) -> None:
    module = latent().clone()
    plant(kernels(module, "roles")[0])
    with pytest.raises(VerifyException, match=PLANTS[plant]):
        module.verify()


@pytest.mark.parametrize(
    ("plant", "error"),
    [
        (weights_that_are_overwritten, RolesFail),
        (weights_that_nobody_releases, RolesFail),
        (a_factor_that_is_forgotten, Disagreement),
    ],
)
def test_the_interpreter_finds(plant: Plant, error: type[Exception]) -> None:
    spec, module = spec_of("mla_latent"), latent().clone()
    plant(kernels(module, "roles")[0])
    with pytest.raises(error):
        agrees(module, of_latents(spec, 0, M=4, N=70), 1)


def test_a_relay_holds_a_tile_or_numbers_of_rows() -> None:
    for relay, message in (
        (RelayOp("weights", "i32", [4, 4], 1, 1), "holds a tile, or a number of each row, of f32, f16 or bf16"),
        (RelayOp("weights", "f32", [4, 4, 4], 1, 1), "holds a tile, or a number of each row, of f32, f16 or bf16"),
        (RelayOp("weights", "f32", [4, 4], 0, 1), "has a stage, a reader and an element at least"),
        (RelayOp("factor", "f32", [4], 1, 1, "weights"), "lies beside a relay or ring with barriers, of as many"),
    ):
        with pytest.raises(VerifyException, match=message):
            relay.verify_()
