"""The NumPy files of the gallery, as users read them; `pytest --update-goldens` writes them anew."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from attndsl.driver.compile import compile_spec
from attndsl.driver.library import checked
from attndsl.driver.summarise import summarise
from attndsl.syntax.read import read_source
from attndsl.testing import Case

ROOT = Path(__file__).parents[2]
GALLERY = sorted((ROOT / "examples").glob("*.attn"))
GOLDENS = Path(__file__).parent / "golden"

COMPILED = ("gqa", "document_mask", "int8_cache")
"""Specs whose files with loops for Numba are shown, in a folder of their own."""


def source_of(path: Path, machine: str | None = None) -> str:
    spec = checked(read_source(str(path)))
    return compile_spec(spec, summarise(spec).default_types(), "numpy", machine=machine).source


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_golden(path: Path, golden: Callable[[Path, str], None]) -> None:
    text = source_of(path)
    compile(text, path.name, "exec")
    golden(GOLDENS / f"{path.stem}.py.txt", text)
    lines = path.read_text(encoding="utf-8").splitlines()
    comments = re.findall(rf"# {path.stem}\.attn:(\d+): (.*)$", text, re.MULTILINE)
    assert comments, "generated code says which lines of the spec it comes from"
    assert all(lines[int(number) - 1].strip() == quoted for number, quoted in comments)


@pytest.mark.parametrize("name", COMPILED)
def test_golden_with_loops(name: str, golden: Callable[[Path, str], None]) -> None:
    text = source_of(ROOT / "examples" / f"{name}.attn", "cpu:numba")
    golden(GOLDENS.with_name("golden_compiled") / f"{name}.py.txt", text)


def test_no_golden_is_left_over() -> None:
    assert {path.name for path in GOLDENS.iterdir()} == {f"{path.stem}.py.txt" for path in GALLERY}
    assert {path.name for path in GOLDENS.with_name("golden_compiled").iterdir()} == {f"{n}.py.txt" for n in COMPILED}


def test_the_text_does_not_hang_on_hash_seeds() -> None:
    """Sets and dictionaries of another process order otherwise."""
    names = ["mla_paged", "neighbourhood_2d"]
    script = (
        "import sys\n"
        "from attndsl.driver.compile import compile_spec\n"
        "from attndsl.driver.library import checked\n"
        "from attndsl.driver.summarise import summarise\n"
        "from attndsl.syntax.read import read_source\n"
        "for path in sys.argv[1:]:\n"
        "    spec = checked(read_source(path))\n"
        "    for target in ('numpy', 'triton'):\n"
        "        print(compile_spec(spec, summarise(spec).default_types(), target).source)\n"
    )
    paths = [str(ROOT / "examples" / f"{name}.attn") for name in names]
    texts = {
        subprocess.run(
            [sys.executable, "-c", script, *paths],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1


def test_a_file_runs_alone(tmp_path: Path) -> None:
    """Beside nothing but NumPy: no attndsl can be imported where it runs."""
    path = ROOT / "examples" / "gqa.attn"
    case = Case.make(checked(read_source(str(path))))
    (tmp_path / "gqa.py").write_text(source_of(path), encoding="utf-8")
    np.savez(tmp_path / "inputs.npz", allow_pickle=False, **case.arrays)
    shape = case.wanted["o"].shape
    script = (
        "import sys, numpy as np\n"
        "sys.modules['attndsl'] = None\n"
        "from gqa import gqa\n"
        "inputs = np.load('inputs.npz')\n"
        f"o = np.empty({shape}, np.float32)\n"
        "gqa(**inputs, o=o)\n"
        "np.save('o.npy', o)\n"
        "assert not {name for name in sys.modules if name.split('.')[0] in ('torch', 'triton', 'xdsl', 'lark')}\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)
    case.check("numpy", {"o": np.load(tmp_path / "o.npy")})
