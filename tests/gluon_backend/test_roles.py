"""Specs whose kernels get roles: against the reference in the IR's interpreter, and as text."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attndsl.backends.gluon.helpers import SECTIONS
from attndsl.checking.check import check
from attndsl.checking.typed import Spec
from attndsl.choices import SPLITS, WIDE_ROWS
from attndsl.driver.compile import compile_spec, lower
from attndsl.driver.summarise import feature_dims
from attndsl.gradient import gradient
from attndsl.ir import roles, tile, walks
from attndsl.ir.analyses.role_parts import NoRoles
from attndsl.ir.analyses.roled import roled
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.context import context
from attndsl.ir.coroutines import Grid, RolesFail
from attndsl.ir.gathers import GatherOp
from attndsl.ir.interpret import SMALL_CHOICES, interpret
from attndsl.ir.rewrite import constant_op, index_constant, insert_before
from attndsl.ir.rewrite import replace as replace_with
from attndsl.ir.rings import OrderOp, OutboxOp
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import (
    IntegerAttr,
    ModuleOp,
    Operation,
    SSAValue,
    UnitAttr,
    VerifyException,
    arith,
    f32,
    index,
    scf,
)
from attndsl.passes.approximate_functions import ApproximateFunctions
from attndsl.passes.assign_roles import AssignRoles
from attndsl.storage import decode, encode
from attndsl.syntax.read import read_source
from attndsl.syntax.source import Source
from attndsl.testing.case import Case, Disagreement, types_with

EXAMPLES = Path(__file__).parents[2] / "examples"

TAKEN = (
    "alibi",
    "append_latent",
    "append_ragged",
    "causal_end",
    "causal_start",
    "chunked_local",
    "co_attention",
    "cross_attention",
    "dense_bias",
    "differential",
    "document_mask",
    "fused_qkv",
    "gated_output",
    "gqa",
    "indexer",
    "int8_cache",
    "lse",
    "mha",
    "mla_latent",
    "mla_paged",
    "mqa",
    "packed_ragged",
    "padding",
    "paged_prefill",
    "pair_bias",
    "prefix_lm",
    "qk_clip",
    "relative_bias",
    "sigmoid_attention",
    "sinks",
    "sliding_window",
    "softcap",
    "softmax_plus_one",
    "t5_bias",
    "tree_speculative",
    "weights",
)
"""The specs of the gallery one of whose kernels gets roles."""

APART = (
    *("alibi", "append_ragged", "causal_end", "document_mask", "fused_qkv", "gqa", "packed_ragged", "paged_prefill"),
    *("prefix_lm", "sigmoid_attention", "sliding_window", "softcap", "weights"),
    *("cross_attention", "dense_bias", "indexer", "int8_cache", "padding", "pair_bias", "relative_bias", "t5_bias"),
)
"""Those whose turns differ; of the others, each has the turn of one of these."""

REFUSED = {
    "dilated": "where keys begin or end is found among the rows of a tile",
    "encoder": "data are looked through for where keys lie",
    "dropout": "numbers are drawn for every key",
    "f8_cache": "its second product is not added to what the loop carries",
    "qk_norm": "its products are not of f16 or bf16",
    "rotary": "its products are not of f16 or bf16",
}

EXTENTS = [(5, 9), (9, 3), (1, 1), (3, 0), (0, 4), (8, 16), (7, 23)]
"""Rows and keys: rows that see nothing, odd ends, no keys, no rows, whole tiles, and several turns of each stage."""


@cache
def spec_of(name: str) -> Spec:
    """A spec of the gallery, or its gradient by queries, keys and values: `mha`, `mha backward`."""
    forward, _, form = name.partition(" ")
    found = check(read_source(str(EXAMPLES / f"{forward}.attn")))
    return found if not form else check(Source(gradient(found, ("q", "k", "v")).backward, name))


def sizes_of(spec: Spec, extent: int, values: int = 0) -> dict[str, int]:
    """Features: `values`, where that is given, those of values."""
    return {dim: values if values and dim == "E" else extent for dim in feature_dims(spec)}


@cache
def plain(name: str, element: str, extent: int) -> ModuleOp:
    """What the Gluon emitter takes, but for roles."""
    spec = spec_of(name)
    module = lower(spec, types_with(spec, element), "triton", sizes_of(spec, extent), "cuda:90")[0]
    ApproximateFunctions().apply(context(), module)
    return module


def with_roles(name: str, element: str, rows: int, keys: int, features: int = 16) -> ModuleOp:
    module = plain(name, element, features).clone()
    AssignRoles(rows=rows, keys=keys).apply(context(), module)
    module.verify()
    return module


roles_kept = cache(with_roles)
"""The same for who changes nothing of it: calls at several extents share it."""


def kernels(module: ModuleOp, form: str) -> list[tile.KernelOp]:
    """Those of a form, but what is scheduled as another."""
    found = [op for op in module.body.block.ops if isinstance(op, tile.KernelOp) and op.scheduled_as is None]
    return [op for op in found if op.form is not None and op.form.data == form]


def choices_of(module: ModuleOp) -> list[dict[str, int]]:
    """What launches may choose that cut no keys: programs with roles have more rows, or not, where there are both."""
    both = (0, 1) if kernels(module, "wide") else (0,)
    return [{**SMALL_CHOICES, SPLITS: 1, WIDE_ROWS: wide} for wide in both]


def held(
    name: str, element: str, dims: Mapping[str, int], seed: int, rows: int = 2, keys: int = 4, features: int = 16
) -> None:
    """Raises Disagreement where roles give something else than the reference, absent keys poisoned or not."""
    agree(roles_kept(name, element, rows, keys, features), spec_of(name), element, dims, seed, features)


def agree(module: ModuleOp, spec: Spec, element: str, dims: Mapping[str, int], seed: int, features: int = 16) -> None:
    """Raises Disagreement where a module gives something else than the reference, absent keys poisoned or not."""
    extents = {"B": 1, "H": 2, "Hq": 4, "Hkv": 2, "S": sum(dims.values()), "P": 5, "L": 3}
    few = {dim: size for dim, size in {**extents, **dims}.items() if dim in spec.dims}
    case = Case.make(spec, element, seed, {**few, **sizes_of(spec, features)})
    for each in (case, case.poisoned()):
        for chosen in choices_of(module):
            arrays = {name: array.copy() for name, array in each.arrays.items()}
            found = interpret(module, arrays, each.dims, each.params, chosen)
            each.check("assign-roles", found, narrowed=True)


def disagrees(module: ModuleOp, name: str, dims: Mapping[str, int], seed: int = 1) -> bool:
    """Whether roles are found to be wrong."""
    try:
        agree(module, spec_of(name), "bf16", dims, seed)
    except (Disagreement, RolesFail):
        return True
    return False


SEGMENTS = """attention segments {{
    dims M, N, G, D
    types T
    input  q : T[M, D]
    input  k : T[{axes}, D]
    input  v : T[{axes}, D]
    input  g : f32[G]
    input  x : f32[{axes}]
    output o : T[M, D]
    output l : f32[M]
    each i in M
    over t in G, j in N
    score = q[i,:] . k[{keys},:] + x[{keys}] + 0.5 * t
    mask  = {mask}
    o[i,:] = softmax(score, mask) . v[{keys},:]
    l[i] = logsumexp(score, mask)
}}
"""


@pytest.mark.parametrize("keys", ["t,j", "j"])
@pytest.mark.parametrize("mask", ["j <= i", "j >= i", "j < N"])
def test_keys_may_be_walked_in_a_nest_of_loops(keys: str, mask: str) -> None:
    """Full tiles of all values of the outer variable come behind the mixed ones of all; it may have no value.

    Then there are keys, perhaps, and nothing that any row sees.
    """
    text = SEGMENTS.format(keys=keys, mask=mask, axes="G, N" if "t" in keys else "N")
    spec = check(Source(text, "segments.attn"))
    module, _ = lower(spec, types_with(spec, "bf16"), "triton", sizes_of(spec, 16), "cuda:90")
    AssignRoles(rows=2, keys=4).apply(context(), module)
    assert kernels(module, "roles")
    for seed, (values, rows, count) in enumerate([(0, 5, 9), (1, 5, 9), (3, 9, 9), (3, 1, 17), (2, 5, 0), (2, 13, 7)]):
        agree(module, spec, "bf16", {"M": rows, "N": count, "G": values}, seed)


@pytest.mark.parametrize("name", ["causal_end", "document_mask", "sliding_window"])
def test_roles_agree_with_the_reference(name: str) -> None:
    held(name, "bf16", {"M": 5, "N": 9}, 0)


@pytest.mark.matrix
@pytest.mark.parametrize("name", TAKEN)
def test_roles_agree_with_the_reference_at_all_extents(name: str) -> None:
    for seed, (rows, keys) in enumerate(EXTENTS if name in APART else EXTENTS[TAKEN.index(name) % 2 :: 2]):
        held(name, ("bf16", "f16")[seed % 2], {"M": rows, "N": keys}, seed)


REQUESTS = {"B": 4, "M": 11, "N": 13}
"""Some of which have several tiles of rows, and others none."""


@pytest.mark.parametrize("seed", range(6))
def test_data_say_how_many_tiles_of_rows_there_are(seed: int) -> None:
    held("packed_ragged", "bf16", REQUESTS, seed)


def test_rows_that_leave_what_gradients_need_have_roles() -> None:
    """Not all that is written lies where queries do: a row that reads none ends at once, in its own way."""
    text = (EXAMPLES / "packed_ragged.attn").read_text(encoding="utf-8")
    output, last = "    output o    : T[M, Hq,  E]\n", text.rindex("}")
    text = f"{text[:last]}    lse[b,h,i] = logsumexp(score, mask)\n}}\n".replace(
        output, f"{output}    output lse  : f32[B, Hq, M]\n"
    )
    spec = check(Source(text, "packed_ragged.attn"))
    module, _ = lower(spec, types_with(spec, "bf16"), "triton", sizes_of(spec, 16), "cuda:90")
    AssignRoles(rows=2, keys=4).apply(context(), module)
    module.verify()
    assert kernels(module, "roles")
    for seed in range(4):
        agree(module, spec, "bf16", REQUESTS, seed)


def rows_that_end_early(seek: walks.SeekOp) -> None:
    less = arith.SubiOp(seek.end, seek.programs[-1].step)
    assert seek.ends.block.last_op is not None
    seek.ends.block.insert_op_before(less, seek.ends.block.last_op)
    seek.ends.block.last_op.operands[0] = less.result


def rows_of_the_first_request(seek: walks.SeekOp) -> None:
    zero, first = index_constant(0), seek.ends.block.first_op
    assert first is not None
    seek.ends.block.insert_op_before(zero, first)
    seek.ends.block.args[0].replace_all_uses_with(zero.result)


def a_place_that_is_forgotten(seek: walks.SeekOp) -> None:
    seek.found.replace_all_uses_with(seek.place)


def tiles_that_are_not_counted(seek: walks.SeekOp) -> None:
    seek.passed.replace_all_uses_with(seek.ahead)


@pytest.mark.parametrize(
    "plant", [rows_that_end_early, rows_of_the_first_request, a_place_that_is_forgotten, tiles_that_are_not_counted]
)
def test_what_seeks_amiss_is_found(plant: Callable[[walks.SeekOp], None]) -> None:
    module = with_roles("packed_ragged", "bf16", 2, 4)
    plant(next(op for op in module.walk() if isinstance(op, walks.SeekOp)))
    assert any(disagrees(module, "packed_ragged", REQUESTS, seed) for seed in range(4))


@pytest.mark.parametrize("tiles", [0, 4, 10**6])
def test_heads_of_few_tiles_go_together(tiles: int) -> None:
    """Whichever go first, each tile has its turn."""
    module = with_roles("packed_ragged", "bf16", 2, 4)
    next(op for op in module.walk() if isinstance(op, walks.SeekOp)).abreast = IntegerAttr(tiles, index)
    for seed in range(4):
        agree(module, spec_of("packed_ragged"), "bf16", REQUESTS, seed)


@pytest.mark.parametrize("heads", [1, 3, 40])
def test_the_text_of_a_seek_finds_each_tile_in_order(heads: int) -> None:
    """Of three requests with 700, 0 and 1000 rows, a tile of 128 each, one head or all go first, by their tiles."""
    tree = ast.parse(re.sub(r"\.to\(gl\.int(32|64)\)", "", text_of("packed_ragged")))
    (function,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.endswith("_seek"))
    function.decorator_list = []
    ends, most = [0, 700, 700, 1700], 20
    gl = SimpleNamespace(
        load=ends.__getitem__, minimum=min, maximum=max, where=lambda c, one, other: one if c else other
    )
    known: dict[str, Any] = {"gl": gl}
    exec(compile(ast.Module([function], []), "<seek>", "exec"), known)
    wanted = []
    for request, there in enumerate((6, 0, 8)):
        pairs = [(head, tile) for head in range(heads) for tile in range(there)]
        if there * heads <= 256:
            pairs.sort(key=lambda pair: pair[::-1])
        wanted += [(request * heads + head) * most + most - there + tile for head, tile in pairs]
    tiles, place, ahead, found = 3 * heads * most, 0, 0, []
    for rank in range(len(wanted) + 2):
        number, place, ahead = known[function.name](rank, place, ahead, tiles, 0, 1, 10**6, 1, 3, heads, most)
        found.append(number)
    assert found == [*wanted, tiles, tiles]


def puts(module: ModuleOp) -> list[roles.PutOp]:
    """What is copied to the tensor of results."""
    return [op for op in module.walk() if isinstance(op, roles.PutOp)]


def rows_of_other_tiles(put: roles.PutOp) -> None:
    assert put.rows is not None
    let(put, put.rows, 100)


def rows_that_are_forgotten(put: roles.PutOp) -> None:
    assert put.rows is not None
    let(put, put.rows, 1)


def places_that_end_early(put: roles.PutOp) -> None:
    assert put.below is not None
    let(put, put.below, 3)


def let(put: roles.PutOp, operand: SSAValue, number: int) -> None:
    """Lets an operand of a put be a number."""
    put.operands[list(put.operands).index(operand)] = insert_before(put, index_constant(number))


@pytest.mark.parametrize("plant", [rows_of_other_tiles, rows_that_are_forgotten, places_that_end_early])
def test_rows_that_are_put_amiss_are_found(plant: Callable[[roles.PutOp], None]) -> None:
    """A box of the rows of a request may have some that are another's, or nobody's: these are not written."""
    module = with_roles("packed_ragged", "bf16", 4, 4)
    (put,) = puts(module)
    plant(put)
    assert any(disagrees(module, "packed_ragged", REQUESTS, seed) for seed in range(6))


def test_what_adds_puts_all_rows() -> None:
    module = with_roles("packed_ragged", "bf16", 4, 4)
    (put,) = puts(module)
    put.adds = UnitAttr()
    with pytest.raises(VerifyException, match="copies all rows, where it adds"):
        module.verify()


def runs(module: ModuleOp) -> list[walks.RunOp]:
    """Where a tile is computed again, of which nothing was stored."""
    return [op for op in module.walk() if isinstance(op, walks.RunOp)]


@pytest.mark.parametrize(("name", "dims"), [("packed_ragged", {"B": 3}), ("gqa", {"B": 1})])
def test_a_tile_that_met_nan_is_computed_again(name: str, dims: dict[str, int]) -> None:
    module = with_roles(name, "bf16", 2, 4)
    (run,) = runs(module)
    replace_with(run, [])
    case = Case.make(spec_of(name), "bf16", 3, {"Hq": 4, "Hkv": 2, "M": 11, "N": 13, "D": 16, "E": 16, **dims})
    case = case.poisoned()
    with pytest.raises(Disagreement):
        case.check(
            "assign-roles", interpret(module, case.arrays, case.dims, case.params, {**SMALL_CHOICES, "SPLITS": 1})
        )


def reads_in_lines(task: walks.TaskOp) -> None:
    next(op for op in operations(task) if isinstance(op, tile.LoadOp)).apart = None


def writes_in_lines(task: walks.TaskOp) -> None:
    next(op for op in operations(task) if isinstance(op, tile.StoreOp)).scattered = None


def waits(task: walks.TaskOp) -> None:
    first = task.body.block.first_op
    assert first is not None
    zero = index_constant(0)
    task.body.block.insert_ops_before([zero, roles.WaitOp("full", "numbers", zero.result, zero.result)], first)


def sums_rows(task: walks.TaskOp) -> None:
    store = next(op for op in operations(task) if isinstance(op, tile.StoreOp))
    rows = next(
        op for op in operations(task) if isinstance(op, tile.RangeOp) and isinstance(op.start.owner, walks.ShareOp)
    )
    task.body.block.insert_op_before(tile.SumOp(store.value, rows.result), store)


@pytest.mark.parametrize(
    ("plant", "said"),
    [
        (reads_in_lines, "reads apart"),
        (writes_in_lines, "writes scattered"),
        (sums_rows, "sums nothing over rows"),
        (waits, "what a role does, roles.wait"),
    ],
)
def test_threads_of_a_task_do_not_wait_for_each_other(plant: Callable[[walks.TaskOp], None], said: str) -> None:
    module = with_roles("gqa", "bf16", 2, 4)
    module.verify()
    plant(next(op for op in module.walk() if isinstance(op, walks.TaskOp)))
    with pytest.raises(VerifyException, match=said):
        module.verify()


def branches_of(module: ModuleOp, within: type[Operation]) -> list[scf.IfOp]:
    """The choices that consumers make directly within such an operation."""
    found = [op for kernel in kernels(module, "roles") for op in operations(kernel)]
    ops = [op for each in found if isinstance(each, roles.ConsumersOp) for op in operations(each)]
    return [op for op in ops if isinstance(op, scf.IfOp) and isinstance(op.parent_op(), within)]


def test_a_loop_over_all_tiles_asks_of_each_whether_it_masks() -> None:
    module = with_roles("document_mask", "bf16", 2, 4)
    agree(module, spec_of("document_mask"), "bf16", {"N": 17}, 1)
    for choice in branches_of(module, tile.LoopOp):
        always = arith.ConstantOp.from_int_and_width(1, 1)
        assert choice.parent is not None
        choice.parent.insert_op_before(always, choice)
        choice.operands = [always.result]
    assert disagrees(module, "document_mask", {"N": 17})


@pytest.mark.parametrize("name", ["causal_end", "gqa", "mla_latent"])
def test_rows_without_weights_choose_their_factor_and_not_each_sum(name: str) -> None:
    """Of sums that are finite, as they are known to be where results are stored."""
    axes, chosen = AxesAnalysis(), list[int]()
    for branch in branches_of(with_roles(name, "bf16", 2, 4), walks.WalkOp):
        if any(isinstance(op, roles.PutOp | tile.StoreOp) for op in branch.true_region.block.ops):
            selects = [op for op in branch.true_region.block.ops if isinstance(op, arith.SelectOp)]
            chosen += [len(axes(op.result)) for op in selects]
    assert chosen == [1]


def test_sums_that_begin_with_something_have_no_roles() -> None:
    """A first turn leaves them as they are, and multiplies them with no factor."""
    spec, axes = spec_of("causal_end"), AxesAnalysis()
    module, _ = lower(spec, types_with(spec, "bf16"), "triton", sizes_of(spec, 64))
    kernel = next(op for op in module.walk() if isinstance(op, tile.KernelOp))
    loops = [op for op in operations(kernel) if isinstance(op, tile.LoopOp)]
    started = {value.owner for loop in loops for value in loop.iter_args if len(axes(value)) == 2}
    for op in started:
        if isinstance(op, tile.BroadcastOp):
            op.operands = [insert_before(op, constant_op(1.0, f32)), *op.operands[1:]]
    with pytest.raises(NoRoles, match="does not begin with 0"):
        roled(kernel)


ARGMAX = """attention places() {{
    dims B, M, N, D, E
    types T
    input  q : T[B, M, D]
    input  k : T[B, N, D]
    input  v : T[B, N, E]
    output o : T[B, M, E]
    output n : i32[B, M]
    each b in B, i in M
    over j in N
    score = q[b,i,:] . k[b,j,:] / 8
    o[b,i,:] = softmax(score{mask}) . v[b,j,:]
    n[b,i]   = argmax(score{mask})
}}"""


def test_scores_may_rest_on_where_their_tile_begins() -> None:
    """A distance to the tile's first key is made of where that is by numbers without axes: no part of its place."""
    text = (EXAMPLES / "alibi.attn").read_text(encoding="utf-8").replace("(p - j)", "(j - i + N - M)")
    spec = check(Source(text, "alibi.attn"))
    module = lower(spec, types_with(spec, "bf16"), "triton", sizes_of(spec, 16), "cuda:90")[0]
    AssignRoles(rows=2, keys=4).apply(context(), module)
    module.verify()
    for rows, keys in EXTENTS:
        agree(module, spec, "bf16", {"M": rows, "N": keys}, seed=rows)


