"""Turns of several scores, as gradients have: against the reference in the IR's interpreter, and what is planted."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from attndsl.checking.check import check
from attndsl.driver.compile import compile_spec, lower
from attndsl.ir import roles, tile
from attndsl.ir.analyses.role_parts import NoRoles
from attndsl.ir.analyses.roled import roled
from attndsl.ir.analyses.roles_gain import NoGain, enough_for
from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.context import context
from attndsl.ir.rewrite import index_constant
from attndsl.ir.rewrite import replace as replace_with
from attndsl.ir.rings import RelayOp, RingOp, barred, barriers_of, completes, holders_of, relays_with
from attndsl.ir.statements import of_kind, operations
from attndsl.ir.xdsl import ModuleOp, Operation, VerifyException, arith
from attndsl.passes.assign_roles import AssignRoles
from attndsl.syntax.source import Source
from attndsl.testing.case import types_with

from .test_compile import FEW, compiled, no_loop_spills
from .test_roles import EXTENTS, agree, disagrees, kernels, plain, sizes_of, spec_of, with_roles

TURNED = {
    "causal_end backward": 2,
    "differential": 1,
    "document_mask backward": 2,
    "gqa backward": 2,
    "lse backward": 2,
    "mha backward": 2,
    "mqa backward": 2,
    "padding backward": 1,
    "prefix_lm backward": 2,
    "relu_attention backward": 2,
    "sliding_window backward": 2,
    "softcap backward": 2,
}
"""Specs, and how many kernels of each get roles."""


def turned(name: str) -> ModuleOp:
    module = with_roles(name, "bf16", 2, 4)
    assert len(kernels(module, "roles")) == TURNED[name]
    return module


@pytest.mark.parametrize("name", ["causal_end backward", "differential", "gqa backward"])
def test_turns_agree_with_the_reference(name: str) -> None:
    agree(turned(name), spec_of(name), "bf16", {"M": 5, "N": 9}, 0)


@pytest.mark.matrix
@pytest.mark.parametrize("name", TURNED)
def test_turns_agree_with_the_reference_at_all_extents(name: str) -> None:
    for seed, (rows, keys) in enumerate(EXTENTS[list(TURNED).index(name) % 2 :: 2]):
        agree(turned(name), spec_of(name), "bf16", {"M": rows, "N": keys}, seed)


def keys_and_values(module: ModuleOp) -> tile.KernelOp:
    """The kernel of causal heads that sums up gradients of keys and of values."""
    return kernels(module, "roles")[-1]


def in_turns(module: ModuleOp, kind: type[Operation]) -> list[Operation]:
    loops = [op for op in operations(keys_and_values(module)) if isinstance(op, tile.LoopOp)]
    return [op for loop in loops for op in loop.body.block.ops if isinstance(op, kind)]


def scores_of_the_same_turn(module: ModuleOp) -> None:
    for op in in_turns(module, arith.MinSIOp):
        if op.results[0].name_hint == "after":
            turn = op.parent.args[0]  # type: ignore[union-attr]
            op.results[0].replace_all_uses_with(turn)


def scores_of_another_row(module: ModuleOp) -> None:
    for op in in_turns(module, roles.AlongOp):
        shifted = arith.MulfOp(op.operands[0], op.operands[0])
        assert op.parent is not None
        op.parent.insert_op_before(shifted, op)
        op.operands[0] = shifted.result


def numbers_that_are_not_handed_on(module: ModuleOp) -> None:
    for op in in_turns(module, roles.HandOp):
        replace_with(op, [])


def numbers_that_are_handed_on_before_there_is_room(module: ModuleOp) -> None:
    for op in in_turns(module, roles.HandOp):
        first = next(each for each in in_turns(module, roles.WaitOp) if each.parent is op.parent)
        op.detach()
        first.parent.insert_op_before(op, first)  # type: ignore[union-attr]


def numbers_that_are_not_released(module: ModuleOp) -> None:
    for op in in_turns(module, roles.ReleaseOp):
        assert isinstance(op, roles.ReleaseOp)
        if isinstance(op.holder, RingOp | RelayOp) and relays_with(op.holder):
            replace_with(op, [])


def weights_that_are_not_masked(module: ModuleOp) -> None:
    for op in in_turns(module, arith.SelectOp):
        if len(AxesAnalysis()(op.results[0])) == 2:
            op.results[0].replace_all_uses_with(op.operands[1])


def a_tile_that_is_released_before_the_next_scores(module: ModuleOp) -> None:
    """Where there is one turn only, the last product reads it once more."""
    for loop in (op for op in operations(keys_and_values(module)) if isinstance(op, tile.LoopOp)):
        waits = [op for op in loop.body.block.ops if isinstance(op, roles.AwaitOp)]
        free = [
            op for op in loop.body.block.ops if isinstance(op, roles.ReleaseOp) and op.ring.string_value() == "q_ring"
        ]
        if free:
            free[0].detach()  # type: ignore[no-untyped-call]
            loop.body.block.insert_op_before(free[0], waits[-1])


@pytest.mark.parametrize(
    ("name", "plant"),
    [
        ("mha backward", scores_of_the_same_turn),
        ("mha backward", scores_of_another_row),
        ("mha backward", a_tile_that_is_released_before_the_next_scores),
        ("causal_end backward", numbers_that_are_not_handed_on),
        ("causal_end backward", numbers_that_are_handed_on_before_there_is_room),
        ("causal_end backward", numbers_that_are_not_released),
        ("causal_end backward", weights_that_are_not_masked),
    ],
)
def test_what_is_amiss_in_a_turn_is_found(name: str, plant: Callable[[ModuleOp], None]) -> None:
    module = turned(name)
    plant(module)
    assert any(disagrees(module, name, {"M": 9, "N": 9}, seed) for seed in range(2))


def test_all_that_a_turn_takes_is_full_at_once() -> None:
    """Who copies arrives, and who hands on: a ring beside which nothing is handed on waits for one."""
    kernel = keys_and_values(turned("causal_end backward"))
    taken = [op for op in holders_of(kernel) if isinstance(op, RingOp | RelayOp) and op.readers.value.data == 2]
    assert len(taken) == 4
    (ring,) = (op for op in taken if barred(op))
    assert isinstance(ring, RingOp) and barriers_of(ring) == {"full": 2, "empty": 2}
    assert [completes(op) for op in relays_with(ring)] == [True, False]
    (held,) = (op for op in of_kind(kernel, RingOp) if barred(op) and op is not ring)
    assert barriers_of(held)["full"] == 1


def no_numbers(hands: list[roles.HandOp]) -> None:
    for op in hands:
        replace_with(op, [])


def not_the_last_numbers(hands: list[roles.HandOp]) -> None:
    for op in hands:
        if completes(op.relay):
            replace_with(op, [])


def numbers_twice(hands: list[roles.HandOp]) -> None:
    for op in hands:
        if completes(op.relay):
            assert op.parent is not None
            op.parent.insert_ops_after([each.clone() for each in hands if each.parent is op.parent], op)


@pytest.mark.parametrize("plant", [no_numbers, not_the_last_numbers, numbers_twice])
def test_what_is_copied_is_handed_on_too_and_once(plant: Callable[[list[roles.HandOp]], None]) -> None:
    """Else its barrier waits for ever, or is a phase ahead of what lies in the stage."""
    module = turned("causal_end backward")
    plant(of_kind(keys_and_values(module), roles.HandOp))
    with pytest.raises(VerifyException, match=r"@q_ring is copied and handed on|beside @q_ring is handed on once"):
        module.verify()


@pytest.mark.parametrize("name", ["causal_end backward", "dense_bias", "int8_cache", "document_mask"])
def test_where_a_tile_begins_has_64_bits_in_an_address(name: str) -> None:
    """It is counted in 32, and the last stride has as many: a transposed tensor lies further apart."""
    spec = spec_of(name)
    text = compile_spec(spec, types_with(spec, "bf16"), "gluon", sizes_of(spec, 64)).source
    roles_alone = [part for part in text.split("\n@") if part.startswith("gluon.jit")]
    addresses = [found for part in roles_alone for found in re.findall(r"\w+_ptr \+\s[^,]*?_s\d+\b[^,]*", part)]
    assert addresses
    short = r"(?<![\w.])[ij]0(?:_\d+)? \* \w+_s\d"
    assert not [each for each in addresses if re.search(short, each)]


def test_queries_in_registers_leave_their_stage_behind_a_fence() -> None:
    """There may be no turn, whose products would have needed them."""
    module = turned("causal_end backward")
    fenced = [op for op in of_kind(keys_and_values(module), roles.ReleaseOp) if op.fenced is not None]
    assert fenced
    for op in fenced:
        op.fenced = None
    with pytest.raises(VerifyException, match="before anything has needed what was read from it"):
        module.verify()


def test_a_head_of_a_group_that_is_another_is_found() -> None:
    """Each turn is taken for one of the first head: what the role that copies reads is another one's."""
    module = turned("gqa backward")
    values = [op for op in operations(keys_and_values(module)) if op.results and op.results[0].name_hint == "t"]
    for op in (op for op in values if isinstance(op, arith.FloorDivSIOp)):
        zero = index_constant(0)
        assert op.parent is not None
        op.parent.insert_op_before(zero, op)
        op.result.replace_all_uses_with(zero.result)
    assert any(disagrees(module, "gqa backward", {"M": 9, "N": 9}, seed) for seed in range(2))


