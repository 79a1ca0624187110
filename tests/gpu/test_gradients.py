"""Gradients on a real GPU, beside those of the same op in float64 on the CPU: `make test-gpu`."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import attndsl
from attndsl.checking.check import check
from attndsl.gradient import gradient
from attndsl.syntax.source import Source
from attndsl.testing import Case

pytestmark = pytest.mark.gpu

EXAMPLES = Path(__file__).parents[2] / "examples"

NAMES = (
    "alibi",
    "cache_and_new",
    "document_mask",
    "gqa",
    "lse",
    "packed_ragged",
    "qk_norm",
    "rotary",
    "sinks",
    "softcap",
)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("name", NAMES)
def test_agrees_with_the_cpu(name: str, dtype: torch.dtype) -> None:
    spec = check(Source((EXAMPLES / f"{name}.attn").read_text(encoding="utf-8")))
    case, op = Case.make(spec, "f32", seed=5, dims={"D": 32, "E": 32}), attndsl.load(name)
    names = [*gradient(spec).gradients]
    variable = {tensor.name for tensor in spec.inputs if tensor.element in spec.types}

    def gradients(device: str, widest: torch.dtype) -> list[torch.Tensor]:
        tensors = {n: torch.tensor(array) for n, array in case.arrays.items()}
        tensors = {
            n: t.to(dtype).to(widest) if t.is_floating_point() and n in variable else t for n, t in tensors.items()
        }
        tensors = {n: t.to(device).requires_grad_(n in names) for n, t in tensors.items()}
        written = op(**tensors, **case.params)
        first = written[0] if isinstance(written, tuple) else written
        weights = torch.linspace(-1, 1, first.numel(), dtype=first.dtype).reshape(first.shape).to(device)
        return [t.cpu().double() for t in torch.autograd.grad((first * weights).sum(), [tensors[n] for n in names])]

    for got, wanted in zip(gradients("cuda", dtype), gradients("cpu", torch.float64), strict=True):
        off = (got - wanted).norm() / wanted.norm().clamp_min(1e-6)
        assert off < (2e-2 if dtype is torch.bfloat16 else 1e-4)