def unknown(source: str) -> set[str]:
    """The names that functions of a file use, and neither they nor the file know."""
    tree = ast.parse(source)
    known = set(dir(builtins)) | {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}
    known |= {
        alias.asname or alias.name
        for each in ast.walk(tree)
        if isinstance(each, ast.Import | ast.ImportFrom)
        for alias in each.names
    }
    known |= {
        name.id
        for each in tree.body
        if isinstance(each, ast.Assign)
        for name in each.targets
        if isinstance(name, ast.Name)
    }
    found = set[str]()
    for each in (each for each in tree.body if isinstance(each, ast.FunctionDef)):
        names = [name for name in ast.walk(each) if isinstance(name, ast.Name)]
        own = {name.id for name in names if isinstance(name.ctx, ast.Store)}
        own |= {argument.arg for argument in ast.walk(each) if isinstance(argument, ast.arg)}
        own |= {inner.name for inner in ast.walk(each) if isinstance(inner, ast.FunctionDef)}
        found |= {name.id for name in names} - own - known
    return found


def test_functions_of_roles_know_the_names_that_they_use() -> None:
    """The place of the largest score rests on the least of no places, which is no value that a role is given."""
    spec = check(Source(ARGMAX.format(mask=""), "places.attn"))
    source = compile_spec(spec, types_with(spec, "bf16"), "gluon", {"D": 64, "E": 64}).source
    assert source.count("    LARGEST: gl.constexpr = ") == 2  # the kernel's and its consumers'
    assert not unknown(source)
    assert unknown(source.replace("    LARGEST: gl.constexpr = ", "    SMALLEST: gl.constexpr = "))