def test_a_sum_is_not_awaited_in_another_turn() -> None:
    module = turned("mha backward")
    for op in in_turns(module, roles.AwaitOp):
        if op.results[0].name_hint == "sums":
            op.operands[0].replace_all_uses_with(op.results[0])
            break
    with pytest.raises(VerifyException):
        module.verify()


def test_both_sums_of_a_pair_are_masked_by_one_choice() -> None:
    """A gradient of scores is a weight times another number: where the weight is 0, so is it."""
    axes = AxesAnalysis()
    for kernel in kernels(plain("causal_end backward", "bf16", 16), "whole"):
        for loop in (op for op in kernel.body.block.ops if isinstance(op, tile.LoopOp)):
            chosen = [op for op in loop.body.block.ops if isinstance(op, arith.SelectOp) and len(axes(op.result)) == 2]
            assert len(chosen) == (1 if loop.is_mixed else 0)


SEVERAL = """attention several {{
    dims M, N, D
    types T
    input  q : T[M, D]
    input  k : T[N, D]
    input  v : T[N, D]
    output a : T[M, D]
    output b : T[M, D]
    each i in M
    over j in N
    let p = sigmoid(q[i,:] . k[j,:])
    mask = j <= i
    a[i,:] = sum(p * v[j,:], mask)
    b[i,:] = sum({} * v[j,:], mask)
}}
"""


