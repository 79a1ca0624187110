"""Which form of its kernels a launcher takes, asked with neither a GPU nor Triton; and when roles pay."""

from __future__ import annotations

import ast
import random
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest

import attndsl
from attndsl.backends.gluon.helpers import TAKES
from attndsl.backends.gpu.roles_rule import BUSY, LEAST_ROWS, LEAST_SHARED_ROWS
from attndsl.driver.artifact import Artifact
from attndsl.driver.describe import ONLY_ASKED
from attndsl.ir.analyses.roled import roled
from attndsl.ir.analyses.roles_gain import Enough, NoGain, arithmetic_of, enough_for, products_of
from attndsl.op.forms import HOPPER, form, launched

from .test_roles import REFUSED, kernels, plain, spec_of

PARAMS = {"softcap": {"cap": 50.0}}


@cache
def artifact(name: str, extent: int = 128, element: str = "bf16") -> Artifact:
    op = attndsl.load(name)
    return op.artifact("gluon", dict.fromkeys(op.signature.features, extent), "cuda:90", T=element)


def first(schedule: Any = None, name: str = "gqa", extent: int = 128, processors: int = HOPPER, **dims: int) -> str:
    """The form that a call's first kernel has."""
    sizes = {"B": 4, "Hq": 32, "Hkv": 8, "M": 4096, "N": 4096, "D": extent, "E": extent, **dims}
    kernel, _ = launched(artifact(name, extent), sizes, PARAMS.get(name, {}), schedule, processors)[0]
    return kernel.removeprefix(f"{name}_").removesuffix("kernel").removesuffix("_") or "whole"


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (None, "roles"),
        ({}, "roles"),
        ({"SPLITS": 1}, "roles"),
        ({"SPLITS": 3}, "split"),
        ({"ROLES": 1}, "roles"),
        ({"ROLES": 0}, "whole"),
        ({"KEYS": 32}, "whole"),
        ({"num_warps": 8}, "whole"),
        ({"SPLITS": 1, "ROWS": 16}, "whole"),
        ({"KEYS": 32, "ROLES": 1}, "roles"),
        ({"SPLITS": 1, "ROLES": 1}, "roles"),
        ({"SPLITS": 3, "ROLES": 1}, "split"),
    ],
)
def test_what_is_asked_for_goes_before_the_rule(asked: Any, expected: str) -> None:
    assert first(asked) == expected
    of_few = {"split": "split", "roles": "roles" if "ROLES" in (asked or {}) else "whole"}
    assert first(asked, M=100, N=100) == of_few.get(expected, "whole")


def test_a_look_goes_with_the_form_that_is_taken() -> None:
    sizes = {"B": 2, "Hq": 32, "Hkv": 32, "N": 4096, "D": 128, "E": 128}
    made = attndsl.load("document_mask").artifact("gluon", {"D": 128, "E": 128}, "cuda:90", T="bf16", I="i32")
    tiles = 2 * 4096 // 128
    roles = [("document_mask_look_roles_kernel", tiles), ("document_mask_roles_kernel", HOPPER)]
    assert launched(made, sizes, {}) == roles
    whole = [("document_mask_look_kernel", 2 * tiles), ("document_mask_kernel", 2 * 32 * tiles)]
    assert launched(made, sizes, {}, {"ROLES": 0}) == whole