def test_a_mask_leaves_out_scores_and_not_what_varies_along_keys_alone() -> None:
    """Places of keys that a mask leaves out differ from row to row, and those of a full tile do not."""
    spec = check(Source(ARGMAX.format(mask=", j <= i + (N - M)"), "places.attn"))
    module, _ = lower(spec, types_with(spec, "bf16"), "gluon", {"D": 64, "E": 64}, "cuda:90")
    assert not kernels(module, "roles")


IN_PLACE = """attention in_place() {{
    dims B, H, M, N, D
    types T
    input  q  : T[M, H, D]
    {tensor}
    input  k  : T[N, H, D]
    input  v  : T[N, H, D]
    input  cu : i32[B + 1]
    input  ck : i32[B + 1]
    each b in B, h in H, i in cu[b+1] - cu[b]
    over j in ck[b+1] - ck[b]
    {writes}
}}"""

UPDATES = (
    ("inout x : T[M,H,D]", "x[cu[b]+i,h,:] = x[cu[b]+i,h,:] + {a}"),
    ("inout n : f32[M,H]\n    output o : T[M,H,D]", "o[cu[b]+i,h,:] = {a}\n    n[cu[b]+i,h] = n[cu[b]+i,h] + 1.0"),
)


@pytest.mark.parametrize(("tensor", "writes"), UPDATES)
def test_what_is_updated_in_place_is_updated_once(tensor: str, writes: str) -> None:
    made = "softmax(q[cu[b]+i,h,:] . k[ck[b]+j,h,:], j <= i) . v[ck[b]+j,h,:]"
    spec = check(Source(IN_PLACE.format(tensor=tensor, writes=writes.format(a=made)), "in_place.attn"))
    module, _ = lower(spec, types_with(spec, "bf16"), "triton", {"D": 16}, "cuda:90")
    AssignRoles(rows=2, keys=4).apply(context(), module)
    assert kernels(module, "roles") and runs(module)
    case = Case.make(spec, "bf16", 1, {"B": 3, "H": 2, "M": 11, "N": 40, "D": 16})
    ends = {"cu": np.array([0, 4, 4, 11], np.int32), "ck": np.array([0, 13, 20, 40], np.int32)}
    case = replace(case, arrays={**case.arrays, **ends})
    for each in (case, case.poisoned()):
        arrays = {name: array.copy() for name, array in each.arrays.items()}
        each.check(
            "assign-roles", interpret(module, arrays, each.dims, each.params, {**SMALL_CHOICES, "SPLITS": 1}), True
        )