@pytest.mark.parametrize(
    ("weight", "choices"),
    [
        ("p * (q[i,:] . k[j,:])", 1),
        ("p * p * (q[i,:] . k[j,:])", 1),
        ("p * p", 2),
        ("p * exp(8.0 * (j - i))", 2),
    ],
)
def test_a_weight_is_a_factor_of_another(weight: str, choices: int) -> None:
    """It may be one twice, and what it is multiplied with may overflow where a row does not see: that is masked."""
    spec, axes = check(Source(SEVERAL.format(weight), "several.attn")), AxesAnalysis()
    module, _ = lower(spec, types_with(spec, "bf16"), "triton", sizes_of(spec, 16), "cuda:90")
    agree(module, spec, "bf16", {"M": 9, "N": 9}, 0)
    mixed = [op for op in of_kind(kernels(module, "whole")[0], tile.LoopOp) if op.is_mixed]
    chosen = [op for op in mixed[0].body.block.ops if isinstance(op, arith.SelectOp) and len(axes(op.result)) == 2]
    assert len(chosen) == choices
    AssignRoles(rows=2, keys=4).apply(context(), module)
    assert kernels(module, "roles")
    agree(module, spec, "bf16", {"M": 9, "N": 9}, 1)


def test_one_look_tells_whether_all_sums_are_finite() -> None:
    """What a program looks at when it ends costs as much as a turn: sums over rows pass through shared memory."""
    axes = AxesAnalysis()
    kernel = kernels(plain("causal_end backward", "bf16", 16), "whole")[1]
    sums = [op for op in of_kind(kernel, tile.SumOp) if op.parent is kernel.body.block and not axes(op.result)]
    assert len(sums) == 1


