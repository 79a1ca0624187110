"""`attndsl list`, and specs of the gallery by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import attndsl as package
from attndsl.diagnostics.base import SpecError


def test_every_spec_in_a_line(attndsl: Any, gallery: Path) -> None:
    result = attndsl("list")
    assert (result.code, result.err) == (0, "")
    lines = dict(line.split(maxsplit=1) for line in result.out.splitlines())
    assert lines.keys() == {path.stem for path in gallery.glob("*.attn")}
    assert lines["gqa"] == "Grouped-query attention, causal, aligned to the end of the keys."
    assert lines["retention"].endswith("with each step back.")  # a sentence that takes two lines
    assert all(about.endswith(".") for about in lines.values())


def test_json(attndsl: Any, gallery: Path) -> None:
    specs = json.loads(attndsl("list", "--json").out)["specs"]
    found = {spec["name"]: Path(spec["file"]) for spec in specs}
    assert found["gqa"].samefile(gallery / "gqa.attn")
    assert all(spec.keys() == {"name", "about", "file"} for spec in specs)


def test_commands_take_names(attndsl: Any) -> None:
    result = attndsl("check", "gqa")
    assert result.code == 0
    assert "gqa(q : T[B, Hq, M, D]" in result.out


@pytest.mark.parametrize(
    ("name", "hint"), [("gqaa", ", did you mean gqa?"), ("zzzzzzz", ": `attndsl list` tells all.")]
)
def test_a_name_that_is_neither(attndsl: Any, name: str, hint: str) -> None:
    result = attndsl("check", name)
    assert result.code == 2
    assert f"there is no file {name}, and no spec of the gallery is called so{hint}" in result.err


def test_load_finds_the_gallery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sinks").mkdir()  # no spec
    assert package.load("sinks").signature.name == "sinks"
    text = "attention mine { dims N input x : f32[N] output o : f32[N] each i in N o[i] = x[i] }"
    (tmp_path / "mha").write_text(text)
    assert package.load("mha").signature.name == "mine"  # a file goes before
    with pytest.raises(SpecError, match="did you mean `mqa`"):
        package.load("mqq")
    with pytest.raises(SpecError, match=r"E901.*there is no file `gqa\.attn`"):
        package.load("gqa.attn")
    with pytest.raises(SpecError, match="E901"):
        package.load("../examples/gqa")
    for given in (text, text + 300 * "#"):  # the second is too long for a name
        with pytest.raises(SpecError, match=r"the text of a spec is what `attndsl\.compile` takes"):
            package.load(given)