SHIFTED = """attention shifted() {{
    dims B, M, N, D
    types T
    input q : T[B, M, D]
    input k : T[B, N, D]
    input v : T[B, N, D]
    input bias : T[M + N]
    inout o : f32[B, M, D]
    each b in B, i in M
    over j in N
    score = q[b,i,:] . k[b,j,:]{more}
    o[b,i+1,:] = if o[b,i+1,:] > 0.5 then softmax(score) . v[b,j,:] else o[b,i+1,:] + 1.0
}}"""


@pytest.mark.parametrize("more", ["", " + bias[i + j]", " + bias[j + i + 1]"])
def test_rows_lie_where_a_role_has_its_own(more: str) -> None:
    """What is read or written of another row behind the loops, too, and of rows and keys within them."""
    spec = check(Source(SHIFTED.format(more=more), "shifted.attn"))
    module, _ = lower(spec, types_with(spec, "bf16"), "triton", {"D": 16}, "cuda:90")
    AssignRoles(rows=2, keys=4).apply(context(), module)
    assert kernels(module, "roles")
    for seed in range(3):
        agree(module, spec, "bf16", {"B": 2, "M": 9, "N": 7}, seed)


# --- pages

PAGED = """attention paged(window: int = 40) {{
    dims B, H, M, D, P, S, L
    types T
    input  q      : T[B, M, H, D]
    input  k      : T[P, S, H, D]
    input  v      : T[P, S, H, D]
    input  table  : i64[B, L]
    input  length : i32[B]
    output o      : T[B, M, H, D]
    each b in B, h in H, i in M
    over j in length[b]
    mask = {mask}
    o[b,i,h,:] = softmax(q[b,i,h,:] . k[table[b, j / S], j % S, h, :], mask) . v[table[b, j / S], j % S, h, :]
}}
"""