def test_roles_pay_for_many_rows_and_keys() -> None:
    """A head's rows are those of the four that share its keys."""
    assert LEAST_ROWS % 4 == 1
    assert first(B=64, M=LEAST_ROWS // 4 + 1) == "roles"
    assert first(B=64, M=LEAST_ROWS // 4) == "whole"
    assert first(N=128) == "roles"
    assert first(N=127) == "whole"
    assert first(N=256, extent=64) == "roles"
    assert first(N=255, extent=64) == "whole", "turns of fewer features are shorter, beside what a tile begins with"
    assert first(B=0) == first(M=0) == "split", "no program is enough for no splits"
    assert first({"SPLITS": 1}, B=0) == first({"SPLITS": 1}, M=0) == "whole"


def test_roles_pay_where_few_processors_have_nothing_to_do() -> None:
    """A tile has 128 rows, so that each of 8 heads is one, and a round of 10 processors has ten."""
    assert BUSY == 0.8
    for batches, expected in ((1, "whole"), (2, "whole"), (3, "whole"), (4, "whole"), (5, "roles"), (7, "roles")):
        # 8 of 10, 16 of 20, 24 of 30, 32 of 40, 40 of 40, 56 of 60
        assert first({"SPLITS": 1}, B=batches, M=32, processors=10) == expected, batches


@pytest.mark.parametrize(
    ("batches", "keys", "extent", "expected"),
    [
        (2, 191, 128, "whole"),
        (2, 192, 128, "roles"),
        (3, 128, 128, "roles"),
        (7, 256, 64, "whole"),
        (8, 256, 64, "roles"),
        (1, 512, 128, "roles"),
        (1, 1024, 64, "roles"),
    ],
)
def test_roles_pay_for_few_keys_where_processors_have_several_tiles(
    batches: int, keys: int, extent: int, expected: str
) -> None:
    """A tile has 128 rows, so that 8 processors have as many rounds of tiles as there are batches of 8 heads."""
    assert first({"SPLITS": 1}, B=batches, M=32, N=keys, extent=extent, processors=8) == expected


@pytest.mark.parametrize(
    ("batches", "rows", "wide"),
    [
        (1, 1024, True),  # 16 rounds of tiles of 128 rows, or 12 of 192: three of these take as long as four of others
        (1, 1500, True),  # 24, or 16
        (1, 2048, True),  # 32, or 22
        (8, 192, True),  # 32, or 16
        (8, 129, True),
        (8, 128, False),  # 16 of both
        (8, 193, False),  # 32 of both
    ],
)
def test_programs_have_three_consumers_where_all_tiles_are_done_as_soon(batches: int, rows: int, wide: bool) -> None:
    """Of 2 processors, 4 heads a batch: each of two tiles of rows is a round."""
    made = artifact("mha", 64)
    sizes = {"B": batches, "H": 4, "M": rows, "N": 2048, "D": 64, "E": 64}
    expected = "mha_wide_roles_kernel" if wide else "mha_roles_kernel"
    for asked, kernel in (
        ({"ROLES": 1}, expected),
        (None, expected),
        ({"WIDE": 1}, "mha_wide_roles_kernel"),
        ({"WIDE": 0}, "mha_roles_kernel"),
        ({"ROLES": 1, "WIDE": 1}, "mha_wide_roles_kernel"),
        ({"ROLES": 1, "WIDE": 0}, "mha_roles_kernel"),
        ({"ROLES": 0}, "mha_kernel"),
    ):
        programs = 2 if "roles" in kernel else batches * 4 * -(-rows // 64)
        assert launched(made, sizes, {}, asked, 2) == [(kernel, programs)]


@pytest.mark.parametrize(
    ("name", "extent"), [("causal_end", 64), ("alibi", 64), ("mha", 80), ("mha", 96), ("gqa", 64), ("padding", 64)]
)
def test_programs_with_masks_or_more_features_have_two_consumers(name: str, extent: int) -> None:
    assert "_is_wide" not in artifact(name, extent).source


SCORE = "/ sqrt(D)\n"


@pytest.mark.parametrize(
    ("features", "values", "score", "wide"),
    [
        (64, 64, SCORE, True),
        (64, 48, SCORE, True),
        (64, 64, "/ sqrt(D) + f32(i) * 0.01\n", True),
        (64, 64, "/ sqrt(D)\n    let gate = v[b,h,i,:]\n", False),  # and tiles of rows that threads load
        (32, 96, SCORE, False),  # its sums take the registers that three consumers have less
        (64, 64, "/ sqrt(D) + f32(j) * 0.01\n", False),  # and so do numbers of each key
        (64, 64, "/ sqrt(D) - 0.01 * (f32(i) - f32(j))\n", False),
        (64, 64, "/ sqrt(D) - 0.01 * abs(i - j)\n", False),
        (64, 64, "/ sqrt(D)\n    mask = j != i\n", False),
    ],
)
def test_three_consumers_have_few_registers(features: int, values: int, score: str, wide: bool) -> None:
    text = spec_of("mha").source.text.replace(SCORE, score)
    text = text.replace("softmax(score)", "softmax(score, mask)") if "mask" in score else text
    text = text.replace("v[b,h,j,:]", "v[b,h,j,:] * gate") if "gate" in score else text
    made = attndsl.compile(text).artifact("gluon", {"D": features, "E": values}, "cuda:90", T="bf16")
    assert ("_is_wide" in made.source) == wide
    assert ("or 3 in 3 stages" in str(made.schedule)) == wide


def test_what_counts_tiles_is_called_as_nothing_else_is() -> None:
    text = spec_of("mha").source.text
    for old, new in (("output o ", "output mha_taken "), ("    o[b", "    mha_taken[b")):
        assert old in text
        text = text.replace(old, new)
    made = attndsl.compile(text).artifact("gluon", {"D": 64, "E": 64}, "cuda:90", T="bf16")
    assert "mha_taken_1 = _counter(" in made.source


class Number(int):
    """An int as Gluon has it."""

    def to(self, kind: str) -> Number:
        return self


class Gluon:
    """What functions of a file ask of Gluon, for program `number` of so many."""

    int32 = "i32"

    def __init__(self, programs: int) -> None:
        self.number, self.programs = 0, programs

    def program_id(self, axis: int) -> int:
        return self.number

    def num_programs(self, axis: int) -> int:
        return self.programs

    def atomic_add(self, counter: list[int], more: int, mask: bool, sem: str) -> int:
        if not mask:
            return -1  # whatever a register held
        counter[0] += more
        return counter[0] - more

    def where(self, chosen: bool, one: int, other: int) -> Number:
        return Number(one if chosen else other)


@pytest.mark.parametrize("processors", [1, 2, 3, 132])
def test_each_tile_is_some_programs(processors: int) -> None:
    """What a file's functions say of the next tile, of all numbers of tiles, with programs in any order."""
    order = random.Random(processors)
    for tiles in (*range(1, 40), *range(processors, 4 * processors, 7), 2 * processors, 2 * processors + 1):
        gluon = Gluon(min(tiles, processors))
        torch = SimpleNamespace(zeros=lambda n, dtype, device: [0] * n, int32="i32")
        host: dict[str, Any] = {"gl": gluon, "gluon": SimpleNamespace(jit=lambda f: f), "torch": torch}
        host["_processors"] = lambda device: processors
        exec(TAKES, host)
        counter, walked, found = host["_counter"](tiles, "cuda"), dict.fromkeys(range(gluon.programs), 0), list[int]()
        while walked:
            gluon.number = order.choice(list(walked))
            tile = host["_next_tile"](counter, walked[gluon.number], tiles)
            walked[gluon.number] += 1
            if tile < tiles:
                found.append(tile)
            else:
                del walked[gluon.number]
        assert sorted(found) == [*range(tiles)]


@pytest.mark.parametrize(
    ("batches", "rows", "expected"), [(16, 32768, True), (64, 64, False), (64, 1024, False), (64, 1025, True)]
)
def test_requests_have_as_many_rows_as_outputs_on_average(batches: int, rows: int, expected: bool) -> None:
    """Data say how many rows each request has, of which a launch knows the sum: 16 with the 4 heads that share keys."""
    made = attndsl.load("packed_ragged").artifact("gluon", {"D": 128, "E": 128}, "cuda:90", T="bf16", I="i32")
    sizes = {"B": batches, "M": rows, "N": 65536, "Hq": 32, "Hkv": 8, "D": 128, "E": 128}
    kernel, _ = launched(made, sizes, {})[0]
    assert kernel.endswith("_roles_kernel") == expected


@pytest.mark.parametrize("pages", [1, 8])
def test_few_keys_do_where_data_count_rows(pages: int) -> None:
    """128 requests of 256 rows on an H200, of 256 keys on pages: 3.9 ms without roles, packed keys 0.63 with them."""
    sizes = {"D": 128, "E": 128, "S": 64}
    made = attndsl.load("paged_prefill").artifact("gluon", sizes, "cuda:90", T="bf16", I="i32")
    given = {**sizes, "B": 128, "M": 128 * 256, "Hq": 32, "Hkv": 8, "P": 512, "L": pages}
    assert launched(made, given, {})[0][0] == "paged_prefill_roles_kernel"


SIDE_BY_SIDE = """attention a {
    dims B, M, N, D, R
    input  q : f32[M, D]
    input  x : f32[D, R]
    input  y_clearing : f32[N, R]
    input  ends : i32[B + 1]
    output x_y : f32[M, R]
    let z[j, d in D] = x[d, :] . y_clearing[j, :]
    each b in B, i in ends[b + 1] - ends[b]
    over j in N
    score = q[ends[b] + i, :] . z[j, :]
    x_y[ends[b] + i, :] = softmax(score) . y_clearing[j, :]
}"""


def test_what_clears_is_no_form_whatever_it_is_called() -> None:
    """A kernel may be called as one is that clears: that of a spec's name, or of what is made of two inputs."""
    text = spec_of("packed_ragged").source.text.replace("packed_ragged", "o_clearing")
    made = attndsl.compile(text).artifact("gluon", {"D": 128, "E": 128}, "cuda:90", T="bf16", I="i32")
    sizes = {"B": 64, "M": 65536, "N": 65536, "Hq": 32, "Hkv": 8, "D": 128, "E": 128}
    assert made.clearing == 1
    assert [kernel for kernel, _ in launched(made, sizes, {})] == ["o_clearing_roles_kernel"]
    made = attndsl.compile(SIDE_BY_SIDE).artifact("triton", {}, "cuda:90")
    kernels = [node.name for node in ast.parse(made.source).body if isinstance(node, ast.FunctionDef)]
    assert len(kernels) == len(set(kernels)) and {"a_x_y_clearing_kernel", "a_x_y_clearing__kernel"} <= {*kernels}
    found = launched(made, {"B": 1, "M": 4096, "N": 64, "D": 64, "R": 64}, {})
    assert found[0][0] == "a_x_y_clearing_kernel" and "a_x_y_clearing__kernel" not in dict(found)


LATENT = {"R": 512, "P": 64, "S": 64}


def of_latents(schedule: Any = None, **dims: int) -> tuple[str, int]:
    """The first kernel of a call of latent attention on pages, and how many programs it has."""
    made = attndsl.load("mla_paged").artifact("gluon", LATENT, "cuda:90", T="bf16", I="i32")
    sizes = {"B": 128, "H": 128, "M": 1, "C": 4096, "L": 64, **LATENT, **dims}
    kernel, programs = launched(made, sizes, {"d_head": 192}, schedule)[0]
    return kernel.removeprefix("mla_paged_").removesuffix("kernel").removesuffix("_") or "whole", programs


@pytest.mark.parametrize(
    ("dims", "expected"),
    [
        ({}, "roles"),
        ({"H": 16}, "split"),
        ({"H": LEAST_SHARED_ROWS}, "roles"),
        ({"B": 16}, "split_roles"),
        ({"B": 1, "L": 1024}, "split_roles"),
        ({"B": 1}, "split"),
        ({"B": 48}, "roles"),
        ({"B": 16, "H": 64}, "split_roles"),
        ({"B": 8, "H": 64}, "split_roles"),
        ({"B": 4, "H": 64}, "split"),
        ({"B": 16, "H": 32}, "split"),
        ({"B": 32, "H": 32}, "split_roles"),
        ({"B": 64, "L": 4}, "whole"),
        ({"B": 64, "L": 8}, "roles"),
    ],
)
def test_consumers_share_out_sums_where_each_processor_has_enough_turns(dims: dict[str, int], expected: str) -> None:
    """As an H200 was faster: docs/performance.md."""
    assert of_latents(**dims)[0] == expected


TWO_BLOCKS = """
attention two {
    dims B, H, M, N, R, D
    types T
    input  q : T[B, H, M, R]
    input  c : T[B, N, R]
    input  p : T[B, H, M, D]
    input  k : T[B, H, N, D]
    output o : T[B, H, M, R]
    output r : T[B, H, M, D]
    each b in B, h in H, i in M
    over j in N
    o[b,h,i,:] = softmax(q[b,h,i,:] . c[b,j,:] / 16, j <= i + (N - M)) . c[b,j,:]
    each b in B, h in H, i in M
    over j in N
    r[b,h,i,:] = softmax(p[b,h,i,:] . k[b,h,j,:] / 16, j <= i + (N - M)) . k[b,h,j,:]
}
"""


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"ROLES": 1}, ["0_roles", "1_roles"]),
        ({"ROLES": 1, "SPLITS": 3}, ["0_split_roles", "0_merge", "1_split", "1_merge"]),
        ({"ROLES": 0, "SPLITS": 1}, ["0", "1"]),
    ],
)
def test_each_block_has_its_own_rule(asked: Any, expected: list[str]) -> None:
    """Consumers share out sums in one block, and rows in the other, whose splits have no roles."""
    op = attndsl.compile(TWO_BLOCKS)
    sizes = {"R": 512, "D": 64}
    made = op.artifact("gluon", sizes, "cuda:90", T="bf16")
    started = launched(made, {"B": 2, "H": 4, "M": 640, "N": 640, **sizes}, {}, asked)
    assert [kernel.removeprefix("two_").removesuffix("_kernel") for kernel, _ in started] == expected


