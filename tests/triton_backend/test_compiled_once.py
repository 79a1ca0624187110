"""How often Triton compiles: not for each size, length or parameter of a call. What it keys its code on is asked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from triton.backends.compiler import GPUTarget
from triton.compiler import make_backend
from triton.runtime.jit import create_function_from_signature

from attndsl.checking.symbolic import evaluate
from attndsl.driver.library import artifact_of, checked
from attndsl.driver.module import load_module
from attndsl.driver.summarise import summarise
from attndsl.op.torch_tensors import ELEMENTS
from attndsl.python_names import python_name
from attndsl.syntax.read import read_source

EXAMPLES = Path(__file__).parents[2] / "examples"

HEADS = {"Hq": 8, "Hkv": 2, "H": 8, "G": 2}
FEATURES = {"D": 64, "E": 64, "R": 64, "P": 32, "S": 64}

CALLS = ({"B": 2, "M": 16, "N": 64}, {"B": 1, "M": 1, "N": 1}, {"B": 3, "M": 7, "N": 65}, {"B": 16, "M": 16, "N": 16})
"""Extents that change from call to call: even, 1, odd, multiples of 16; every other dim that is none of these is N."""


@pytest.mark.parametrize("splits", [1, 3])
@pytest.mark.parametrize(
    "name", ["gqa", "sliding_window", "lse", "paged_decode", "pair_bias", "mla_paged", "int8_cache"]
)
def test_sizes_and_parameters_need_no_code_of_their_own(name: str, splits: int) -> None:
    source = read_source(EXAMPLES / f"{name}.attn")
    signature = summarise(checked(source))
    types = {**signature.default_types(), "T": "bf16"}
    module = load_module(artifact_of(source, types, "triton", {dim: FEATURES[dim] for dim in signature.features}))
    launches = module[f"{python_name(name)}_launches"]
    keys = []
    for number, sizes in enumerate(CALLS):
        dims = {dim: {**HEADS, **FEATURES, **sizes}.get(dim, sizes["N"]) for dim in signature.dims}
        params = {python_name(p.name): (1, 16, 17, 4096)[number] for p in signature.params if p.kind == "int"}
        tensors = [
            torch.empty(
                [evaluate(extent, dims, {}) for extent in tensor.extents],
                dtype=ELEMENTS[types.get(tensor.element, tensor.element)],
            )
            for tensor in (*signature.inputs, *signature.outputs)
        ]
        schedule = {"ROWS": 64, "KEYS": 64, "SPLITS": splits, "num_warps": 4, "num_stages": 2}
        keys.append({key(*launch) for launch in launches(*tensors, **params, schedule=schedule)})
    assert all(each == keys[0] for each in keys[1:]), differences(keys)


def key(kernel: Any, programs: int, arguments: tuple[Any, ...], options: Mapping[str, Any]) -> tuple[str, ...]:
    """What Triton keeps a compiled kernel by, on an NVIDIA GPU; all pointers are multiples of 16 bytes."""
    backend = make_backend(GPUTarget("cuda", 90, 32))
    bind = create_function_from_signature(kernel.signature, kernel.params, backend)
    _, found, _ = bind(*arguments, **options)
    named = (f"{name}: {each}" for name, each in zip(kernel.arg_names, found, strict=True))
    return (kernel.__name__, *named, str(options))


def differences(keys: list[set[tuple[str, ...]]]) -> str:
    """The arguments that some calls have other code for."""
    first, *others = ({text for launch in each for text in launch} for each in keys)
    return ", ".join(sorted(first.union(*others) - first.intersection(*others)))
