"""Kernels with roles, compiled for a Hopper GPU that is not there: none spills where it multiplies, no task waits."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from attndsl.backends.gpu.aot import load
from attndsl.backends.gpu.launcher import IN_WIDE_ROLES, kernel_name
from attndsl.backends.gpu.stand_ins import POINTERS
from attndsl.backends.gpu.targets import TARGETS
from attndsl.driver.compile import compile_spec, lower
from attndsl.ir import spec, tile
from attndsl.ir.analyses.role_parts import CONSUMERS, WIDE_CONSUMERS
from attndsl.ir.rings import BoxesOp
from attndsl.ir.xdsl import ModuleOp
from attndsl.python_names import pointer_name
from attndsl.testing.case import types_with

from .test_roles import APART, kernels, sizes_of, spec_of

pytest.importorskip("triton")

FEW = 6
"""The numbers that a turn may read anew: where it begins, say. A tile that spills is 16 to a thread at least."""

MIXED = 96
"""The same of a turn over a mixed tile, of which rows have few: its mask compares places beside all that a turn has.

Most are the softcap's, whose first tile masks as well.
"""

PACK = 4
"""The heads that stand beside one another in a box of queries."""

SMALL = ("causal_end", "f16", 64, 64)
WIDE = [("mha", "bf16", 256, 256)]
PIECES = [("mha", "bf16", 192, 128), ("alibi", "f16", 96, 80), ("gated_output", "bf16", 72, 112)]


class Compiled(NamedTuple):
    """Code of a kernel, its consumers, what ptxas says of it, its instructions with addresses, and what it calls."""

    consumers: int
    shared: int
    said: str
    instructions: list[tuple[int, str, str]]
    called: list[str]


def signature_of(function: Any, module: ModuleOp, kernel: tile.KernelOp) -> tuple[dict[str, str], dict[str, Any]]:
    """The types of arguments, and the values of those that are constants, for contiguous tensors."""
    import triton.language as tl
    from triton.experimental.gluon import language as gl

    tensors = [op for op in module.body.block.ops if isinstance(op, spec.TensorOp)]
    pointers = {pointer_name(op.sym_name.data): POINTERS[op.element.data] for op in tensors}
    boxes = [op for op in kernel.walk() if isinstance(op, BoxesOp)]
    last = {f"{pointer_name(op.sym_name.data).removesuffix('_ptr')}_s{len(op.shape) - 1}" for op in tensors}
    rings = {re.sub("_(ring|outbox)$", "", op.sym_name.data): op for op in boxes}
    types, constants = dict[str, str](), dict[str, Any]()
    for param in function.params:
        name = param.name
        ring = rings.get(name.removesuffix("_boxes"))
        if name.endswith("_boxes") and ring is not None:
            element = ring.declaration.element.data
            copied = ring.copied_of(PACK)
            box = [copied.get(axis, 1) for axis in ring.order]
            kind = {"f32": gl.float32, "f16": gl.float16, "bf16": gl.bfloat16, "i8": gl.int8, "u8": gl.uint8}[element]
            layout = gl.NVMMASharedLayout.get_default_for(box, kind)
            types[name] = f"tensordesc<{POINTERS[element][1:]}[{','.join(map(str, box))}],{layout!r}>"
        elif name in pointers:
            types[name] = pointers[name]
        elif param.is_constexpr or name in last:
            types[name], constants[name] = "constexpr", tl.int32 if name == "INDEX" else 1
        else:
            types[name] = param.annotation_type or "i32"
    return types, constants


def compiled(
    name: str, element: str, extent: int, values: int, tmp_path: Path, fused: bool = False, **more: int
) -> list[Compiled]:
    """All kernels of a spec whose warps have roles, but for those that do what several do, or these."""
    import triton
    from triton import knobs
    from triton.backends.compiler import GPUTarget
    from triton.backends.nvidia.compiler import get_ptxas
    from triton.experimental.gluon._runtime import GluonASTSource

    found = spec_of(name)
    types, sizes = types_with(found, element), sizes_of(found, extent, values) | more
    module, _ = lower(found, types, "gluon", sizes)
    functions, made = load(compile_spec(found, types, "gluon", sizes).source), []
    both = [*kernels(module, "roles"), *kernels(module, "wide")]
    for kernel in (each for each in both if (each.instead is not None) == fused):
        function = functions[kernel_name(kernel)]
        types, constants = signature_of(function, module, kernel)
        # As a launch has it where addresses and strides are multiples of 16.
        aligned = [n for n, name in enumerate(types) if re.search(r"_(ptr|s\d+)$", name)]
        attributes = {(n,): [["tt.divisibility", 16]] for n in aligned}
        source = GluonASTSource(function, types, constants, attributes)
        code = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4})
        ptx, cubin = tmp_path / "k.ptx", tmp_path / "k.cubin"
        ptx.write_text(code.asm["ptx"])
        cubin.write_bytes(code.asm["cubin"])
        command = [get_ptxas(90).path, "-v", "--gpu-name=sm_90a", ptx, "-o", tmp_path / "again"]
        said = subprocess.run(command, capture_output=True, text=True, check=True)
        sass = subprocess.run(
            [knobs.nvidia.cuobjdump.path, "-sass", cubin], capture_output=True, text=True, check=True
        ).stdout
        lines = re.findall(r"/\*([0-9a-f]{4,5})\*/\s+(?:@!?U?P\w+ )?(\S+)(.*)", sass)
        instructions = [(int(a, 16), b, c) for a, b, c in lines]
        called = re.findall(r"^\.func [^;{]*\{.*?^\}", code.asm["ptx"], re.DOTALL | re.MULTILINE)
        consumers = WIDE_CONSUMERS if kernel.form == IN_WIDE_ROLES else CONSUMERS
        made.append(Compiled(consumers, code.metadata.shared, said.stdout + said.stderr, instructions, called))
    return made


def loops(instructions: list[tuple[int, str, str]]) -> list[list[str]]:
    """The instructions of each loop: what a branch goes back to, up to it."""
    found = []
    for address, name, rest in instructions:
        goal = re.search(r"0x([0-9a-f]+)", rest)
        if name == "BRA" and goal is not None and int(goal[1], 16) < address:
            first = int(goal[1], 16)
            found.append([other for place, other, _ in instructions if first <= place <= address])
    return found


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("name", "element", "extent", "values"),
    [SMALL, *WIDE, *PIECES, *((name, "bf16", 128, 128) for name in APART)],
)
def test_no_loop_over_keys_spills(name: str, element: str, extent: int, values: int, tmp_path: Path) -> None:
    no_loop_spills(compiled(name, element, extent, values, tmp_path))


@pytest.mark.matrix
@pytest.mark.parametrize(("name", "extent"), [("mha", 32), ("co_attention", 64)])
def test_no_loop_of_three_consumers_spills(name: str, extent: int, tmp_path: Path) -> None:
    made = compiled(name, "bf16", extent, extent, tmp_path)
    assert {code.consumers for code in made} == {CONSUMERS, WIDE_CONSUMERS}
    no_loop_spills(made)


@pytest.mark.matrix
@pytest.mark.parametrize("page", [16, 48, 64, 256])
def test_no_loop_over_keys_on_pages_spills(page: int, tmp_path: Path) -> None:
    no_loop_spills(compiled("paged_prefill", "bf16", 128, 128, tmp_path, S=page))


@pytest.mark.matrix
@pytest.mark.parametrize(("name", "more"), [("mla_paged", {"S": 64}), ("mla_latent", {})])
def test_no_loop_over_latents_spills(name: str, more: dict[str, int], tmp_path: Path) -> None:
    """Both forms, whole and cut by keys: of each the follower's loop, and that which makes scores."""
    made = compiled(name, "bf16", 64, 64, tmp_path, False, R=512, **more)
    assert len(made) == 2
    no_loop_spills(made, 3 * FEW)  # of its 240 registers a thread has 208 for sums, scores and weights