def test_the_rule_of_shares_is_told() -> None:
    made = attndsl.load("mla_paged").artifact("gluon", LATENT, "cuda:90", T="bf16", I="i32")
    roles = next(str(text) for name, text in made.schedule.items() if name.startswith("roles"))
    assert "2 groups of four have 256 and 256 sums of the same 64 rows, 64 keys a tile" in roles
    taken = form(made, {"B": 128, "H": 128, "M": 1, "C": 4096, "L": 64, **LATENT}, {"d_head": 192})
    assert taken is not None
    assert taken.endswith("where each of 132 processors has 3.5 turns of 64 rows and keys or more")


def test_keys_are_cut_so_that_all_processors_end_soonest() -> None:
    """16 requests of 128 heads are 32 tiles of rows, 4 splits of which fill 132 processors."""
    assert of_latents(B=16) == ("split_roles", 128)
    assert of_latents({"ROLES": 1, "SPLITS": 2}, B=16) == ("split_roles", 64)
    assert of_latents({"ROLES": 1, "SPLITS": 1}, B=16) == ("roles", 32)
    assert of_latents({"SPLITS": 3}, B=16) == ("split_roles", 96)
    assert of_latents({"ROLES": 0, "SPLITS": 3}, B=16)[0] == "split"
    assert of_latents({"KEYS": 32})[0] == "whole"


