"""Signatures and artifacts: what a key depends on, and what the cache saves."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest

from attndsl import cache
from attndsl.checking.coverage import partial_outputs
from attndsl.checking.typed import Spec
from attndsl.diagnostics import SpecError
from attndsl.driver import fingerprint, library
from attndsl.driver.artifact import Artifact
from attndsl.driver.passes import run_pipeline
from attndsl.driver.signature import Signature
from attndsl.driver.summarise import feature_dims, summarise
from attndsl.ir import attn
from attndsl.ir.build import build
from attndsl.ir.rewrite import constant
from attndsl.ir.xdsl import arith
from attndsl.passes.canonicalize import Canonicalize
from attndsl.passes.specialise import Specialise
from attndsl.syntax.read import read_source
from attndsl.syntax.source import Source

GALLERY = sorted((Path(__file__).parents[2] / "examples").glob("*.attn"))
GQA = read_source(next(path for path in GALLERY if path.stem == "gqa"))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(cache.ENVIRONMENT, str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What the compiler is asked for; a stub stands in for it."""
    asked: list[tuple[str, str]] = []

    def compile_spec(
        spec: Spec, types: Mapping[str, str], target: str, sizes: Mapping[str, int], machine: str
    ) -> Artifact:
        asked.append((types["T"], target))
        return Artifact(spec.name, target, types, summarise(spec), "the program", {"attn": "…"}, {"tile_rows": 64})

    module = ModuleType("attndsl.driver.compile")
    module.compile_spec = compile_spec  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return asked


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_a_signature_survives_json(path: Path) -> None:
    signature = summarise(library.checked(read_source(path)))
    assert Signature.from_json(json.loads(json.dumps(signature.to_json()))) == signature


def test_a_signature_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    signature = library.signature_of(GQA)
    assert len(list(folder.iterdir())) == 1
    monkeypatch.setattr(library, "checked", None)
    assert library.signature_of(GQA) == signature


def test_an_artifact_is_kept_by_types_target_sizes_and_machine(compiled: list[tuple[str, str]]) -> None:
    first = library.artifact_of(GQA, {"T": "f32"}, "numpy")
    assert library.artifact_of(GQA, {"T": "f32"}, "numpy") == first
    library.artifact_of(GQA, {"T": "f16"}, "numpy")
    library.artifact_of(GQA, {"T": "f32"}, "triton")
    for _ in range(2):
        library.artifact_of(GQA, {"T": "f32"}, "triton", {"D": 64})
        library.artifact_of(GQA, {"T": "f32"}, "triton", {"D": 64}, "cuda:80")
    assert compiled == [("f32", "numpy"), ("f16", "numpy"), *[("f32", "triton")] * 3]


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_feature_dims_settle_every_feature_axis(path: Path) -> None:
    """What code is made for is all that an axis of the IR rests on, and no dim that shapes nothing."""
    spec = library.checked(read_source(path))
    signature = summarise(spec)
    for left_out in (None, *signature.features):
        module = build(spec, signature.default_types())
        known = tuple(dim for dim in signature.features if dim != left_out)
        run_pipeline(module, (Specialise(known, (64,) * len(known)), Canonicalize()))
        ranked = {v for op in module.walk() if isinstance(op, attn.TopOp) for v in (op.over, op.at)}  # keys, and places
        sizes = [op.extent for op in module.walk() if isinstance(op, attn.AxisOp) and op.result not in ranked]
        sizes += [op.rhs for op in module.walk() if isinstance(op, arith.FloorDivSIOp) and _finds_page(op)]
        assert all(constant(size) is not None for size in sizes) == (left_out is None)


def _finds_page(op: arith.FloorDivSIOp) -> bool:
    return isinstance(op.lhs.owner, attn.OverOp) and any(isinstance(u.operation, attn.ReadOp) for u in op.result.uses)


@pytest.mark.parametrize(
    ("name", "dims"),
    [("gqa", "DE"), ("mla_projections", "DEPR"), ("int4_cache", "DE"), ("paged_decode", "DES"), ("mla_paged", "PRS")],
)
def test_feature_dims_of_the_gallery(name: str, dims: str) -> None:
    (path,) = (path for path in GALLERY if path.stem == name)
    assert feature_dims(library.checked(read_source(path))) == tuple(dims)


