"""One kernel for all gradients, which adds up what its rows have for others: against the reference, and planted."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from attndsl.backends.gluon import helpers
from attndsl.checking.check import check
from attndsl.checking.typed import Spec
from attndsl.choices import FUSED
from attndsl.driver.artifact import Artifact
from attndsl.driver.compile import compile_spec, lower
from attndsl.driver.passes import passes_of, run_pipeline
from attndsl.driver.targets import target_of
from attndsl.gradient import gradient
from attndsl.ir import roles, tile
from attndsl.ir.analyses.roled import roled
from attndsl.ir.analyses.roles_gain import NoGain, enough_for
from attndsl.ir.build import build
from attndsl.ir.context import context
from attndsl.ir.coroutines import RolesFail
from attndsl.ir.interpret import SMALL_CHOICES, interpret
from attndsl.ir.rewrite import index_constant
from attndsl.ir.rewrite import replace as replace_with
from attndsl.ir.rings import ExchangeOp
from attndsl.ir.spec import TensorOp
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import IntegerAttr, ModuleOp, Operation, VerifyException, arith, index
from attndsl.op.forms import launched
from attndsl.passes.assign_roles import AssignRoles, adds_up
from attndsl.storage import encode
from attndsl.syntax.source import Source
from attndsl.testing.case import Case, Disagreement, types_with

from .test_compile import FEW, compiled, no_loop_spills
from .test_roles import EXAMPLES, EXTENTS, kernels, sizes_of, spec_of

NAMES = ("mha backward", "causal_end backward", "gqa backward", "prefix_lm backward", "lse backward")


@cache
def levels(name: str, extent: int) -> tuple[ModuleOp, ModuleOp]:
    """What the Gluon emitter takes, but for roles: before tiles, and after all other passes."""
    spec = spec_of(name)
    pipeline = target_of("gluon").lowering(known=sizes_of(spec, extent), machine="cuda:90", boxes=True)
    module = build(spec, types_with(spec, "bf16"))
    run_pipeline(module, passes_of(pipeline.attn))
    rows = module.clone()
    run_pipeline(module, passes_of(pipeline.tile[:-1]))
    return rows, module


def fused(name: str, rows: int = 2, keys: int = 4, extent: int = 16) -> ModuleOp:
    module = levels(name, extent)[1].clone()
    AssignRoles(rows=rows, keys=keys).apply(context(), module)
    module.verify()
    assert one(module).instead is not None
    return module


def one(module: ModuleOp) -> tile.KernelOp:
    """The kernel that does what others do."""
    return next(kernel for kernel in kernels(module, "roles") if kernel.instead is not None)


def case_of(spec: Spec, rows: int, keys: int, seed: int, extent: int = 16) -> Case:
    extents = {"B": 1, "H": 2, "Hq": 4, "Hkv": 2, "M": rows, "N": keys, "P": 5}
    return Case.make(spec, "bf16", seed, {d: n for d, n in extents.items() if d in spec.dims} | sizes_of(spec, extent))


def held(module: ModuleOp, case: Case, fuses: int = 1) -> None:
    """Raises Disagreement where a module gives something else than the reference."""
    found = interpret(module, case.arrays, case.dims, case.params, {**SMALL_CHOICES, "SPLITS": 1, FUSED: fuses})
    case.check("fuse-loops", found, narrowed=True)


@pytest.mark.parametrize("name", NAMES[:2])
def test_one_kernel_agrees_with_the_reference(name: str) -> None:
    case, (rows, tiles) = case_of(spec_of(name), 5, 9, 0), levels(name, 16)
    for each in (case, case.poisoned()):
        for module in (rows, tiles, fused(name)):
            held(module, each)
            held(module, each, fuses=0)


def test_queries_may_lie_beside_others() -> None:
    """The first product of a turn is not that of queries which rows add up with: their ring has the barriers."""
    name = "sigmoid_attention backward"
    held(fused(name, extent=64), case_of(spec_of(name), 5, 9, 0, 64))


@pytest.mark.matrix
@pytest.mark.parametrize("name", NAMES)
def test_one_kernel_agrees_with_the_reference_at_all_extents(name: str) -> None:
    for seed, (rows, keys) in enumerate(EXTENTS):
        case = case_of(spec_of(name), rows, keys, seed)
        for each in (case, case.poisoned()):
            held(levels(name, 16)[seed % 2], each)
            held(fused(name, *((2, 4), (3, 8), (2, 128))[seed % 3]), each)  # of 128 keys, consumers share out keys


@pytest.mark.parametrize("level", ["tiles", "roles"])
def test_a_key_that_a_row_does_not_see_may_be_no_number(level: str) -> None:
    """What is added up is 0 times NaN then: who reads it makes it anew."""
    case = case_of(spec_of("causal_end backward"), 9, 9, 1)
    k = np.array(case.arrays["k"])
    k[:, :, 5] = encode(np.asarray(np.nan), "bf16")
    module = levels("causal_end backward", 16)[1] if level == "tiles" else fused("causal_end backward")
    held(module, case.given(k=k))


KEPT = """attention kept {
    dims B, H, M, N, D
    types T
    input  q    : T[B, H, M, D]
    input  k    : T[B, H, N, D]
    input  v    : T[B, H, N, D]
    input  keep : bool[B, N]
    output o    : T[B, H, M, D]
    each b in B, h in H, i in M
    over j in N
    score = q[b,h,i,:] . k[b,h,j,:]
    mask  = keep[b,j]
    o[b,h,i,:] = softmax(score, mask) . v[b,h,j,:]
}
"""


def test_a_key_that_no_row_sees_may_be_no_number() -> None:
    spec = check(Source(gradient(check(Source(KEPT, "kept.attn")), ("q", "k", "v")).backward, "kept backward"))
    pipeline = target_of("gluon").lowering(known=sizes_of(spec, 16), machine="cuda:90", boxes=True)
    module = build(spec, types_with(spec, "bf16"))
    run_pipeline(module, passes_of(pipeline.steps[:-1]))
    assert any(adds_up(op) for op in module.body.block.ops if isinstance(op, tile.KernelOp))
    held(module, case_of(spec, 9, 9, 0).poisoned())


@pytest.mark.parametrize("name", ["dense_bias", "document_mask", "relu_attention", "rotary", "shared_prefix"])
def test_gradients_of_which_none_or_some_have_it_are_launched(name: str) -> None:
    spec = check(Source(gradient(spec_of(name)).backward, f"{name} backward"))
    sizes = sizes_of(spec, 64)
    artifact = compile_spec(spec, types_with(spec, "bf16"), "gluon", sizes)
    params = {p.name: 2 for p in spec.params}
    for asked in ({"FUSED": 1}, {"FUSED": 0}):
        assert launched(artifact, dict.fromkeys(spec.dims, 256) | sizes, params, asked)


BETWEEN = """
    each b in B, h in H, i in M
    norm[b,h,i] = q[b,h,i,:] . q[b,h,i,:]