def test_numbers_of_tiles_have_32_bits() -> None:
    """Each of many requests might have all rows: so many tiles are not told apart, even where roles are asked for."""
    made = attndsl.load("packed_ragged").artifact("gluon", {"D": 64, "E": 64}, "cuda:90", T="bf16", I="i32")
    sizes = {"B": 2**14, "M": 2**21, "N": 2**21, "Hq": 8, "Hkv": 8, "D": 64, "E": 64}
    for asked in (None, {"ROLES": 1}):
        assert launched(made, sizes, {}, asked)[0][0] == "packed_ragged_kernel"
        assert launched(made, {**sizes, "B": 2**14 - 1}, {}, asked)[0][0] == "packed_ragged_roles_kernel"


def test_what_takes_much_arithmetic_for_few_features_pays_only_if_it_is_asked_for() -> None:
    assert first(extent=32) == "whole"
    assert first({"ROLES": 1}, extent=32) == first(extent=64) == first(name="softcap") == "roles"


@pytest.mark.parametrize(
    ("name", "extent", "arithmetic", "keys"),
    [
        ("gqa", 128, 12, Enough(512, 128, 3)),
        ("alibi", 128, 13, Enough(512, 128, 3)),
        ("sliding_window", 128, 12, Enough.of(512)),
        ("gqa", 64, 12, Enough(1024, 256, 8)),
        ("mha", 64, 12, Enough(1024, 256, 8)),
        ("sliding_window", 64, 12, Enough.of(1024)),
        ("alibi", 64, 13, Enough.of(2048)),
        ("mha", 32, 12, None),
        ("softcap", 64, 21, Enough(512, 128, 3)),
        ("int8_cache", 32, 14, Enough.of(512)),
        ("pair_bias", 32, 14, Enough.of(512)),
    ],
)
def test_what_was_measured_is_what_the_model_says(name: str, extent: int, arithmetic: int, keys: Enough | None) -> None:
    """From what on roles are faster, None where they never are: docs/performance.md."""
    (kernel,) = kernels(plain(name, "bf16", extent), "whole")
    found = roled(kernel)
    assert (arithmetic_of(found), products_of(found)) == (arithmetic, extent / 8)
    if keys is not None:
        assert enough_for(found) == keys
        return
    with pytest.raises(NoGain, match="the arithmetic of a score takes 3 times as long as its products"):
        enough_for(found)


