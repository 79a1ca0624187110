"""What a turn reads that is no key or value, or no box: copied beside them, loaded by a role of its own, or cleared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from attndsl.checking.check import check
from attndsl.checking.typed import Spec
from attndsl.driver.compile import lower
from attndsl.ir import roles
from attndsl.ir.analyses.role_parts import Roled
from attndsl.ir.analyses.roled import roled
from attndsl.ir.context import context
from attndsl.ir.coroutines import RolesFail
from attndsl.ir.interpret import SMALL_CHOICES, interpret
from attndsl.ir.rings import RelayOp, RingOp
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import ModuleOp, Operation, StringAttr, SymbolRefAttr, VerifyException
from attndsl.passes.assign_roles import AssignRoles
from attndsl.syntax.source import Source
from attndsl.testing.case import Case, Disagreement, types_with

from .test_roles import EXTENTS, kernels, sizes_of, text_of

TEMPLATE = """attention read(window: int = 3) {{
    dims B, H, M, N, D, E{dims}
    types T
    input  q : T[B, H, M, D]
    {inputs}
    output o : T[B, H, M, E]
    each b in B, h in H, i in M
    over j in {over}
    let s = q[b,h,i,:] . {key} / sqrt(D)
    score = {score}
    {mask}
    o[b,h,i,:] = {weights} . {value}
}}
"""

K, V = "input  k : T[B, N, H, D]", "input  v : T[N, B, H, E]"


class Read(NamedTuple):
    """What a turn reads: lines that declare it, the score, the key and the value, and what keys go over."""

    inputs: tuple[str, ...]
    score: str = "s"
    key: str = "k[b,j,h,:]"
    value: str = "v[j,b,h,:]"
    over: str = "N"

    def spec(self, mask: str = "") -> Spec:
        """A spec that reads it, under a mask, if any."""
        weights = "softmax(score, mask)" if mask else "softmax(score)"
        dims = ", W" if any("T[W" in line or "i8[W" in line for line in self.inputs) else ""
        text = TEMPLATE.format(
            dims=dims, **{**self._asdict(), "inputs": "\n    ".join(self.inputs)}, mask=mask, weights=weights
        )
        return check(Source(text, "read.attn"))


READS = {
    "a bias of each head": Read((K, V, "input dense : T[H, M, N]"), "s + dense[h,i,j]"),
    "a factor and a wide bias": Read(
        (K, V, "input dense : T[H, M, N]", "input wide : f32[B, M, N]"), "s * dense[h,i,j] + wide[b,i,j]"
    ),
    "a bias by distance": Read((K, V, "input near : T[H, M + N - 1]"), "s + near[h, i - j + N - 1]"),
    "a bias that may be one row": Read((K, V, "input row : T[H, M?, N]"), "s + row[h,i,j]"),
    "a number of each key": Read((K, V, "input each_key : f32[B, N]"), "s * each_key[b,j]"),
    "keys of 8 bits": Read(("input k : i8[B, N, H, D]", V, "input scale : f32[B, N]"), key="(k[b,j,h,:] * scale[b,j])"),
    "values of 8 bits": Read((K, "input v : u8[N, B, H, E]")),
    "both of 8 bits, with a bias": Read(
        ("input k : i8[B, N, H, D]", "input v : i8[N, B, H, E]", "input dense : T[H, M, N]"), "s + dense[h,i,j]"
    ),
    "keys that end": Read((K, V, "input n : i32[B]"), over="n[b] up to N"),
    "keys that end, with a bias": Read(
        (K, V, "input n : i32[B]", "input dense : T[H, M, N]"), "s + dense[h,i,j]", over="n[b] up to N"
    ),
}

MASKS = ("", "mask = j <= i", "mask = i - window < j <= i + window", "mask = j != i", "mask = j >= i + (N - M)")


def with_roles(spec: Spec, rows: int = 2, keys: int = 4, features: int = 16) -> ModuleOp:
    module, _ = lower(spec, types_with(spec, "bf16"), "triton", sizes_of(spec, features), "cuda:90")
    AssignRoles(rows=rows, keys=keys).apply(context(), module)
    module.verify()
    return module


def found_of(read: Read, mask: str = "", features: int = 128) -> Roled:
    """What is told apart of the kernel of a spec."""
    spec = read.spec(mask)
    module, _ = lower(spec, types_with(spec, "bf16"), "triton", sizes_of(spec, features), "cuda:90")
    return roled(kernels(module, "whole")[0])


def run(module: ModuleOp, spec: Spec, dims: dict[str, int], seed: int = 0, poisoned: bool = True) -> None:
    """Raises Disagreement, or RolesFail."""
    case = Case.make(spec, "bf16", seed, {"B": 2, "H": 2, **sizes_of(spec, 16), **dims})
    for each in (case, case.poisoned()) if poisoned else (case,):
        found = interpret(module, each.arrays, each.dims, each.params, {**SMALL_CHOICES, "SPLITS": 1})
        each.check("assign-roles", found, narrowed=True)


def agree(name: str, mask: str, rows: int, keys: int, extents: Sequence[tuple[int, int]] = EXTENTS) -> None:
    spec = READS[name].spec(mask)
    module = with_roles(spec, rows, keys)
    assert kernels(module, "roles")
    for seed, (m, n) in enumerate(extents):
        run(module, spec, {"M": m, "N": n}, seed)


@pytest.mark.parametrize("name", READS)
def test_what_a_turn_reads_agrees_with_the_reference(name: str) -> None:
    agree(name, MASKS[list(READS).index(name) % 2], 2, 4, [(5, 9), (3, 0)])


UNDER = [(name, mask) for n, name in enumerate(READS) for m, mask in enumerate(MASKS) if (n + m) % 2]
"""Half of all pairs; of the others, the first tests have some."""


@pytest.mark.matrix
@pytest.mark.parametrize(("name", "mask"), UNDER)
def test_what_a_turn_reads_agrees_under_any_mask(name: str, mask: str) -> None:
    at = list(READS).index(name) + MASKS.index(mask)
    agree(name, mask, 3, (1, 4, 16)[at % 3], EXTENTS[at % 3 :: 3])


SOUGHT = {
    "a bias that data choose": Read((K, V, "input dense : T[W, M, N]", "input t : i64[B]"), "s + dense[t[b],i,j]"),
    "keys of 8 bits that data choose": Read(
        ("input k : i8[W, N, H, D]", V, "input scale : f32[B, N]", "input t : i64[B]"),
        key="(k[t[b],j,h,:] * scale[b,j])",
    ),
    "keys that begin where data say, and end": Read(
        (K, V, "input n : i32[B]", "input t : i32[B]"), over="n[b] up to N"
    ),
}
"""What data choose, which may lie outside of all that there is, and of 32 bits."""


@pytest.mark.parametrize("name", SOUGHT)
@pytest.mark.parametrize("place", [-(2**40), -1, 10**6, 2**31, 2**32 + 1])
def test_what_data_choose_may_lie_nowhere(name: str, place: int) -> None:
    spec = SOUGHT[name].spec("mask = t[b] <= j" if "begin" in name else "")
    case = Case.make(
        spec, "bf16", 3, {"B": 2, "H": 2, "D": 16, "E": 16, "M": 5, "N": 9} | ({"W": 2} if "W" in spec.dims else {})
    )
    chosen = case.arrays["t"].copy()
    chosen[1] = min(max(place, np.iinfo(chosen.dtype).min), np.iinfo(chosen.dtype).max)
    case = replace(case, arrays={**case.arrays, "t": chosen})
    module = with_roles(spec)
    assert kernels(module, "roles")
    found = interpret(module, case.arrays, case.dims, case.params, {**SMALL_CHOICES, "SPLITS": 1})
    case.check("assign-roles", found, narrowed=True)


COPIED = {
    "a bias of each head": (["dense_ring"], []),
    "a factor and a wide bias": (["dense_ring"], ["wide_relay"]),
    "a bias by distance": ([], ["near_relay"]),
    "a number of each key": ([], ["each_key_relay"]),
    "values of 8 bits": (["v_ring"], ["tile_relay"]),
    "keys that end": ([], []),
}
"""The memory that specs have beside that of keys and queries: what is copied, and what is handed on."""


@pytest.mark.parametrize("name", COPIED)
def test_what_is_a_box_is_copied_and_what_is_none_is_loaded(name: str) -> None:
    (kernel,) = kernels(with_roles(READS[name].spec()), "roles")
    rings = [op.sym_name.data for op in kernel.body.block.ops if isinstance(op, RingOp)]
    relays = [op.sym_name.data for op in kernel.body.block.ops if isinstance(op, RelayOp)]
    copied, handed = COPIED[name]
    assert set(rings) - {"k_ring", "q_ring", *([] if copied == ["v_ring"] else ["v_ring"])} == set(copied)
    assert relays == handed
    assert any(isinstance(op, roles.LoaderOp) for op in kernel.body.block.ops) == bool(handed)
    cleared = [op.ring.string_value() for op in operations(kernel) if isinstance(op, roles.ClearOp)]
    assert cleared == (["v_ring"] if name == "keys that end" else [])


def test_a_bias_has_stages_of_its_own_as_far_as_there_is_room() -> None:
    dense = READS["a bias of each head"]
    assert (found_of(dense).tile_keys, found_of(dense).beside_stages, found_of(dense).scattered) == (128, 2, True)
    assert found_of(dense, features=64).outboxes
    assert found_of(READS["a factor and a wide bias"]).tile_keys == 64  # what is loaded lies in registers on its way


def the(found: ModuleOp, kind: type[Operation], ring: str, within: type[Operation]) -> Any:
    """The last operation of a kind about a memory in a role."""
    ops = [op for role in found.walk() if isinstance(role, within) for op in operations(role) if type(op) is kind]
    return [op for op in ops if isinstance(op, roles.StageOp) and op.ring.string_value() == ring][-1]


def drop(op: Operation) -> None:
    op.detach()
    op.erase()


def a_bias_that_is_not_waited_for(found: ModuleOp) -> None:
    drop(the(found, roles.WaitOp, "dense_ring", roles.ConsumersOp))


def a_bias_that_is_released_without_a_fence(found: ModuleOp) -> None:
    the(found, roles.ReleaseOp, "dense_ring", roles.ConsumersOp).fenced = None


def a_bias_that_nobody_releases(found: ModuleOp) -> None:
    drop(the(found, roles.ReleaseOp, "dense_ring", roles.ConsumersOp))


def values_that_are_handed_on_unasked(found: ModuleOp) -> None:
    drop(the(found, roles.WaitOp, "tile_relay_2", roles.LoaderOp))


def values_that_are_not_handed_on(found: ModuleOp) -> None:
    drop(the(found, roles.HandOp, "tile_relay_2", roles.LoaderOp))


def integers_that_nobody_waits_for(found: ModuleOp) -> None:
    drop(the(found, roles.WaitOp, "v_ring", roles.LoaderOp))


def integers_that_nobody_releases(found: ModuleOp) -> None:
    drop(the(found, roles.ReleaseOp, "v_ring", roles.LoaderOp))


def a_number_that_the_loader_keeps(found: ModuleOp) -> None:
    drop(the(found, roles.ReleaseOp, "numbers", roles.LoaderOp))


def values_that_have_the_stages_of_others(found: ModuleOp) -> None:
    hand = the(found, roles.HandOp, "tile_relay_2", roles.LoaderOp)
    hand.ring = SymbolRefAttr("tile_relay")


VERIFIED: dict[Callable[[ModuleOp], None], str] = {
    a_bias_that_is_not_waited_for: "roles.view waits until its stage of @dense_ring is full",
    a_bias_that_is_released_without_a_fence: "released before anything has needed what was read from it",
    values_that_are_handed_on_unasked: "roles.hand waits until its stage of @tile_relay_2 is empty",
    integers_that_nobody_waits_for: "roles.view waits until its stage of @v_ring is full",
}

INTERPRETED: dict[Callable[[ModuleOp], None], str] = {
    a_bias_that_is_not_waited_for: "reads stage . of @dense_ring before the copy into it has landed",
    a_bias_that_nobody_releases: "the producer waits until stage . of @dense_ring is empty",
    values_that_are_not_handed_on: "waits until stage 0 of @tile_relay_2 is full",
    integers_that_nobody_waits_for: "the loader reads stage 0 of @v_ring before the copy into it has landed",
    integers_that_nobody_releases: "the producer waits until stage 0 of @v_ring is empty",
    a_number_that_the_loader_keeps: "the producer waits until stage 0 of @numbers is empty",
}

PLANTED = READS["both of 8 bits, with a bias"].spec()


@pytest.mark.parametrize("bug", VERIFIED, ids=lambda bug: bug.__name__)
def test_the_verifier_refuses(bug: Callable[[ModuleOp], None]) -> None:
    module = with_roles(PLANTED)
    bug(module)
    with pytest.raises(VerifyException, match=VERIFIED[bug]):
        module.verify()


@pytest.mark.parametrize("bug", INTERPRETED, ids=lambda bug: bug.__name__)
def test_the_interpreter_finds(bug: Callable[[ModuleOp], None]) -> None:
    module = with_roles(PLANTED)
    bug(module)
    with pytest.raises(RolesFail, match=INTERPRETED[bug]):
        run(module, PLANTED, {"M": 9, "N": 21}, poisoned=False)


def test_values_that_are_not_cleared_meet_nan() -> None:
    spec = READS["keys that end"].spec()
    module = with_roles(spec)
    run(module, spec, {"M": 5, "N": 9})
    drop(the(module, roles.ClearOp, "v_ring", roles.ConsumersOp))
    with pytest.raises(Disagreement):
        run(module, spec, {"M": 5, "N": 9})


def test_each_role_does_its_own() -> None:
    module = with_roles(PLANTED)
    loader = next(op for op in module.walk() if isinstance(op, roles.LoaderOp))
    release = the(module, roles.ReleaseOp, "v_ring", roles.LoaderOp)
    copy = roles.CopyOp("v_ring", release.stage, [release.stage] * 4)
    release.parent.insert_op_before(copy, release)
    with pytest.raises(VerifyException, match=r"roles\.copy is what another role does"):
        loader.verify()


def test_only_rings_are_cleared() -> None:
    module = with_roles(PLANTED)
    wait = the(module, roles.WaitOp, "tile_relay_2", roles.ConsumersOp)
    wait.parent.insert_op_after(roles.ClearOp("tile_relay_2", wait.stage, wait.stage), wait)
    with pytest.raises(VerifyException, match="@tile_relay_2 holds no boxes"):
        module.verify()


def test_factors_have_one_element_type() -> None:
    module = with_roles(PLANTED)
    next(op for op in module.walk() if isinstance(op, RelayOp)).element = StringAttr("f32")
    with pytest.raises(VerifyException, match="has factors of one element type, f16 or bf16"):
        module.verify()


def test_boxes_are_of_what_can_be_copied() -> None:
    module = with_roles(READS["a number of each key"].spec())
    ring = next(op for op in module.walk() if isinstance(op, RingOp))
    ring.tensor = SymbolRefAttr("each_key")
    with pytest.raises(VerifyException, match="boxes are of i8, u8, f16, bf16, not of f32"):
        ring.verify_()


def test_a_stage_is_cleared_before_it_is_read() -> None:
    module = with_roles(READS["keys that end"].spec())
    clear = the(module, roles.ClearOp, "v_ring", roles.ConsumersOp)
    view = the(module, roles.ViewOp, "v_ring", roles.ConsumersOp)
    clear.detach()
    clear.operands[list(clear.operands).index(clear.stage)] = view.stage
    view.parent.insert_op_after(clear, view)
    with pytest.raises(VerifyException, match="clears what lies in a stage before that is read"):
        module.verify()


@pytest.mark.parametrize("name", ["int8_cache"])
def test_golden(name: str, golden: Callable[[Path, str], None]) -> None:
    golden(Path(__file__).parent / "goldens" / f"{name}.gluon", text_of(name))