"""


def test_what_does_not_stand_beside_another_is_not_fused() -> None:
    text = gradient(spec_of("mha"), ("q", "k", "v")).backward
    at = text.index("    each b in B, h in H, j in N")
    text = f"{text[:at]}{BETWEEN.lstrip(chr(10))}\n{text[at:]}"
    text = text.replace("    output d_q", "    output norm  : A[B, H, M]\n    output d_q")
    spec = check(Source(text, "between"))
    module, _ = lower(spec, types_with(spec, "bf16"), "gluon", sizes_of(spec, 128))
    assert len(kernels(module, "roles")) == 2


def test_rows_that_are_not_there_add_nothing() -> None:
    """Their scores are 0 where memory has none: far above a log-sum-exp of -256, a weight of theirs would overflow."""
    case = case_of(spec_of("mha backward"), 5, 5, 0)
    large = {name: encode(np.full(case.arrays[name].shape, n), "bf16") for name, n in (("q", 8.0), ("k", -8.0))}
    lse = np.full(case.arrays["lse"].shape, -256.0 + np.log(5.0), np.float32)
    held(fused("mha backward"), case.given(lse=lse, **large))


def each(module: ModuleOp, kind: type[Operation]) -> list[Operation]:
    return [op for op in operations(one(module)) if isinstance(op, kind)]


def one_stage(module: ModuleOp) -> None:
    (exchange,) = each(module, ExchangeOp)
    turns = [op for op in each(module, roles.TurnOp) if "exchanged" in (op.results[0].name_hint or "")]
    for op in (exchange, *turns):
        op.properties["stages"] = IntegerAttr(1, index)


def a_wait_for_another_turn(module: ModuleOp) -> None:
    for op in exchanged(module, roles.WaitOp):
        one, phase = index_constant(1), op.operands[0]
        other = arith.SubiOp(one.result, phase)
        assert op.parent is not None
        op.parent.insert_ops_before([one, other], op)
        op.operands[0] = other.result


def nothing_released(module: ModuleOp) -> None:
    for op in exchanged(module, roles.ReleaseOp):
        replace_with(op, [])


def rows_of_one_consumer(module: ModuleOp) -> None:
    views = exchanged(module, roles.ViewOp)
    for op in views:
        op.operands[2] = views[0].operands[2]


def features_of_one_consumer(module: ModuleOp) -> None:
    for op in each(module, roles.PutOp):
        op.operands[-2] = op.operands[-4]  # where features begin is where keys do of head 0


def sums_that_are_put_and_not_added(module: ModuleOp) -> None:
    for op in each(module, roles.PutOp):
        op.properties.pop("adds", None)


def queries_that_one_consumer_keeps(module: ModuleOp) -> None:
    release = [op for op in each(module, roles.ReleaseOp) if op.ring.string_value() == "k_ring"]  # type: ignore[attr-defined]
    replace_with(release[0], [])


def exchanged(module: ModuleOp, kind: type[Operation]) -> list[Operation]:
    return [op for op in each(module, kind) if op.ring.string_value() == "exchanged"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "plant",
    [
        one_stage,
        a_wait_for_another_turn,
        nothing_released,
        rows_of_one_consumer,
        features_of_one_consumer,
        sums_that_are_put_and_not_added,
        queries_that_one_consumer_keeps,
    ],
)
def test_what_is_amiss_in_an_exchange_is_found(plant: Callable[[ModuleOp], None]) -> None:
    module, case = fused("mha backward"), case_of(spec_of("mha backward"), 13, 9, 1)
    held(module, case)
    plant(module)
    with pytest.raises((Disagreement, RolesFail)):
        held(module, case)


def test_all_consumers_exchange() -> None:
    """With a barrier for fewer a stage would be full before the last has handed on its own."""
    module = fused("mha backward")
    (exchange,) = each(module, ExchangeOp)
    exchange.among = IntegerAttr(1, index)  # type: ignore[attr-defined]
    with pytest.raises(VerifyException, match="exchanged among all of them"):
        module.verify()


def test_it_stands_in_the_place_of_kernels_that_there_are() -> None:
    module = fused("mha backward")
    for kernel in [op for op in module.body.block.ops if isinstance(op, tile.KernelOp) and op.instead is None][1:]:
        replace_with(kernel, [])
    with pytest.raises(VerifyException, match="instead of others of its module"):
        module.verify()


def test_two_kernels_are_taken_where_nothing_else_is_asked_for() -> None:
    tiles = [op for op in levels("mha backward", 128)[1].body.block.ops if isinstance(op, tile.KernelOp)]
    with pytest.raises(NoGain, match="no faster than two"):
        enough_for(roled(next(kernel for kernel in tiles if adds_up(kernel))))


@pytest.mark.parametrize("name", ["dropout backward", "padding backward", "sliding_window backward"])
def test_without_roles_nothing_is_left_of_it(name: str) -> None:
    module = levels(name, 16)[1].clone()
    assert any(isinstance(op, tile.KernelOp) and op.instead is not None for op in module.body.block.ops)
    AssignRoles(rows=2, keys=4).apply(context(), module)
    module.verify()
    assert not any(isinstance(op, tile.KernelOp) and op.instead is not None for op in module.body.block.ops)
    assert "total" not in " ".join(op.sym_name.data for op in module.body.block.ops if isinstance(op, TensorOp))


def test_what_is_to_be_deterministic_is_two_kernels() -> None:
    source = (EXAMPLES / "mha.attn").read_text(encoding="utf-8")
    text = f"{source.rstrip().removesuffix('}')}\n    schedule {{ deterministic = true }}\n}}\n"
    spec = check(Source(gradient(check(Source(text, "mha.attn")), ("q", "k", "v")).backward, "mha backward"))
    module, _ = lower(spec, types_with(spec, "bf16"), "gluon", sizes_of(spec, 128))
    assert len(kernels(module, "roles")) == 2


@pytest.mark.parametrize(
    ("asked", "fuses"), [(None, False), ({"FUSED": 1}, True), ({"FUSED": 0, "ROLES": 1}, False), ({"ROLES": 0}, False)]
)
def test_a_launch_takes_one_kernel_or_two(asked: dict[str, int] | None, fuses: bool) -> None:
    assert is_one_kernel("mha backward", 128, 4096, asked) == fuses


@pytest.mark.parametrize(
    ("name", "extent", "keys", "fuses"),
    [
        ("mha backward", 64, 2048, True),
        ("mha backward", 64, 2047, False),
        ("causal_end backward", 64, 8192, True),
        ("causal_end backward", 64, 8191, False),
        ("sliding_window backward", 64, 8192, False),  # rows differ in where their keys begin and end
        ("gqa backward", 64, 8192, False),  # rows walk a nest of loops
        ("relu_attention backward", 64, 8192, False),  # its arithmetic takes too little
        ("causal_end backward", 128, 8192, False),
    ],
)
def test_one_kernel_is_taken_where_it_was_faster(name: str, extent: int, keys: int, fuses: bool) -> None:
    assert is_one_kernel(name, extent, keys, None) == fuses
    assert not is_one_kernel(name, extent, keys, {"FUSED": 0})
    assert not is_one_kernel(name, extent, keys, {"ROLES": 0})
    assert not is_one_kernel(name, extent, keys, {"ROWS": 64})
    assert not is_one_kernel(name, extent, keys, {"SPLITS": 2})


def test_what_adds_in_no_order_is_not_taken_where_torch_is_to_be_deterministic() -> None:
    for fixed in (False, True):
        torch = SimpleNamespace(are_deterministic_algorithms_enabled=lambda fixed=fixed: fixed)
        host: dict[str, Any] = {"torch": torch, "_has_roles": lambda asked, splits, pays, *_: asked.get("ROLES", pays)}
        exec(helpers.FUSED, host)
        assert host["_is_fused"](None, True, "cuda") != fixed
        assert host["_is_fused"]({"FUSED": 1}, True, "cuda")


def is_one_kernel(name: str, extent: int, keys: int, asked: dict[str, int] | None) -> bool:
    """Whether a call of gradients, of 32 x 4 heads, takes one kernel for those of queries and of keys and values."""
    artifact = one_kernel_of(name, extent)
    heads = {"H": 32, "Hq": 32, "Hkv": 32, "W": 1024}
    dims = {"B": 4, **heads, "M": keys, "N": keys, "D": extent, "E": extent}
    sizes = {dim: size for dim, size in dims.items() if dim in spec_of(name).dims}
    params = {p.name: 1024 for p in spec_of(name).params}
    ran = [kernel for kernel, _ in launched(artifact, sizes, params, asked)]
    return any(kernel.endswith("_fused_roles_kernel") for kernel in ran)


@cache
def one_kernel_of(name: str, extent: int) -> Artifact:
    spec = spec_of(name)
    return compile_spec(spec, types_with(spec, "bf16"), "gluon", sizes_of(spec, extent))


@pytest.mark.matrix
@pytest.mark.parametrize("extent", [64, 128])
def test_one_kernel_spills_no_tile(extent: int, tmp_path: Path) -> None:
    """It reads anew in a turn where each of its tiles lies, and of two consumers', what both have in common."""
    no_loop_spills(compiled("mha backward", "bf16", extent, extent, tmp_path, fused=True), 4 * FEW)