# --- what the generated file asks of tensors and GPUs


class Tensor:
    """What a launcher asks of a tensor of 16-bit numbers."""

    def __init__(self, strides: tuple[int, ...] = (8192, 64, 1), address: int = 0, device: str = "cuda") -> None:
        self.shape, self._strides, self._address = (2, 128, 64), strides, address
        self.device = SimpleNamespace(type=device)

    def stride(self, axis: int | None = None) -> Any:
        return self._strides if axis is None else self._strides[axis]

    def element_size(self) -> int:
        return 2

    def data_ptr(self) -> int:
        return self._address


@pytest.mark.parametrize(
    ("tensors", "capability", "expected"),
    [
        ((Tensor(), Tensor()), (9, 0), True),
        ((Tensor((64, 128, 1)),), (9, 0), True),
        ((Tensor(), Tensor(address=8)), (9, 0), False),
        ((Tensor((8192, 1, 64)),), (9, 0), False),
        ((Tensor((8192, 63, 1)),), (9, 0), False),
        ((Tensor(),), (8, 0), False),
        ((Tensor(),), (10, 0), False),
        ((Tensor(device="meta"),), (9, 0), False),
        ((Tensor(device="cpu"),), (9, 0), False),
    ],
)
def test_roles_that_cannot_be_are_not_taken(
    tensors: tuple[Tensor, ...], capability: tuple[int, int], expected: bool
) -> None:
    pytest.importorskip("triton")
    from attndsl.backends.gpu.aot import load

    torch = SimpleNamespace(cuda=SimpleNamespace(get_device_capability=lambda device: capability))
    has_roles = load(artifact("gqa").source, torch=torch)["_has_roles"]
    for asked, pays in (({"ROLES": 1}, False), ({}, True), (None, True)):
        assert has_roles(asked, 1, pays, tensors[0].device, *tensors) == expected
    assert not has_roles({}, 1, False, tensors[0].device, *tensors)
    assert not has_roles({"ROLES": 0}, 1, True, tensors[0].device, *tensors)