def test_an_extent_that_is_computed_rests_on_its_dims() -> None:
    text = """attention halves {
        dims M, D, E
        input  x : f32[M, D, E]
        output o : f32[M]
        each i in M
        o[i] = sum(d in D / 2 + E) x[i, d, 0]
    }"""
    assert feature_dims(library.checked(Source(text))) == ("D", "E")


def test_rows_that_need_not_cover_an_output_make_it_partial() -> None:
    partial = {path.stem for path in GALLERY if partial_outputs(library.checked(read_source(path)))}
    ragged = {"append_ragged", "packed_ragged", "padding", "paged_prefill"}  # where a length in a tensor ends the rows
    assert partial == {*ragged, "key_mass"}  # which rows add to
    doubled = Source(GQA.text.replace("i in M", "i in M / 2"))
    assert partial_outputs(library.checked(doubled)) == ("o",)


def test_a_key_depends_on_text_file_name_and_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {library._key("signature", Source(GQA.text, name)) for name in ("a/gqa.attn", "b/gqa.attn")}
    assert len(keys) == 1
    keys.add(library._key("signature", Source(GQA.text, "a/other.attn")))
    keys.add(library._key("signature", Source(GQA.text + " ", "a/gqa.attn")))
    monkeypatch.setattr(library, "fingerprint", lambda: "another compiler")
    keys.add(library._key("signature", Source(GQA.text, "a/gqa.attn")))
    assert len(keys) == 4


def test_the_fingerprint_follows_every_source_file_by_content(tmp_path: Path) -> None:
    def now() -> str:
        fingerprint.fingerprint.cache_clear()
        return fingerprint.fingerprint(tmp_path / "package")

    (tmp_path / "package").mkdir()
    (tmp_path / "linked").mkdir()
    (tmp_path / "package" / "passes").symlink_to(tmp_path / "linked")
    seen = [now()]
    for file, content in (("package/a.py", "1"), ("package/a.py", "2"), ("package/g.lark", "1"), ("linked/b.py", "1")):
        (tmp_path / file).write_text(content)
        seen.append(now())
    assert len(set(seen)) == len(seen)
    (tmp_path / "package" / "note.txt").write_text("no source")
    (tmp_path / "linked" / "b.py").touch()
    assert now() == seen[-1]


def test_a_wrong_spec_is_not_kept(folder: Path) -> None:
    with pytest.raises(SpecError):
        library.signature_of(Source(GQA.text.replace("Hkv, N, D", "Hkw, N, D")))
    assert not folder.exists()


def test_a_kept_spec_is_loaded_with_neither_parser_nor_ir(folder: Path) -> None:
    program = f"""
import sys, attndsl
op = attndsl.load({GQA.name!r})
assert op.signature.name == "gqa"
sys.exit(", ".join({{"lark", "xdsl", "attndsl.checking.check", "numpy", "torch"}} & set(sys.modules)) or None)
"""
    library.signature_of(GQA)
    subprocess.run([sys.executable, "-c", program], check=True)


def test_work_counts_the_terms_of_contractions() -> None:
    dims = {"B": 2, "H": 3, "N": 5, "R": 7, "D": 11, "M": 13, "E": 17, "P": 19}
    latent = summarise(library.checked(read_source(next(p for p in GALLERY if p.stem == "mla_projections"))))
    keys, values = 2 * 3 * 5 * 11 * 7, 2 * 3 * 5 * 17 * 7
    scores, outputs = 2 * 3 * 13 * 5 * (11 + 19), 2 * 3 * 13 * 5 * 17
    assert latent.operations(dims, {}) == 2 * (keys + values + scores + outputs)
    weights = summarise(library.checked(read_source(next(p for p in GALLERY if p.stem == "relu_attention"))))
    assert weights.operations(dims, {}) == 2 * (2 * 3 * 13 * 5 * (11 + 17))


def test_work_of_rows_that_see_more_and_more() -> None:
    text = """attention triangle {
        dims N, D
        input x : f32[N, D]
        output o : f32[N]
        each i in N
        over j in i + 1
        o[i] = logsumexp(x[i,:] . x[j,:])
    }"""
    work = summarise(library.checked(Source(text))).operations
    assert work({"N": 7, "D": 3}, {}) == 2 * 3 * (7 * 8 // 2)
    assert work({"N": 0, "D": 3}, {}) == 0
    assert work({"N": 2**40, "D": 2}, {}) == 2**41 * (2**40 + 1)  # no 64 bits hold it