LATEST = "j <= i + (length[b] - M)"

PAGES = [
    *((16, 32), (32, 16)),
    *(pytest.param(*sizes, marks=pytest.mark.matrix) for sizes in ((32, 64), (48, 32), (64, 64))),
]
"""Keys of a page and of a tile: several pages a tile and several tiles a page, pages whose keys are no power of two."""


@cache
def paged(mask: str, size: int, keys: int) -> tuple[Spec, ModuleOp]:
    spec = check(Source(PAGED.format(mask=mask), "paged.attn"))
    module, _ = lower(spec, types_with(spec, "bf16"), "triton", {"D": 16, "S": size}, "cuda:90")
    AssignRoles(rows=2, keys=keys).apply(context(), module)
    module.verify()
    assert kernels(module, "roles")
    return spec, module


def paged_case(spec: Spec, size: int, seed: int) -> Case:
    """Some pages that a table names lie nowhere, at places that 32 bits would take for others."""
    random = np.random.default_rng(seed)
    dims = {"B": 2, "H": 2, "M": 3, "D": 16, "P": 5, "S": size, "L": 3}
    case = Case.make(spec, "bf16", seed, dims)
    table = random.integers(0, 5, (2, 3))
    table[random.random((2, 3)) < 0.3] = (-1, 5, 2**32 + 1, -(2**40), 2**31)[seed % 5]
    length = random.integers(0, 3 * size + 1, 2, dtype=np.int32)
    return replace(case, arrays={**case.arrays, "table": table, "length": length})


def paged_disagrees(module: ModuleOp, spec: Spec, size: int, seed: int) -> bool:
    case = paged_case(spec, size, seed)
    try:
        for each in (case, case.poisoned()):
            found = interpret(module, each.arrays, each.dims, each.params, {**SMALL_CHOICES, "KEYS": 16, "SPLITS": 1})
            each.check("assign-roles", found, narrowed=True)
    except (Disagreement, RolesFail):
        return True
    return False


WINDOW = f"{LATEST} and j > i + (length[b] - M) - window"


@pytest.mark.parametrize("mask", [LATEST, WINDOW])
@pytest.mark.parametrize(("size", "keys"), PAGES)
def test_keys_lie_on_pages(size: int, keys: int, mask: str) -> None:
    spec, module = paged(mask, size, keys)
    assert not any(paged_disagrees(module, spec, size, seed) for seed in range(3))


@pytest.mark.parametrize(("size", "keys"), PAGES)
def test_pages_that_a_window_has_left_are_not_asked_for(size: int, keys: int) -> None:
    """A tile may begin before the first key that is seen, on pages that are gone: nothing is computed again for it."""
    spec, module = paged(WINDOW, size, keys)
    module = module.clone()
    for choice in [op for op in module.walk() if isinstance(op, scf.IfOp)]:
        kept, again = choice.true_region.block.last_op, choice.false_region.block.last_op
        if any(isinstance(op, tile.LoopOp) for op in choice.false_region.block.ops) and kept and again:
            again.operands = kept.operands
    (run,) = runs(module)
    replace_with(run, [])
    for seed in range(3):
        case = paged_case(spec, size, seed)
        table = np.random.default_rng(seed).integers(0, 5, (2, 3))
        first = np.maximum(case.arrays["length"] - 3 - case.params["window"] + 1, 0) // size
        table[np.arange(3) < first[:, None]] = -1
        case = replace(case, arrays={**case.arrays, "table": table})
        found = interpret(module, case.arrays, case.dims, case.params, {**SMALL_CHOICES, "KEYS": 16, "SPLITS": 1})
        case.check("assign-roles", found, narrowed=True)


def zeros_for_absent_pages(gather: GatherOp) -> None:
    gather.declaration.nan = None


def places_of_more_than_32_bits(gather: GatherOp) -> None:
    (page,) = (op for op in gather.starts.block.ops if isinstance(op, tile.LoadOp))
    gather.starts.block.last_op.operands[0] = page.result  # type: ignore[union-attr]


def pages_beyond_the_last_key(gather: GatherOp) -> None:
    (known,) = (
        op for op in gather.starts.block.ops if isinstance(op, arith.MinSIOp) and op.lhs is gather.starts.block.args[0]
    )
    known.result.replace_all_uses_with(known.lhs)


def every_piece_the_first(gather: GatherOp) -> None:
    gather.starts.block.args[0].replace_all_uses_with(gather.first)