# --- explain


def told(name: str, extent: int = 128, **dims: int) -> tuple[str, str | None]:
    sizes = {"B": 4, "Hq": 32, "Hkv": 8, "M": 4096, "N": 4096, "D": extent, "E": extent, **dims}
    made = artifact(name, extent)
    return str(made.schedule[f"roles ({name})"]), form(made, sizes, PARAMS.get(name, {}))


def test_explain_says_which_form_is_taken_and_why() -> None:
    roles, taken = told("gqa")
    assert roles.startswith(
        "where a launch can, from 512 keys on, or from 128 keys and 3 tiles of rows with so many for each processor: "
        "one warp copies, 2 groups of four fold 64 rows each, "
    )
    assert taken is not None and taken.startswith("with roles: ") and "gqa_roles_kernel; roles are for 65 rows" in taken
    _, taken = told("gqa", N=127)
    assert taken is not None and taken.startswith("plain: ") and "as many keys as are told of them" in taken
    roles, taken = told("gqa", 32)
    assert roles.startswith(f"{ONLY_ASKED}, since the arithmetic of a score takes 3 times as long as its products:")
    assert taken is not None and taken.startswith("plain: ") and taken.endswith(" programs of gqa_kernel")
    assert told("dropout") == (f"none: {REFUSED['dropout']}, which takes the registers of scores", None)


def test_operators_explain_it_for_hopper() -> None:
    op, dims = attndsl.load("gqa"), {"B": 4, "Hq": 32, "Hkv": 8, "M": 64, "N": 64, "D": 16, "E": 16}
    lines = op.explain("cuda:90", **dims).splitlines()
    (roles,) = (line for line in lines if line.startswith("  roles (gqa)"))
    assert "none: its products are not of f16 or bf16" in roles, "of f32"
    assert not [line for line in lines if line.startswith("  form")]
    assert "roles" not in op.explain("cuda:80", **dims)
