"""Rows of several heads that are boxes: how many heads stand beside one another, and what a wrong number does."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from attndsl.backends.gluon.helpers import DESCRIPTOR, HEADS, OUTSIDE
from attndsl.backends.gpu.choosing import BOX_STRIDES
from attndsl.checking.check import check
from attndsl.checking.typed import Spec
from attndsl.choices import ROLES
from attndsl.driver.compile import compile_spec, lower
from attndsl.ir import tile
from attndsl.ir.context import context
from attndsl.ir.coroutines import RolesFail
from attndsl.ir.interpret import SMALL_CHOICES, interpret
from attndsl.ir.packs import packed
from attndsl.ir.rewrite import index_constant, insert_before
from attndsl.ir.rings import BoxesOp, RingOp
from attndsl.ir.xdsl import IntegerAttr, ModuleOp, VerifyException, arith, index
from attndsl.op.forms import launched
from attndsl.passes.assign_roles import AssignRoles
from attndsl.syntax.source import Source
from attndsl.testing.case import Case, Disagreement, types_with

from .test_roles import EXAMPLES, agree, kernels, plain, sizes_of, spec_of, with_roles

GROUPS = (1, 2, 3, 4, 5, 6, 8, 12)
"""Heads that share keys: some that divide the rows of a consumer, multiples of these, and others."""


def boxes_of(module: ModuleOp) -> dict[str, BoxesOp]:
    """The boxes whose rows are packed, by the names of their tensors."""
    found = [op for kernel in kernels(module, "roles") for op in kernel.walk() if isinstance(op, BoxesOp)]
    return {op.tensor.string_value(): op for op in found if op.pack is not None}


def run(module: ModuleOp, name: str, group: int, seed: int = 1) -> None:
    """Raises Disagreement, or RolesFail, where a kernel with roles is not right for groups of so many heads."""
    few = {"B": 2, "Hq": 2 * group, "Hkv": 2, "H": group, "M": 7, "N": 7, "D": 16, "E": 16}
    spec = spec_of(name)
    case = Case.make(spec, "bf16", seed, {dim: few[dim] for dim in spec.dims}).poisoned()
    found = interpret(module, case.arrays, case.dims, case.params, {**SMALL_CHOICES, "SPLITS": 1})
    case.check("assign-roles", found, narrowed=True)


@pytest.mark.parametrize("group", GROUPS)
def test_rows_of_several_heads_are_boxes(group: int) -> None:
    module = with_roles("gqa", "bf16", 4, 4)
    assert boxes_of(module).keys() == {"q", "o"}
    run(module, "gqa", group)


@pytest.mark.parametrize("heads", GROUPS)
def test_rows_of_all_heads_are_boxes(heads: int) -> None:
    """Where all heads of a call share keys no program says which heads a tile has, but for one that is made."""
    module = with_roles("mqa", "bf16", 4, 4)
    assert boxes_of(module).keys() == {"q", "o"}
    run(module, "mqa", heads)


OF_ALL_HEADS = {
    "a score of each head": [("/ sqrt(D)", "/ sqrt(D) + h * 0.25")],
    "causal from the start": [("j <= i + (N - M)", "j <= i")],
}


@pytest.mark.parametrize("changes", OF_ALL_HEADS.values(), ids=OF_ALL_HEADS)
def test_what_rests_on_heads_is_that_of_each(changes: list[tuple[str, str]]) -> None:
    spec = changed("mqa", *changes)
    module = with_roles_of(spec)
    assert boxes_of(module).keys() == {"q", "o"}
    for seed in range(3):
        agree(module, spec, "bf16", {"B": 2, "H": 6, "M": 7, "N": 9}, seed)


def test_places_are_no_heads() -> None:
    """Rows that all see the same keys are counted through places first: of an odd number no tile of rows is a box."""
    spec = changed("mqa", ("    mask  = j <= i + (N - M)\n", ""), ("softmax(score, mask)", "softmax(score)"))
    module = with_roles_of(spec)
    assert not boxes_of(module)
    agree(module, spec, "bf16", {"B": 2, "H": 6, "M": 7, "N": 9}, 0)


def test_a_variable_of_a_spec_may_be_called_as_packs_are() -> None:
    """A launch counts what each has: batches, and packs of heads."""
    spec = changed("mqa", ("each b in B", "each pack in B"), ("[b,", "[pack,"))
    made = compile_spec(spec, types_with(spec, "bf16"), "gluon", sizes_of(spec, 64))
    sizes = {"B": 3, "H": 128, "M": 8, "N": 1024, "D": 64, "E": 64}
    assert launched(made, sizes, {}, {ROLES: 1}) == [("mqa_roles_kernel", 3 * 8)]


def test_what_is_looked_for_of_each_of_all_heads_is_found_once() -> None:
    """No box is a part of the heads then: programs of several parts had the same place."""
    inputs = "types T, I = i32 | i64\n    input document : I[N]\n    input least : I[H]"
    mask = ("j <= i + (N - M)", "document[j] >= least[h]")
    rows = [("dims B, H, M", "dims B, H"), ("B, H, M", "B, H, N"), ("i in M", "i in N")]
    spec = changed("mqa", ("types T", inputs), mask, *rows)
    module = with_roles_of(spec)
    assert not boxes_of(module)
    agree(module, spec, "bf16", {"B": 2, "H": 6, "N": 9}, 0)


@pytest.mark.parametrize("group", [3, 4, 6])
def test_what_is_looked_for_is_looked_for_in_the_same_rows(group: int) -> None:
    """Where keys begin and end is found for each tile of rows: both kernels number these alike."""
    module = with_roles("document_mask", "bf16", 4, 4)
    looks = [op for op in module.walk() if isinstance(op, tile.KernelOp) and op.scheduled_as is not None]
    assert sum(any(isinstance(op, tile.PackOp) for op in look.walk()) for look in looks) == 1
    run(module, "document_mask", group)


def changed(name: str, *changes: tuple[str, str]) -> Spec:
    """A spec of the gallery with some of its text replaced."""
    text = (EXAMPLES / f"{name}.attn").read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return check(Source(text, f"{name}.attn"))


def with_roles_of(spec: Spec) -> ModuleOp:
    module = lower(spec, types_with(spec, "bf16"), "triton", sizes_of(spec, 16), "cuda:90")[0]
    AssignRoles(rows=4, keys=4).apply(context(), module)
    module.verify()
    assert kernels(module, "roles")
    return module


LOOKED = {
    "document[b,i] == document[b,j]": "document : I[B, N]",
    "document[g,i] == document[g,j]": "document : I[Hkv, N]",
    "document[j] >= least[h]": "document : I[N]\n    input  least : I[Hq]",
    "document[g,j] >= least[h]": "document : I[Hkv, N]\n    input  least : I[Hq]",
    "document[j] == least[h,i]": "document : I[N]\n    input  least : I[Hq, N]",
    "document[b,j] >= least[i]": "document : I[B, N]\n    input  least : I[N]",
}
"""Masks of data, of heads of queries and of keys, and what they read."""


@pytest.mark.parametrize("mask", LOOKED)
def test_what_is_looked_for_of_each_head_is_found_once(mask: str) -> None:
    """Its tiles of rows are those of a head of keys: of those of queries several programs had the same place."""
    before = ("input  document : I[B, N]", "document[b,i] == document[b,j]")
    spec = changed("document_mask", (before[0], f"input  {LOOKED[mask]}"), (before[1], mask))
    module = with_roles_of(spec)
    agree(module, spec, "bf16", {"B": 2, "Hq": 6, "Hkv": 2, "N": 9}, 0)


def test_a_loop_that_asks_of_each_tile_may_have_stages_beside_keys() -> None:
    """Two biases have one each, which a turn waits for before it releases values."""
    inputs = ("output o ", "input  bi : T[H, N, N]\n    input  bj : T[H, N, N]\n    output o ")
    heads = [("B, Hq, Hkv, N", "B, H, N"), ("B, Hq,  N", "B, H, N"), ("B, Hkv, N", "B, H, N"), ("h in Hq", "h in H")]
    heads += [("    require Hq % Hkv == 0\n", ""), ("    let g = h / (Hq / Hkv)\n", ""), ("[b,g,j,:]", "[b,h,j,:]")]
    spec = changed("document_mask", inputs, *heads, ("sqrt(D)", "sqrt(D) + bi[h,i,j] + bj[h,i,j]"))
    module = lower(spec, types_with(spec, "bf16"), "triton", sizes_of(spec, 128), "cuda:90")[0]
    AssignRoles(rows=4, keys=4).apply(context(), module)
    module.verify()
    agree(module, spec, "bf16", {"B": 1, "H": 2, "N": 17}, 1, 128)


def test_heads_that_scores_ask_for_stay_as_they_are() -> None:
    """A spec may count the heads of a group in its scores: these are all of them, however many a tile has."""
    assert not boxes_of(with_roles_of(changed("gqa", ("/ sqrt(D)", "/ sqrt(D) + (i % (Hq / Hkv)) * 0.5"))))


def test_heads_that_tell_where_results_lie_stay_as_they_are() -> None:
    """What takes the number of heads may give nothing, as a store."""
    places = ("output o : T[B, Hq,  M, E]", "output o : T[B, Hq, M, 7, E]")
    spec = changed("gqa", places, ("o[b,h,i,:] =", "o[b,h,i,Hq / Hkv,:] ="))
    module = with_roles_of(spec)
    assert not boxes_of(module)
    agree(module, spec, "bf16", {"B": 2, "Hq": 6, "Hkv": 2, "M": 5, "N": 9}, 0)


def test_queries_of_rows_that_are_absent_are_copied_and_left_out() -> None:
    """A box of the rows of a request has some of the next one: nothing of these is stored, nor tested."""
    module = with_roles("packed_ragged", "bf16", 4, 4)
    assert boxes_of(module).keys() == {"q", "o"}
    module = plain("packed_ragged", "bf16", 16).clone()
    for total in [op for op in module.walk() if isinstance(op, tile.SumOp)]:
        if isinstance(total.body.owner, arith.SelectOp):
            total.operands[0] = total.body.owner.lhs  # a test of all rows, be they there or not
    AssignRoles(rows=4, keys=4).apply(context(), module)
    assert not boxes_of(module)


def all_heads(module: ModuleOp) -> None:
    """Tiles have all heads of a group, of which some rows are no box."""
    for op in [op for op in module.walk() if isinstance(op, tile.PackOp)]:
        op.result.replace_all_uses_with(op.count)


def keys_of_another_head(module: ModuleOp) -> None:
    """A tile has the keys of the head that its queries would have if each had its own."""
    (pack,) = (op for kernel in kernels(module, "roles") for op in kernel.walk() if isinstance(op, tile.PackOp))
    packs = next(op for op in tile.users(pack.result) if isinstance(op, arith.FloorDivSIOp) and op.lhs is pack.count)
    one = insert_before(packs, index_constant(1))
    for op in tile.users(packs.result):
        if isinstance(op, arith.FloorDivSIOp):
            op.operands[1] = one


def heads_before_places(module: ModuleOp) -> None:
    """A copy goes through places before it goes to the next head."""
    for op in module.walk():
        if isinstance(op, RingOp) and op.across is not None:
            (rows, last), across = op.box, op.across.value.data
            op.properties["along"] = type(op.along)([IntegerAttr(across, index), IntegerAttr(last, index)])
            op.across = IntegerAttr(rows, index)


@pytest.mark.parametrize(
    ("plant", "group"), [(all_heads, 3), (all_heads, 6), (keys_of_another_head, 3), (heads_before_places, 2)]
)
def test_a_planted_bug_is_found(plant: Callable[[ModuleOp], None], group: int) -> None:
    module = with_roles("gqa", "bf16", 4, 4)
    run(module, "gqa", group)
    plant(module)
    with pytest.raises((RolesFail, Disagreement)):
        run(module, "gqa", group)


@pytest.mark.parametrize(
    ("across", "said"),
    [
        (None, "says across which axis how many heads lie"),
        (3, "heads lie across an axis of the tensor"),
        (2, "heads lie across another axis than places"),
    ],
)
def test_heads_lie_across_an_axis_of_their_own(across: int | None, said: str) -> None:
    module = with_roles("gqa", "bf16", 4, 4)
    boxes_of(module)["q"].across = None if across is None else IntegerAttr(across, index)
    with pytest.raises(VerifyException, match=re.escape(said)):
        module.verify()


def test_a_launch_packs_as_many_heads_as_the_level_says() -> None:
    host: dict[str, Callable[[int, int], int]] = {}
    exec(HEADS, host)
    for rows in (1, 16, 64):
        for count in range(300):
            assert host["_pack"](count, rows) == packed(count, rows)
            assert rows % packed(count, rows) == 0 or packed(count, rows) % rows == 0
            assert count % packed(count, rows) == 0


@pytest.mark.parametrize(("name", "features"), [("gqa", 16), ("packed_ragged", 16), ("gqa", 72), ("paged_prefill", 64)])
def test_boxes_are_told_of_tensors_that_a_call_is_given(name: str, features: int) -> None:
    """A call that is made again finds whose boxes they are by the tensor itself: a view of one is another tensor."""
    spec = spec_of(name)
    source = compile_spec(spec, types_with(spec, "bf16"), "gluon", sizes_of(spec, features)).source
    calls = [call for call in ast.walk(ast.parse(source)) if isinstance(call, ast.Call)]
    boxes = [call.args[0] for call in calls if isinstance(call.func, ast.Name) and call.func.id == "_boxes"]
    given = {*spec.tensors}
    assert boxes and all(isinstance(base, ast.Name) and base.id in given for base in boxes)


def test_boxes_may_go_through_axes_in_another_order_and_end_before() -> None:
    torch = pytest.importorskip("torch")
    layouts = SimpleNamespace(get_default_for=lambda sizes, element: (tuple(sizes), element))
    gluon = SimpleNamespace(NVMMASharedLayout=layouts, bfloat16="bf16")
    host: dict[str, Any] = {"gl": gluon, "TensorDescriptor": lambda *given: given}
    exec(BOX_STRIDES + DESCRIPTOR.format(**dict.fromkeys(OUTSIDE, "")), host)
    x = torch.zeros(2, 8, 5, 80, dtype=torch.bfloat16)
    found = host["_boxes"](x, [1, 16, 4, 64], order=(0, 2, 1, 3), end=72)
    assert found[0] is x
    assert found[1:] == ([2, 5, 8, 72], [3200, 80, 400, 1], [1, 16, 4, 64], ((1, 16, 4, 64), "bf16"))
    assert host["_boxes"](x, [1, 1, 4, 64])[1:3] == ([2, 8, 5, 80], [3200, 400, 80, 1])