@pytest.mark.parametrize(
    "plant", [zeros_for_absent_pages, places_of_more_than_32_bits, pages_beyond_the_last_key, every_piece_the_first]
)
def test_pages_amiss_are_found(plant: Callable[[GatherOp], None]) -> None:
    spec, module = paged(LATEST, 32, 64)
    amiss = module.clone()
    for gather in [op for op in amiss.walk() if isinstance(op, GatherOp)]:
        plant(gather)

    def is_found(seed: int) -> bool:
        try:
            return paged_disagrees(amiss, spec, 32, seed)
        except IndexError:
            return True  # a table ends where keys do

    assert any(map(is_found, range(10)))


@pytest.mark.parametrize(
    ("mask", "size", "why"),
    [
        (LATEST, 24, "fewer than 16 keys lie side by side"),
        ("i - window < j", 40, "fewer than 16 keys lie side by side"),
    ],
)
def test_pages_that_no_tile_is_made_of_are_refused(mask: str, size: int, why: str) -> None:
    spec = check(Source(PAGED.format(mask=mask), "paged.attn"))
    module, _ = lower(spec, types_with(spec, "bf16"), "triton", {"D": 16, "S": size}, "cuda:90")
    with pytest.raises(NoRoles, match=why):
        roled(kernels(module, "whole")[0])


SLOTS = """attention slots() {
    dims B, H, M, N, D, C
    types T
    input  q    : T[B, M, H, D]
    input  k    : T[C, N, H, D]
    input  v    : T[C, N, H, D]
    input  slot : i64[B]
    output o    : T[B, M, H, D]
    each b in B, h in H, i in M
    over j in N
    o[b,i,h,:] = softmax(q[b,i,h,:] . k[slot[b], j, h, :], j <= i) . v[slot[b], j, h, :]
}"""


@pytest.mark.parametrize("features", [16, 24])
def test_what_is_absent_as_a_whole_is_no_page(features: int) -> None:
    """Of boxes that end behind their tensor NaN would take rows whose keys are all there through the slow path.

    So threads load them.
    """
    spec = check(Source(SLOTS, "slots.attn"))
    module, _ = lower(spec, types_with(spec, "bf16"), "triton", {"D": features}, "cuda:90")
    found = roled(kernels(module, "whole")[0])
    assert not found.boxes and len(found.loaded) == 2


@pytest.mark.parametrize("name", ["gqa", "mla_latent"])
def test_pieces_of_features_agree_with_the_reference(name: str) -> None:
    held(name, "bf16", {"M": 5, "N": 9}, 0, features=48)


@pytest.mark.matrix
@pytest.mark.parametrize("name", APART)
def test_pieces_of_features_agree_with_the_reference_at_all_extents(name: str) -> None:
    for seed, (rows, keys) in enumerate(EXTENTS[APART.index(name) % 3 :: 3]):
        held(name, ("bf16", "f16")[seed % 2], {"M": rows, "N": keys}, seed, features=(80, 48)[seed % 2])


@pytest.mark.matrix
@pytest.mark.parametrize(("rows", "keys"), [(1, 1), (3, 2), (4, 16)])
def test_no_result_depends_on_the_sizes_of_tiles(rows: int, keys: int) -> None:
    for name in ("gqa", "softcap"):
        held(name, "bf16", {"M": 6, "N": 11}, 1, rows, keys)


@pytest.mark.parametrize("name", REFUSED)
def test_what_gets_no_roles_is_told_why(name: str) -> None:
    (kernel,) = kernels(plain(name, "bf16", 64), "whole")
    with pytest.raises(NoRoles, match=REFUSED[name]):
        roled(kernel)


@pytest.mark.matrix
def test_the_gallery_is_taken_or_refused_as_said() -> None:
    taken = set()
    for path in EXAMPLES.glob("*.attn"):
        module = plain(path.stem, "bf16", 64).clone()
        AssignRoles().apply(context(), module)
        if kernels(module, "roles"):
            taken.add(path.stem)
    assert taken == set(TAKEN)


ADDING = """attention adding() {
    dims B, M, N, D
    types T
    input  q : T[M, D]
    input  k : T[N, D]
    input  n : i32[B]
    output o : T[B, D]
    each b in B, i in n[b]
    over j in N
    o[b,:] += softmax(q[i,:] . k[j,:]) . k[j,:]
}
"""


def test_rows_that_add_are_refused() -> None:
    spec = check(Source(ADDING, "adding.attn"))
    text = compile_spec(spec, types_with(spec, "bf16"), "gluon", sizes_of(spec, 64)).source
    assert "# The warps of adding_kernel have no roles: rows add to what a tensor holds.\n" in text


def test_features_that_no_box_has_are_refused() -> None:
    spec = spec_of("mha")
    (kernel,) = kernels(lower(spec, types_with(spec, "bf16"), "triton", {}, "cuda:90")[0], "whole")
    with pytest.raises(NoRoles, match="no power of two from 16 to 256"):
        roled(kernel)


@pytest.mark.parametrize(("name", "extent", "keys"), [("mha", 128, 128), ("mha", 256, 64), ("qk_clip", 64, 64)])
def test_tiles_have_as_many_keys_as_there_is_room_for(name: str, extent: int, keys: int) -> None:
    assert roled(kernels(plain(name, "bf16", extent), "whole")[0]).tile_keys == keys


@pytest.mark.parametrize(
    ("name", "extent", "where"), [("qk_clip", 256, "registers"), ("mla_latent", 192, "shared memory")]
)
def test_what_has_no_room_is_refused(name: str, extent: int, where: str) -> None:
    with pytest.raises(NoRoles, match=f"its tiles have no room in {where}"):
        roled(kernels(plain(name, "bf16", extent), "whole")[0])


def text_of(name: str, element: str = "bf16", extent: int = 128, values: int = 0) -> str:
    spec = spec_of(name)
    return compile_spec(spec, types_with(spec, element), "gluon", sizes_of(spec, extent, values)).source


def test_golden(golden: Callable[[Path, str], None]) -> None:
    golden(Path(__file__).parent / "goldens" / "gqa.gluon", text_of("gqa"))


@pytest.mark.parametrize("name", ["mha", "sliding_window"])
def test_the_text_reads_well(name: str) -> None:
    text = text_of(name)
    assert text == text_of(name)
    ast.parse(text)
    inside = text[text.index(f"@gluon.jit\ndef {name}_") : text.rindex("gl.warp_specialize")]
    assert "tl." not in inside
    assert f"# {name}.attn:" in inside
    assert max(len(line) for line in inside.splitlines() if not line.lstrip().startswith("#")) <= 130


