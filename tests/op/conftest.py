"""An operator whose compiler is a stub: two small specs as the real compiler would hand them over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count

import pytest

from attndsl.checking.symbolic import Expression
from attndsl.driver.artifact import Artifact
from attndsl.driver.signature import ParamSignature, Signature, TensorSignature
from attndsl.op import binding
from attndsl.op.op import Op
from attndsl.syntax.source import Source

FLOATS = ("f16", "bf16", "f32", "f64")


def tensor(name: str, element: str, *extents: Expression) -> TensorSignature:
    return TensorSignature(name, element, tuple(("dim", e) if isinstance(e, str) else e for e in extents))


GQA = Signature(
    name="gqa",
    dims=("B", "Hq", "Hkv", "M", "N", "D", "E"),
    types={"T": FLOATS},
    params=(ParamSignature("window", "int", 4096), ParamSignature("cap", "float", 2.0)),
    inputs=(
        tensor("q", "T", "B", "Hq", "M", "D"),
        tensor("k", "T", "B", "Hkv", "N", "D"),
        tensor("v", "T", "B", "Hkv", "N", "E"),
    ),
    outputs=(tensor("o", "T", "B", "Hq", "M", "E"),),
    requires=(("ieq", ("imod", ("dim", "Hq"), ("dim", "Hkv")), 0),),
    work=(tuple((("dim", dim), ("dim", dim)) for dim in "MN"),),
)

GQA_SOURCE = """
import numpy as np

def widen(x):
    return (x.astype(np.uint32) << 16).view(np.float32) if x.dtype == np.uint16 else x.astype(np.float64)

def gqa(q, k, v, o, *, window=4096, cap=2.0, _run=None):
    group = q.shape[1] // k.shape[1]
    keys, values = (np.repeat(widen(x), group, axis=1) for x in (k, v))
    score = cap * (widen(q) @ keys.swapaxes(2, 3))
    i, j = np.arange(q.shape[2])[:, None], np.arange(k.shape[2])
    score = np.where(abs(i - j) < window, score, -np.inf)
    p = np.exp(score - score.max(axis=-1, keepdims=True))
    result = p / p.sum(axis=-1, keepdims=True) @ values
    if o.dtype == np.uint16:
        result = (result.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    o[...] = result
"""

ODD = Signature(
    name="lambda",
    dims=("B", "N"),
    types={},
    params=(ParamSignature("in_", "bool", None), ParamSignature("limit", "float", float("inf"))),
    inputs=(
        tensor("is", "f8e4m3", "B"),
        tensor("cu", "i32", ("iadd", ("dim", "B"), 1)),
        tensor("bits", "u8", "N"),
    ),
    outputs=(tensor("_o", "f32", "B"), tensor("lse", "bf16", ("isub", ("dim", "N"), ("dim", "B")))),
    requires=(("ine", ("dim", "N"), 0), ("or", ("param", "in_"), ("fgt", ("param", "limit"), 1.0))),
    work=(),
)

ODD_SOURCE = """
def lambda_(is_, cu, bits, _o, lse, *, in__, limit, _run=None):
    _o[...] = is_
    lse[...] = 16256 if in__ else 0
"""


class Compiler:
    """What the operator is given instead of the compiler; it counts compilations.

    Kernels may leave elements unwritten of an output that is called `rows`.
    """

    def __init__(self, signature: Signature, source: str) -> None:
        self.signature = signature
        self.source = source
        self.compiled: list[dict[str, str]] = []

    def signature_of(self, source: Source) -> Signature:
        return self.signature

    def artifact_of(
        self,
        source: Source,
        types: Mapping[str, str],
        target: str,
        sizes: Mapping[str, int],
        machine: str,
        left_out: tuple[str, ...],
    ) -> Artifact:
        self.compiled.append(dict(types))
        ir = {"attn": "the attn IR", "tile": "the tile IR"}
        given = (self.signature.name, target, types, self.signature, self.source, ir, {"tile_rows": 64})
        return Artifact(*given, cleared=tuple(t.name for t in self.signature.outputs if t.name == "rows"))


_numbers = count()

Make = Callable[[Signature, str], tuple[Op, Compiler]]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Make:
    def make(signature: Signature, source: str) -> tuple[Op, Compiler]:
        number = next(_numbers)  # equal meanings share one operator of torch, and so a compiler
        compiler = Compiler(replace(signature, meaning=f"stub{number}"), source)
        monkeypatch.setattr(binding, "signature_of", compiler.signature_of)
        monkeypatch.setattr(binding, "artifact_of", compiler.artifact_of)
        return Op(Source(f"{source}# {number}", f"{signature.name}.attn")), compiler

    return make


@pytest.fixture
def gqa(make: Make) -> tuple[Op, Compiler]:
    return make(GQA, GQA_SOURCE)


@pytest.fixture
def odd(make: Make) -> tuple[Op, Compiler]:
    """Names that Python reserves, fixed element types, two outputs."""
    return make(ODD, ODD_SOURCE)
