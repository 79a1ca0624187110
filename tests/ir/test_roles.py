"""Roles are interpreted as a GPU would run them, and what would be a race or never end there is an error here.

Each bug is planted in a kernel that is right: in its IR, which is then interpreted without being verified.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attndsl.choices import SPLITS, WIDE_ROWS
from attndsl.ir import roles, spec, tile, walks
from attndsl.ir.context import context, parse_module, print_module
from attndsl.ir.coroutines import RolesFail
from attndsl.ir.gathers import GatherOp
from attndsl.ir.interpret import SMALL_CHOICES, interpret
from attndsl.ir.rewrite import index_constant
from attndsl.ir.rings import OrderOp, OutboxOp, RingOp
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import (
    IntegerAttr,
    ModuleOp,
    Operation,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    VerifyException,
    arith,
    index,
    math,
)
from attndsl.passes.assign_roles import AssignRoles
from attndsl.storage import encode

CASES = Path(__file__).parents[1] / "passes" / "assign-roles"


def module(name: str = "sums", keys: int = 4) -> ModuleOp:
    """A sum of weights by values, in the form with roles: 2 rows for each consumer, so many keys a tile."""
    found = parse_module((CASES / f"{name}.mlir").read_text(encoding="utf-8"), name)
    for op in list(found.body.block.ops):
        if isinstance(op, tile.KernelOp) and op.entry.data != name:
            found.body.block.erase_op(op)
    AssignRoles(rows=2, keys=keys).apply(context(), found)
    found.verify()
    return found


def run(found: ModuleOp, rows: int = 9, keys: int = 21, wide: bool = False) -> np.ndarray[Any, Any]:
    """What the kernel writes, of programs that have more rows where those are asked for."""
    random = np.random.default_rng(0)
    shapes = {"q": (rows, 16), "k": (keys, 16), "v": (keys, 16), "turned": (16, keys)}
    tensors = {op.sym_name.data: op for op in found.walk() if isinstance(op, spec.TensorOp)}
    if "kv" in tensors:
        shapes = {"q": (rows, 48), "kv": (keys, 96)}
    elif "through" in {op.entry.data for op in found.walk() if isinstance(op, tile.KernelOp)}:
        shapes = {"q": (rows, 256), "k": (keys, 256), "v": (keys, 256)}
    arrays = {name: encode(random.integers(-2, 3, shape).astype(float), "bf16") for name, shape in shapes.items()}
    arrays["table"] = np.zeros(keys, np.int32)
    return interpret(found, arrays, {"M": rows, "N": keys}, {}, {**SMALL_CHOICES, SPLITS: 1, WIDE_ROWS: wide})["o"]


def each(found: ModuleOp, kind: type[Operation], ring: str = "", within: type[Operation] = roles.RoleOp) -> list[Any]:
    """The operations of one kind in the roles of one kind, of one ring."""
    ops = [op for role in found.walk() if isinstance(role, within) for op in operations(role) if type(op) is kind]
    return [op for op in ops if not ring or (isinstance(op, roles.StageOp) and op.ring.string_value() == ring)]


def drop(op: Any) -> None:
    op.detach()
    op.erase()


@pytest.mark.parametrize("name", ["sums", "pieces", "through", "wide"])
@pytest.mark.parametrize("rows", [0, 1, 5])
@pytest.mark.parametrize("keys", [0, 1, 4, 21])
def test_roles_compute_what_the_plain_kernel_does(rows: int, keys: int, name: str) -> None:
    with_roles = module(name)
    plain = with_roles.clone()
    for op in list(plain.body.block.ops):
        if isinstance(op, tile.KernelOp) and op.form is not None and op.form.data in ("roles", "wide"):
            plain.body.block.erase_op(op)
    expected = run(plain, rows, keys)
    for wide in (False, True):
        np.testing.assert_allclose(run(with_roles, rows, keys, wide), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["sums", "pieces", "pages", "through", "wide"])
def test_the_text_reads_back(name: str) -> None:
    text = print_module(module(name))
    assert print_module(parse_module(text)) == text


def a_missing_release(found: ModuleOp) -> None:
    drop(each(found, roles.ReleaseOp, "v_ring")[0])


def a_stage_too_few(found: ModuleOp) -> None:
    ring = next(op for op in found.walk() if isinstance(op, RingOp))
    ring.stages = IntegerAttr(1, index)


def a_phase_that_is_not_flipped(found: ModuleOp) -> None:
    waits = each(found, roles.WaitOp, "k_ring", roles.ConsumersOp)
    waits[1].operands[0] = waits[0].operands[0]


def a_phase_of_the_producer_that_is_not_flipped(found: ModuleOp) -> None:
    waits = each(found, roles.WaitOp, "k_ring", roles.ProducerOp)
    waits[1].operands[0] = waits[0].operands[0]


def a_release_too_early(found: ModuleOp) -> None:
    release = each(found, roles.ReleaseOp, "v_ring")[0]
    product = next(op for op in each(found, roles.ProductOp) if op.onto is not None)
    release.detach()
    product.parent.insert_op_after(release, product)


def a_missing_wait(found: ModuleOp) -> None:
    drop(each(found, roles.WaitOp, "v_ring", roles.ConsumersOp)[0])


def a_tile_too_many(found: ModuleOp) -> None:
    loop = each(found, tile.LoopOp, within=roles.ProducerOp)[0]
    more = arith.AddiOp(loop.ub, loop.step)
    loop.parent.insert_op_before(more, loop)
    loop.operands[1] = more.result


def a_tile_too_few(found: ModuleOp) -> None:
    loop = each(found, tile.LoopOp, within=roles.ProducerOp)[0]
    less = arith.SubiOp(loop.ub, loop.step)
    loop.parent.insert_op_before(less, loop)
    loop.operands[1] = less.result


def bytes_that_nobody_copies(found: ModuleOp) -> None:
    each(found, roles.ExpectOp, "k_ring")[0].count = IntegerAttr(256, index)


def a_reader_too_many(found: ModuleOp) -> None:
    ring = next(op for op in found.walk() if isinstance(op, RingOp))
    ring.readers = IntegerAttr(3, index)


def a_product_that_is_not_awaited(found: ModuleOp) -> None:
    each(found, roles.AwaitOp)[1].pending = IntegerAttr(2, index)


def a_number_that_nobody_releases(found: ModuleOp) -> None:
    drop(each(found, roles.ReleaseOp, "numbers")[0])


def a_phase_of_numbers_that_is_not_flipped(found: ModuleOp) -> None:
    wait = each(found, roles.WaitOp, "numbers", roles.ConsumersOp)[0]
    wait.operands[0] = wait.operands[1]


def a_number_that_nobody_waits_for(found: ModuleOp) -> None:
    drop(each(found, roles.WaitOp, "numbers", roles.ConsumersOp)[0])


def a_number_over_one_that_is_not_read(found: ModuleOp) -> None:
    drop(each(found, roles.WaitOp, "numbers", roles.ProducerOp)[0])


def queries_that_nobody_releases(found: ModuleOp) -> None:
    drop(each(found, roles.ReleaseOp, "q_ring")[0])


def queries_that_are_released_too_early(found: ModuleOp) -> None:
    """Where products read them from their stage."""
    for factor in each(found, roles.OperandOp):
        if isinstance(factor.value.owner, roles.ViewOp):
            factor.result.replace_all_uses_with(factor.value)
            drop(factor)
    release = each(found, roles.ReleaseOp, "q_ring")[0]
    loop = next(op for op in release.parent.ops if isinstance(op, tile.LoopOp))
    assert loop.parent is not None
    release.detach()
    loop.parent.insert_op_before(release, loop)


def a_consumer_that_does_not_pass_on(found: ModuleOp) -> None:
    drop(each(found, roles.PassOp)[0])


def a_consumer_that_passes_to_itself(found: ModuleOp) -> None:
    found_pass = each(found, roles.PassOp)[0]
    found_pass.operands[0] = each(found, roles.ConsumersOp, within=tile.KernelOp)[0].body.block.args[0]


def a_phase_of_an_order_that_is_not_flipped(found: ModuleOp) -> None:
    wait = each(found, roles.WaitOp, "order")[0]
    wait.operands[0] = wait.stage


def turns_that_begin_anew_with_each_tile(found: ModuleOp) -> None:
    (walk,) = each(found, walks.WalkOp, within=roles.ProducerOp)
    walk.carries.operands[1] = walk.start[0]


BUGS: dict[Callable[[ModuleOp], None], str] = {
    a_missing_release: "the producer waits until stage 0 of @v_ring is empty",
    a_stage_too_few: "means stage 1 of @k_ring, which has none of that number",
    a_phase_that_is_not_flipped: "of @k_ring",
    a_phase_of_the_producer_that_is_not_flipped: "of @k_ring",
    a_release_too_early: "releases stage 0 of @v_ring, which a product that is under way reads",
    a_missing_wait: "reads stage 0 of @v_ring before the copy into it has landed",
    a_tile_too_many: "of @[kv]_ring",
    a_tile_too_few: "of @[kv]_ring",
    bytes_that_nobody_copies: "waits until stage 0 of @k_ring is full",
    a_reader_too_many: "the producer waits until stage 0 of @k_ring is empty",
    a_product_that_is_not_awaited: "takes a product with stage [01] of @k_ring that is under way",
    a_number_that_nobody_releases: "the producer waits until stage 0 of @numbers is empty",
    a_phase_of_numbers_that_is_not_flipped: "of @numbers",
    a_number_that_nobody_waits_for: "reads stage 0 of @numbers before the copy into it has landed",
    queries_that_nobody_releases: "the producer waits until stage 0 of @q_ring is empty",
    queries_that_are_released_too_early: "multiplies with stage [01] of @q_ring, which it has released",
    turns_that_begin_anew_with_each_tile: "of @[kv]_ring",
    a_consumer_that_does_not_pass_on: "nothing goes on: .*consumer 1 waits until stage 1 of @order is full",
    a_consumer_that_passes_to_itself: "nothing goes on: .*waits until stage [01] of @order is full",
    a_phase_of_an_order_that_is_not_flipped: "nothing goes on: .*waits until stage [01] of @order is full",
}


def a_turn_for_each_consumer_before(found: ModuleOp) -> None:
    """As if the third were two turns behind the first."""
    (ordered,) = (op for op in each(found, arith.SubiOp) if op.result.name_hint == "ordered")
    ordered.operands[1] = each(found, roles.ConsumersOp, within=tile.KernelOp)[-1].body.block.args[0]


@pytest.mark.parametrize(
    ("bug", "said"),
    [
        (a_consumer_that_does_not_pass_on, "nothing goes on: .*waits until stage 1 of @order is full"),
        (a_consumer_that_passes_to_itself, "nothing goes on: .*waits until stage [012] of @order is full"),
        (a_turn_for_each_consumer_before, "names no negative number"),
    ],
)
def test_a_planted_bug_of_three_consumers_is_found(bug: Callable[[ModuleOp], None], said: str) -> None:
    found = module("wide")
    for op in list(found.body.block.ops):
        if isinstance(op, tile.KernelOp) and op.form is not None and op.form.data == "roles":
            found.body.block.erase_op(op)
        elif isinstance(op, tile.KernelOp) and op.form is not None and op.form.data == "wide":
            op.form = StringAttr("roles")
    run(found)
    bug(found)
    with pytest.raises((RolesFail, AssertionError), match=said):
        run(found)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
def test_a_planted_bug_is_found(bug: Callable[[ModuleOp], None]) -> None:
    found = module()
    run(found)
    bug(found)
    with pytest.raises(RolesFail, match=BUGS[bug]):
        run(found)


def a_box_that_is_not_copied(found: ModuleOp) -> None:
    drop(each(found, roles.CopyOp, "kv_80_ring")[0])


def bytes_of_one_box(found: ModuleOp) -> None:
    each(found, roles.ExpectOp, "kv_ring")[0].count = IntegerAttr(4 * 32 * 2, index)


def pieces_that_are_not_awaited(found: ModuleOp) -> None:
    each(found, roles.AwaitOp)[1].pending = IntegerAttr(3, index)


IN_PIECES: dict[Callable[[ModuleOp], None], tuple[str, str]] = {
    a_box_that_is_not_copied: (
        "waits until stage 0 of @kv_48_ring is full",
        "what is announced is copied, into @kv_80_ring, too",
    ),
    bytes_of_one_box: (
        "stage 0 of @kv_ring",
        "a copy into @kv_ring is announced before, with all 384 bytes",
    ),
    pieces_that_are_not_awaited: (
        "takes a product with stage [01] of @kv_ring that is under way",
        "that its product may be one of them",
    ),
}


def results_over_queries_that_are_still_read(found: ModuleOp) -> None:
    """They are put there before the first product."""
    put = each(found, roles.PutOp)[0]
    wait = each(found, roles.WaitOp, "q_ring", roles.ConsumersOp)[0]
    zeros = next(op for op in wait.parent.ops if isinstance(op, tile.BroadcastOp))
    put.detach()
    put.operands[0] = zeros.result
    wait.parent.insert_op_after(put, wait)


def results_over_queries_that_are_released(found: ModuleOp) -> None:
    release, put = each(found, roles.ReleaseOp, "q_ring")[0], each(found, roles.PutOp)[0]
    release.detach()
    put.parent.insert_op_before(release, put)


def results_over_the_queries_of_another(found: ModuleOp) -> None:
    put, one = each(found, roles.PutOp)[0], index_constant(1)
    other = arith.SubiOp(one.result, put.stage)
    put.parent.insert_ops_before([one, other], put)
    put.operands[list(put.operands).index(put.stage)] = other.result


OVER: dict[Callable[[ModuleOp], None], tuple[str, str]] = {
    results_over_queries_that_are_still_read: (
        "reads stage [01] of @q_ring before the copy into it has landed",
        "has a stage of @q_ring that nothing reads behind it",
    ),
    results_over_queries_that_are_released: (
        "puts something into stage [01] of @q_ring, which it has not, or no more, to itself",
        "has a stage of @q_ring to itself: it is full, and not yet released",
    ),
    results_over_the_queries_of_another: (
        "of @q_ring",
        "has a stage of @q_ring to itself: it is full, and not yet released",
    ),
}


@pytest.mark.parametrize("bug", IN_PIECES | OVER, ids=lambda bug: bug.__name__)
def test_a_planted_bug_is_found_by_both(bug: Callable[[ModuleOp], None]) -> None:
    """By the verifier, and where a kernel runs that was not verified."""
    found = module("pieces" if bug in IN_PIECES else "through")
    run(found)
    bug(found)
    ran, verified = (IN_PIECES | OVER)[bug]
    with pytest.raises(VerifyException, match=verified):
        found.verify()
    with pytest.raises(RolesFail, match=ran):
        run(found)


def test_an_outbox_lies_within_a_ring_of_its_size() -> None:
    found = module("through")
    outbox = next(op for op in found.walk() if isinstance(op, OutboxOp))
    outbox.stages = IntegerAttr(1, index)
    with pytest.raises(VerifyException, match="a ring of as many boxes of that size, each of which has one reader"):
        found.verify()
    outbox.within = SymbolRefAttr("x_ring")
    with pytest.raises(VerifyException, match="lies within a ring, and no other does"):
        found.verify()


def test_an_order_is_among_all_consumers() -> None:
    found = module()
    order = next(op for op in found.walk() if isinstance(op, OrderOp))
    order.stages = IntegerAttr(1, index)
    with pytest.raises(VerifyException, match="has a barrier for each of two consumers or more"):
        found.verify()
    order.stages = IntegerAttr(3, index)
    with pytest.raises(VerifyException, match="consumers pass on in an order of all of them"):
        found.verify()
    order.stages = IntegerAttr(2, index)
    each(found, roles.WaitOp, "order")[0].barrier = StringAttr("empty")
    with pytest.raises(VerifyException, match="a stage of an order, or of an exchange, is full, and never empty"):
        found.verify()
    each(found, roles.WaitOp, "order")[0].barrier = StringAttr("full")
    each(found, roles.PassOp)[0].ring = SymbolRefAttr("k_ring")
    with pytest.raises(VerifyException, match="@k_ring is no order"):
        found.verify()


def test_a_ring_beside_another_has_no_barriers() -> None:
    found = module("pieces")
    each(found, roles.WaitOp, "kv_ring")[0].ring = SymbolRefAttr("kv_32_ring")
    with pytest.raises(VerifyException, match="means the barriers of @kv_ring"):
        found.verify()
    found = module("pieces")
    next(op for op in found.walk() if isinstance(op, RingOp)).stages = IntegerAttr(3, index)
    with pytest.raises(VerifyException, match="lies beside a ring with barriers, of as many stages and readers"):
        found.verify()


REFUSED: dict[Callable[[ModuleOp], None], str] = {
    a_release_too_early: "a stage of @v_ring is released while a product reads it",
    a_missing_wait: "roles.view waits until its stage of @v_ring is full",
    bytes_that_nobody_copies: "a copy into @k_ring is announced before, with its 128 bytes",
    a_product_that_is_not_awaited: "that its product may be one of them",
    a_number_that_nobody_waits_for: "roles.number waits until its stage of @numbers is full",
    a_number_over_one_that_is_not_read: "roles.post waits until its stage of @numbers is empty",
    queries_that_are_released_too_early: "a stage of @q_ring is released while a product reads it",
}


@pytest.mark.parametrize("bug", REFUSED, ids=lambda bug: bug.__name__)
def test_the_verifier_refuses_what_it_can_see(bug: Callable[[ModuleOp], None]) -> None:
    found = module()
    bug(found)
    with pytest.raises(VerifyException, match=REFUSED[bug]):
        found.verify()


def seek(found: ModuleOp) -> walks.SeekOp:
    (op,) = each(found, walks.SeekOp)
    assert isinstance(op, walks.SeekOp)
    return op


def test_a_seek_that_never_ends_is_found() -> None:
    """Each rank is that of some tile, where the tiles that a seek has passed count, and their place does not."""
    found = module("ranks")
    arrays = {name: encode(np.ones((2, 9, 16)), "bf16") for name in "qkv"} | {"n": np.array([3, 5], np.int32)}
    dims, choices = {"B": 2, "M": 9, "N": 9}, {**SMALL_CHOICES, "SPLITS": 1}
    written = interpret(found, arrays, dims, {}, choices)["o"]
    assert [int(np.count_nonzero(batch.any(1))) for batch in written] == [3, 5]
    seek(found).found.replace_all_uses_with(seek(found).place)
    with pytest.raises(RolesFail, match="the producer walks more tiles than there are"):
        interpret(found, arrays, dims, {}, choices)


def test_a_seek_means_the_programs_of_its_kernel() -> None:
    found = module("ranks")
    seek(found).ends.block.insert_arg(index, 1)
    seek(found).ends.block.insert_arg(index, 2)
    with pytest.raises(VerifyException, match="where the last program variable ends, by values of those before it"):
        found.verify()
    found = module("ranks")
    op = seek(found)
    op.operands = [*op.operands[:-1], op.variables[0]]
    with pytest.raises(VerifyException, match="means all program variables of its kernel, in order"):
        found.verify()


def test_a_task_stands_in_the_role_that_runs_it() -> None:
    found = module()
    role = next(op for op in found.walk() if isinstance(op, roles.ConsumersOp))
    walk = each(found, walks.WalkOp, within=roles.ConsumersOp)[0]
    task, run = walks.TaskOp("again"), walks.RunOp("again", walk.body.block.args[0])
    role.body.block.insert_op_before(task, walk)
    walk.body.block.insert_op_before(run, walk.body.block.first_op)
    found.verify()
    task.body.block.insert_arg(index, 1)
    with pytest.raises(VerifyException, match="is done for the tile of a number"):
        found.verify()
    drop(task)
    with pytest.raises(VerifyException, match="no task of this role is called @again"):
        found.verify()


def a_piece_that_is_not_whole(found: ModuleOp) -> None:
    found_ring(found).piece = IntegerAttr(3, index)


def a_ring_without_pieces(found: ModuleOp) -> None:
    found_ring(found).piece = None


def one_copy_of_several_pieces(found: ModuleOp) -> None:
    gather = each(found, GatherOp, "k_ring")[0]
    gather.parent.insert_op_before(roles.CopyOp("k_ring", gather.stage, [gather.first] * 3), gather)
    drop(gather)


def a_place_too_few(found: ModuleOp) -> None:
    last = each(found, GatherOp, "k_ring")[0].starts.block.last_op
    last.operands = last.operands[1:]


def a_gather_that_is_not_announced(found: ModuleOp) -> None:
    drop(each(found, roles.ExpectOp, "k_ring")[0])


def two_numbers_for_what_lies_outside(found: ModuleOp) -> None:
    ring = found_ring(found)
    ring.end, ring.nan = IntegerAttr(8, index), UnitAttr()


def found_ring(found: ModuleOp) -> RingOp:
    return next(op for op in found.walk() if isinstance(op, RingOp) and op.sym_name.data == "k_ring")


PIECES_REFUSED: dict[Callable[[ModuleOp], None], str] = {
    a_piece_that_is_not_whole: "has whole pieces",
    a_ring_without_pieces: "copies pieces, and @k_ring has none",
    one_copy_of_several_pieces: "copies one box, and a stage of @k_ring has one for each piece",
    a_place_too_few: "says where a box begins along each axis of the tensor",
    a_gather_that_is_not_announced: "a copy into @k_ring is announced before, with its bytes",
    two_numbers_for_what_lies_outside: "has one number for what lies outside of its boxes",
}


@pytest.mark.parametrize("bug", PIECES_REFUSED, ids=lambda bug: bug.__name__)
def test_the_verifier_knows_pieces(bug: Callable[[ModuleOp], None]) -> None:
    found = module("pages", keys=64)
    bug(found)
    with pytest.raises(VerifyException, match=PIECES_REFUSED[bug]):
        found.verify()


def read_into_registers(found: ModuleOp, early: bool) -> None:
    """Lets the weights of the first tile rest on a number of the keys, which is read into registers."""
    view = each(found, roles.ViewOp, "k_ring")[0]
    release = each(found, roles.ReleaseOp, "k_ring")[0]
    read = math.AbsFOp(view.result)
    view.parent.insert_op_after(read, view)
    # A product with what was read, whose place does not matter here: that it is complete does.
    product = each(found, roles.ProductOp)[0]
    factor = roles.OperandOp(read.result, "bf16", view.axes[0], view.axes[0])
    again = roles.ProductOp(factor.result, view.result, view.axes[0], None)
    waited = roles.AwaitOp(again.result, 0)
    view.parent.insert_ops_before([factor, again, waited], release)
    assert product.parent is view.parent
    if early:
        release.detach()
        view.parent.insert_op_before(release, factor)
        # Its own product stays complete before the release: what is left is the read.
        drop(waited)
        drop(again)
        drop(factor)


def test_a_stage_that_is_read_into_registers_is_released_when_something_has_needed_it() -> None:
    found = module()
    read_into_registers(found, early=False)
    found.verify()
    found = module()
    read_into_registers(found, early=True)
    with pytest.raises(VerifyException, match="before anything has needed what was read from it"):
        found.verify()