def test_boxes_end_where_features_do() -> None:
    text = text_of("mha", extent=72)
    assert "_boxes(k, [1, 1, 128, 64])" in text and "_boxes(k, [1, 1, 128, 16], end=72)" in text


def test_what_gets_no_roles_is_the_plain_file() -> None:
    spec = spec_of("dropout")
    types, sizes = types_with(spec, "bf16"), sizes_of(spec, 64)
    text = compile_spec(spec, types, "gluon", sizes).source
    assert f"# The warps of dropout_kernel have no roles: {REFUSED['dropout']}" in text
    said = [line for line in text.splitlines() if line.startswith("# The warps")]
    assert len(said) == 1 and "gluon" not in text


TEMPLATE = """attention drawn(window: int = 3, cap: f32 = 2.0) {{
    dims B, H, M, N, D, E
    types T
    input  q : T[B, H, M, D]
    input  k : T[B, N, H, D]
    input  v : T[N, B, H, E]
    input  a : f32[H, M]
    output o : T[B, H, M, E]
    each b in B, h in H, i in M
    over j in N
    let s = q[b,h,i,:] . k[b,j,h,:]
    score = {score}
    {mask}
    o[b,h,i,:] = {weights} . v[j,b,h,:]
}}
"""

SCORES = (
    "s / sqrt(D)",
    "cap * tanh(s / cap)",
    "s - a[h,i] * (i - j)",
    "s * a[h,i] + j",
    "abs(s) - cap",
    "maximum(s, 0.0)",
)

MASKS = (
    "",
    "mask = j <= i",
    "mask = j >= i + (N - M)",
    "mask = i - window < j <= i + window",
    "mask = j != i",
    "mask = (i + j) % window == 0",
    "mask = j <= i or j > i + window",
)


def drawn(score: str, mask: str) -> Spec:
    """A spec of a score and a mask, if any."""
    weights = "softmax(score, mask)" if mask else "softmax(score)"
    return check(Source(TEMPLATE.format(score=score, mask=mask, weights=weights), "drawn.attn"))


BESIDE = """attention beside() {
    dims B, M, N, D
    types T
    input  q  : T[B, M, D]
    input  kv : T[B, N, 2 * D]
    output o  : T[B, M, D]
    each b in B, i in M
    over j in N
    o[b,i,:] = softmax(q[b,i,:] . kv[b,j,:D] / sqrt(D)) . kv[b,j,D:]
}
"""


@pytest.mark.parametrize("features", [24, 40, 48])
def test_what_lies_beside_the_features_of_keys_is_not_multiplied(features: int) -> None:
    """Keys are padded with 0, and not with what a fused tensor holds beside them: Inf times 0 would be NaN."""
    spec = check(Source(BESIDE, "beside.attn"))
    module, _ = lower(spec, types_with(spec, "bf16"), "triton", sizes_of(spec, features), "cuda:90")
    AssignRoles(rows=2, keys=4).apply(context(), module)
    module.verify()
    assert kernels(module, "roles")
    case = Case.make(spec, "bf16", 0, {"B": 2, "D": features, "M": 5, "N": 9})
    case.arrays["kv"][..., features:] = encode(np.full((2, 9, features), np.inf), "bf16")
    found = interpret(module, case.arrays, case.dims, case.params, {**SMALL_CHOICES, "SPLITS": 1})
    assert np.all(decode(found["o"], "bf16") == np.inf)