@pytest.mark.parametrize(("extent", "ahead"), [(128, [False, True]), (64, [False, False])])
def test_scores_are_made_ahead_where_registers_have_room(extent: int, ahead: list[bool]) -> None:
    found = kernels(with_roles("mha backward", "bf16", 0, 0, extent), "roles")
    assert [any(isinstance(op, roles.AlongOp) for op in operations(kernel)) for kernel in found] == ahead


@pytest.mark.parametrize(
    ("name", "kernel", "said"),
    [
        ("relative_bias backward", 0, "a turn of several scores reads a tile of bias beside"),
        ("padding backward", 1, "keys lie apart, or end before their tensor"),
    ],
)
def test_what_a_turn_of_several_scores_cannot_have_is_told(name: str, kernel: int, said: str) -> None:
    with pytest.raises(NoRoles, match=said):
        roled(kernels(plain(name, "bf16", 64), "whole")[kernel])


@pytest.mark.parametrize(
    ("name", "extent", "keys"),
    [
        ("mha backward", 128, [512, 512]),
        ("mha backward", 64, [512, 512]),
        ("mha backward", 32, [None, 512]),
        ("alibi backward", 64, [None, 512]),
        ("softcap backward", 32, [512, 512]),
        ("document_mask backward", 128, [512, None]),
        ("document_mask backward", 64, [512, 512]),
        ("differential", 96, [512]),
        ("differential", 32, [None]),
    ],
)
def test_from_so_many_keys_on_turns_pay(name: str, extent: int, keys: list[int | None]) -> None:
    """None where they never do: docs/performance.md."""
    found: list[int | None] = []
    for kernel in kernels(plain(name, "bf16", extent), "whole"):
        try:
            found.append(enough_for(roled(kernel)).keys)
        except NoGain:
            found.append(None)
    assert found == keys


@pytest.mark.parametrize(
    ("name", "extent", "held"),
    [
        ("mha backward", 64, [False, False]),
        ("causal_end backward", 64, [False, True]),
        ("causal_end backward", 128, [False, False]),
        ("sliding_window backward", 64, [True, True]),
        ("sliding_window backward", 128, [True, False]),
        ("document_mask backward", 128, [True, False]),
        ("packed_ragged backward", 64, [False, True]),
    ],
)
def test_few_turns_take_queries_from_registers_where_these_have_room(name: str, extent: int, held: list[bool]) -> None:
    """They leave their stage behind a fence: there may be no turn, whose products would have needed them."""
    found = kernels(with_roles(name, "bf16", 0, 0, extent), "roles")[-len(held) :]
    taken = [[op.value.owner for op in of_kind(kernel, roles.OperandOp)] for kernel in found]
    assert [any(isinstance(owner, roles.ViewOp) for owner in owners) for owners in taken] == held
    assert [any(op.fenced is not None for op in of_kind(kernel, roles.ReleaseOp)) for kernel in found] == held


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("name", "extent"),
    [
        ("causal_end backward", 128),
        ("causal_end backward", 64),
        ("sliding_window backward", 64),
        ("differential", 128),
        ("differential", 96),
        ("gqa backward", 128),
    ],
)
def test_no_turn_spills(name: str, extent: int, tmp_path: pytest.TempPathFactory) -> None:
    """Beside two sums of a row, and two tiles of scores, a turn reads anew where each of its tiles lies."""
    no_loop_spills(compiled(name, "bf16", extent, extent, tmp_path), 2 * FEW)  # type: ignore[arg-type]