def _has(ops: list[str], *names: str) -> bool:
    return any(op.startswith(names) for op in ops)


def test_arguments_have_the_types_that_a_launch_gives_them() -> None:
    """What is compiled here is what runs: of a type that is a text Triton knows nothing, and 64 bits are 32 then."""
    found = spec_of("mha")
    source = compile_spec(found, types_with(found, "bf16"), "gluon", sizes_of(found, 64, 64)).source
    types = {param.name: param.annotation_type for param in load(source)["mha_roles_kernel"].params}
    assert (types["N"], types["n_b"]) == ("i64", "i32")


def no_loop_spills(made: list[Compiled], few: int = FEW) -> None:
    assert made
    for code in made:
        assert code.shared <= TARGETS["cuda:90"].machine.shared
        assert "C75" not in code.said, "ptxas makes products wait for each other"
        # Triton 3.6 lets a function wait for all threads of a program, of which others are elsewhere.
        assert not any(re.search(r"\bbar(rier)?\.", text) for text in code.called), "a task has a barrier"
        # What a role waits in, and what is laid out behind it, is a loop to this look as well: those are long. One over
        # tiles is as short where that over keys lies elsewhere: it stores.
        over_keys = [ops for ops in loops(code.instructions) if _has(ops, "HGMMA") and not _has(ops, "STG", "UTMASTG")]
        # Those of all consumers over full tiles, and then, where these are apart, over mixed ones.
        folding = sorted(over_keys, key=len)[: 2 * code.consumers]
        assert folding
        turns = min(sum(op.startswith("HGMMA") for op in ops) for ops in folding)
        for n, ops in enumerate(folding):
            spilled = [op for op in ops if op.startswith(("STL", "LDL"))]
            is_mixed = n >= code.consumers and sum(op.startswith("HGMMA") for op in ops) == turns
            assert n >= code.consumers or len(spilled) <= few, "a loop over keys spills"
            assert not is_mixed or len(spilled) <= max(few, MIXED), "a loop over mixed tiles spills"