@pytest.mark.matrix
@pytest.mark.parametrize("mask", MASKS)
def test_masks_and_scores_in_any_combination(mask: str) -> None:
    for seed, score in list(enumerate(SCORES))[MASKS.index(mask) % 2 :: 2]:
        spec = drawn(score, mask)
        features, values = ((16, 16), (48, 16), (24, 80))[seed % 3]
        module, _ = lower(spec, types_with(spec, "bf16"), "triton", sizes_of(spec, features, values), "cuda:90")
        ApproximateFunctions().apply(context(), module)
        AssignRoles(rows=1 + seed % 3, keys=(1, 4, 16)[seed % 3]).apply(context(), module)
        module.verify()
        assert kernels(module, "roles")
        for place, (rows, keys) in enumerate(EXTENTS[seed % 2 :: 2]):
            case = Case.make(spec, "bf16", seed, {"B": 2, "H": 2, "D": features, "E": values, "M": rows, "N": keys})
            case = case.poisoned() if (seed // 2 + place) % 2 else case  # what meets NaN takes slow paths
            for chosen in choices_of(module):
                arrays = {name: array.copy() for name, array in case.arrays.items()}
                found = interpret(module, arrays, case.dims, case.params, chosen)
                case.check("assign-roles", found, narrowed=True)


# --- what registers and shared memory have room for


def found_in(name: str, features: int, values: int = 0) -> set[str]:
    """How consumers hold queries, begin products and put results down: of a spec whose rows have so many features."""
    spec = spec_of(name)
    module, _ = lower(spec, types_with(spec, "bf16"), "gluon", sizes_of(spec, features, values), "cuda:90")
    ops = [op for kernel in kernels(module, "roles") for op in operations(kernel)]
    factors = [op for op in ops if isinstance(op, roles.OperandOp) and op.shared is None]
    outboxes = [op for op in ops if isinstance(op, OutboxOp)]
    found = {
        "held": any(isinstance(op.value.owner, roles.ViewOp | tile.LoadOp) for op in factors),
        "in order": any(isinstance(op, OrderOp) for op in ops),
        "outbox": any(op.within is None for op in outboxes),
        "through": any(op.within is not None for op in outboxes),
    }
    return {word for word, is_so in found.items() if is_so}


@pytest.mark.parametrize(
    ("name", "features", "values", "found"),
    [
        ("mha", 64, 64, {"held", "in order", "outbox"}),
        ("mha", 128, 128, {"held", "outbox"}),
        ("mha", 256, 256, {"through"}),
        ("mha", 192, 128, {"through"}),
        ("causal_end", 64, 64, {"held", "outbox"}),
        ("causal_end", 128, 128, {"outbox"}),  # places of rows take the registers of queries
        ("gqa", 64, 64, {"held", "outbox"}),  # packed heads are a box, too
        ("cross_attention", 64, 64, {"held", "outbox"}),  # data say how many keys there are
        ("sliding_window", 64, 64, {"outbox"}),  # few turns
        ("chunked_local", 64, 64, {"outbox"}),  # a mask of rows in full tiles, too: in no order
    ],
)
def test_what_lies_where(name: str, features: int, values: int, found: set[str]) -> None:
    assert found_in(name, features, values) == found


@pytest.mark.parametrize(("name", "features"), [("mha", 256), ("causal_end", 256)])
@pytest.mark.parametrize("dims", [{"M": 5, "N": 9}, {"M": 1, "N": 0}, {"M": 9, "N": 3}])
def test_results_leave_through_the_stages_of_queries(name: str, features: int, dims: dict[str, int]) -> None:
    assert any(isinstance(op, OutboxOp) and op.within for op in with_roles(name, "bf16", 2, 4, features).walk())
    held(name, "bf16", dims, 3, features=features)


# --- mixed tiles first, and heads that go together


def loops_over_tiles(name: str, features: int = 64) -> int:
    """How many loops over tiles a consumer has, of a kernel whose full tiles are apart."""
    module, _ = lower(spec_of(name), types_with(spec_of(name), "bf16"), "gluon", sizes_of(spec_of(name), features))
    (kernel,) = kernels(module, "roles")
    consumers = next(op for op in operations(kernel) if isinstance(op, roles.ConsumersOp))
    (walk,) = (op for op in operations(consumers) if isinstance(op, walks.WalkOp))
    return sum(isinstance(op, tile.LoopOp) for op in walk.body.block.ops)


@pytest.mark.parametrize(("name", "count"), [("mha", 1), ("padding", 1), ("causal_end", 2)])
def test_a_loop_masks_nothing_where_one_tile_is_mixed_at_most(name: str, count: int) -> None:
    assert loops_over_tiles(name) == count


@pytest.mark.parametrize("name", ["sliding_window", "document_mask"])
def test_one_loop_has_all_tiles_where_each_tile_of_rows_has_its_own_first_key(name: str) -> None:
    assert loops_over_tiles(name) == 1


def of_role(module: ModuleOp, role: type[roles.RoleOp], hint: str) -> Operation:
    """What computes a value of a role that is called so."""
    found = [each for kernel in kernels(module, "roles") for each in kernel.body.block.ops if isinstance(each, role)]
    ops = [op for each in found for op in operations(each)]
    return next(op for op in ops if op.results and (op.results[0].name_hint or "").partition("_")[0] == hint)


def a_mixed_tile_that_is_taken_for_full(module: ModuleOp) -> None:
    for role in (roles.ConsumersOp, roles.ProducerOp):
        mixed = of_role(module, role, "mixed")
        one = index_constant(1)
        less = arith.SubiOp(mixed.results[0], one.result)
        mixed.results[0].replace_all_uses_with(less.result)
        less.operands[0] = mixed.results[0]
        assert mixed.parent is not None
        mixed.parent.insert_ops_after([one, less], mixed)


def tiles_that_only_one_role_walks_so(module: ModuleOp) -> None:
    mixed = of_role(module, roles.ProducerOp, "mixed")
    zero = index_constant(0)
    assert mixed.parent is not None
    mixed.parent.insert_op_before(zero, mixed)
    mixed.results[0].replace_all_uses_with(zero.result)


@pytest.mark.parametrize("plant", [a_mixed_tile_that_is_taken_for_full, tiles_that_only_one_role_walks_so])
@pytest.mark.parametrize("name", ["causal_end", "sliding_window", "document_mask"])
def test_roles_that_take_mixed_tiles_for_others_are_found(name: str, plant: Callable[[ModuleOp], None]) -> None:
    module, dims = with_roles(name, "bf16", 2, 4), {"M": 9, "N": 14}
    assert not disagrees(module, name, dims)
    plant(module)
    assert disagrees(module, name, dims)


def sections_of(module: ModuleOp, many: int) -> walks.SectionOp:
    """The place where a role takes tiles in sections of so many heads, which a test chooses."""
    found = [op for op in module.walk() if isinstance(op, walks.SectionOp)]
    for section in found:
        number = index_constant(many)
        assert section.parent is not None
        section.parent.insert_op_before(number, section)
        section.operands[list(section.operands).index(section.many)] = number.result
    return found[0]


@pytest.mark.parametrize("many", [1, 2, 3, 7])
def test_heads_that_go_together_leave_no_tile_out(many: int) -> None:
    module = with_roles("causal_end", "bf16", 2, 4)
    sections_of(module, many)
    agree(module, spec_of("causal_end"), "bf16", {"B": 1, "H": 5, "M": 9, "N": 7}, 0)


def test_a_tile_that_is_taken_twice_is_found() -> None:
    module = with_roles("causal_end", "bf16", 2, 4)
    for section in [op for op in module.walk() if isinstance(op, walks.SectionOp)]:
        half = arith.FloorDivSIOp(section.number, index_constant(2))
        assert section.parent is not None and isinstance(half.rhs.owner, Operation)
        section.parent.insert_ops_before([half.rhs.owner, half], section)
        section.result.replace_all_uses_with(half.result)
    assert disagrees(module, "causal_end", {"M": 9, "N": 7})


@given(st.integers(1, 12), st.integers(1, 9), st.integers(1, 15))
def test_a_section_takes_each_tile_once(places: int, tiles: int, many: int) -> None:
    """By the interpreter, and by the function that files have: all of a section have their first tiles first."""
    grid = Grid((tuple(range(places)), tuple(range(tiles))))
    taken = [grid.in_section(number, many) for number in range(grid.size + 3)]
    assert sorted(taken[: grid.size]) == list(range(grid.size)) and min(taken[grid.size :], default=0) >= 0
    assert taken[grid.size :] == [grid.size, grid.size + 1, grid.size + 2]
    first = taken[: min(many, places)]
    assert [number // tiles for number in first] == list(range(len(first))) and {n % tiles for n in first} == {0}

    def where(condition: Any, value: Any, other: Any) -> Any:
        return SimpleNamespace(to=np.where(condition, value, other).astype)

    gl = SimpleNamespace(maximum=np.maximum, minimum=np.minimum, where=where, int32=np.int32)
    known: dict[str, Any] = {"gluon": SimpleNamespace(jit=lambda function: function), "gl": gl}
    exec(SECTIONS, known)
    numbers = np.arange(grid.size + 3)
    assert known["_in_section"](numbers, many, grid.size, tiles).tolist() == taken
