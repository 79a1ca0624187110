"""A case on disk is the case that failed: values, strides and forms."""

from __future__ import annotations

import io
import json
import math
import pickle
import tracemalloc
import warnings
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
import pytest

from attndsl.checking.check import check
from attndsl.inputs import LAYOUTS, relay
from attndsl.syntax.source import Source
from attndsl.testing import Case
from attndsl.testing.calls import Calling
from attndsl.testing.case import Array
from attndsl.testing.failures import save
from attndsl.testing.fuzz import Example, Failure
from attndsl.testing.kept import NoCase, load
from attndsl.testing.metamorphic import Twin
from attndsl.testing.renaming import with_names
from attndsl.testing.stages import Form

SPEC = """attention kept(p: int = 2, w: f32 = 0.5, flag: bool = true) {
    dims N, E
    types T
    input  x : T[N, E]
    input  y : f8e4m3[N, E]
    input  s : i32[]
    output o : T[N, E]
    each i in N
    o[i,:] = if flag then x[i,:] * w + y[i,:] else x[i - p + s[],:]
}"""

TWIN = Twin("renamed", with_names(SPEC, {"o": "name_0"}), names={"o": "name_0"})


def example(element: str, layout: str, **dims: int) -> Example:
    case = Case.make(check(Source(SPEC, "kept.attn")), element, seed=1, hostile=True, dims=dims)
    arrays = {name: relay(array, layout) for name, array in case.poisoned().arrays.items()}
    forms = Form("numpy", 4, 3), Form("triton", 16, 16, 2, True)
    return Example(case.given(**arrays), forms, Calling("torch", True, True, True, "sliced", 3, 2), TWIN)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("element", ["f32", "bf16"])
def test_a_case_comes_back_as_it_was(layout: str, element: str, tmp_path: Path) -> None:
    kept = example(element, layout, N=3, E=4)
    found = load(save(Failure(kept, None, AssertionError("wrong")), tmp_path / "failures"))
    assert (found.forms, found.calling, found.twin) == (kept.forms, kept.calling, kept.twin)
    for field in ("types", "dims", "params"):
        assert getattr(found.case, field) == getattr(kept.case, field)
    for name, array in kept.case.arrays.items():
        assert found.case.arrays[name].strides == array.strides
        np.testing.assert_array_equal(found.case.arrays[name].view(array.dtype), array)


def test_a_case_without_elements_comes_back(tmp_path: Path) -> None:
    found = load(save(Failure(example("f32", "sliced", N=0, E=2), None, AssertionError()), tmp_path))
    assert found.case.arrays["x"].shape == (0, 2)


def test_only_the_form_that_failed_is_kept(tmp_path: Path) -> None:
    kept = example("f32", "sliced", N=2, E=2)
    assert load(save(Failure(kept, kept.forms[0], AssertionError()), tmp_path)).forms == kept.forms[:1]


@pytest.mark.parametrize("broken", ["call.json", "inputs.npz", "case.attn"])
def test_a_folder_with_a_broken_file_is_no_case(broken: str, tmp_path: Path) -> None:
    place = save(Failure(example("f32", "sliced", N=2, E=2), None, AssertionError()), tmp_path)
    (place / broken).write_text("{")
    with pytest.raises(NoCase, match="holds no case"):
        load(place)


def strictly(text: str) -> Any:
    """JSON, of which no part is beyond RFC 8259, as Python's own reader would let it be."""
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 1e-300])
def test_parameters_of_every_kind_come_back(value: float, tmp_path: Path) -> None:
    case = Case.make(check(Source(SPEC, "kept.attn")), dims={"N": 2, "E": 2}, params={"w": value, "p": -(2**62)})
    place = save(Failure(Example(case, (Form(),)), None, AssertionError()), tmp_path)
    assert strictly((place / "call.json").read_text())["params"]["p"] == -(2**62)
    assert repr(load(place).case.params) == repr(case.params)


def kept(tmp_path: Path) -> Path:
    return save(Failure(example("f32", "sliced", N=2, E=3), None, AssertionError()), tmp_path)


NO_CASE = r"holds no case of `attndsl fuzz`: ."

HUGE = (2**62, -(2**62), 10**18, 2**40, 2**100, -(10**30))
STRIDES: tuple[Any, ...] = (*HUGE, 2**28, 1, -1, 3, 1.5, "4", None, True, [], math.nan)
COUNTS: tuple[Any, ...] = (*HUGE, -1, 0, 1.5, "4", None)

TEXTS = {
    "takes another type": TWIN.text.replace("s : i32", "s : i64"),
    "takes other types": TWIN.text.replace("types T", "types T = f16 | bf16"),
    "takes another parameter": TWIN.text.replace("w: f32 = 0.5", "w: int = 1"),
    "takes one more": TWIN.text.replace("w: f32", "z: int, w: f32"),
    "is not for these dims": TWIN.text.replace("types T", "types T\n    require N == 5"),
    "gives another name": SPEC,
    "gives another type": TWIN.text.replace("name_0 : T", "name_0 : f64"),
    "gives another shape": TWIN.text.replace("name_0 : T[N, E]", "name_0 : T[N + 1, E]"),
    "gives more than there is memory": TWIN.text.replace(
        "name_0 : T", f"z : f32[{2**40} * N]\n    output name_0 : T"
    ).replace("each i in N", f"each k in {2**40} * N\n    z[k] = 0.0\n    each i in N"),
}
"""Texts that are no twin's of the example."""

WRONG: dict[str, tuple[Any, ...]] = {
    "strides/x": (*([n, 4] for n in STRIDES), *([4, n] for n in STRIDES), [], [4], [4, 4, 4], "ab", {"0": 4}, 8, None),
    "strides": ([], None, {}, {"x": [12, 4]}, "x"),
    "types/T": ("i8", "f128", "f64", 5, None, [], {}, "T"),
    "types": ({}, [], {"T": "f32", "U": "f32"}, None),
    "dims/N": (*HUGE, 3, -2, 0, "2", None, 2.5),
    "dims": ({}, [2, 3], {"N": 2}, {"N": 2, "E": 3, "X": 1}, None),
    "params/p": (2**63, 10**400, 1.5, True, "2", "inf", None, [], {}),
    "params/w": (True, "1.0", "infinity", 10**400, None, [0.5]),
    "params/flag": (1, 0, "true", None),
    "params": ([], None, {"x": 1}, "p"),
    "forms": (None, {}, "numpy", [5], [None], [[]], [{}], ["numpy"]),
    "forms/0/target": ("vax", "", None, 5, [], "cuda:90"),
    "forms/0/rows": COUNTS,
    "forms/0/keys": COUNTS,
    "forms/0/splits": COUNTS,
    "forms/0/parts": (2,),  # beside splits
    "forms/0/known": (0, None, "true"),
    "forms/0/more": (0, None),
    "file": (5, None, [], {}),
    "calling": ([], {}, "numpy", 5, True),
    "calling/framework": ("vax", "", None, 5, ["numpy"]),
    "calling/scalars": (0, None, "true"),
    "calling/positional": (0, None, "true"),
    "calling/leaves_out": (0, None, "true"),
    "calling/into": ("plain", "", 0, True),
    "calling/threads": (*COUNTS, 9, True),
    "calling/blas": (*HUGE, 0, 3, 1.0, True, "1", []),
    "calling/more": (0, None),
    "twin": ([], {}, "renamed", 5, True),
    "twin/relation": (5, None, "", "\x1b[2J", []),
    "twin/exact": (0, None, "true"),
    "twin/text": (5, None, "", "attention", *TEXTS.values()),
    "twin/names": ([], None, {}, {"o": "x"}, {"x": "name_0"}, {"o": 5}, {"o": []}, "o"),
    "twin/axes": ([], None, {"x": [0]}, {"x": [1, 0]}, {"o": [0]}, {"o": [0, 7]}, {"o": [-1, 0]}, {"o": "ab"}, 5),
    "twin/cut": ([], None, {"x": [0, 0]}, {"x": [0, 5]}, {"x": [9, 1]}, {"x": [0]}, {"x": [0, 1.5]}, {"x": [0, 2**62]}),
    "twin/more": (0, None),
}
"""A place in call.json, by its keys, and what is not to be there."""


@pytest.mark.parametrize("where", WRONG)
def test_a_call_that_does_not_fit_is_no_case(where: str, tmp_path: Path) -> None:
    place = kept(tmp_path)
    whole = (place / "call.json").read_text()
    for wrong in WRONG[where]:
        call = json.loads(whole)
        *path, last = where.split("/")
        inner = call
        for step in path:
            inner = inner[int(step)] if isinstance(inner, list) else inner[step]
        inner[last] = wrong
        (place / "call.json").write_text(json.dumps(call))
        with pytest.raises(NoCase, match=NO_CASE):
            load(place)


def test_a_case_that_0_1_0_wrote_is_read(tmp_path: Path) -> None:
    place = kept(tmp_path)
    call = json.loads((place / "call.json").read_text())
    call["forms"][0]["parts"] = call["forms"][0].pop("splits")
    (place / "call.json").write_text(json.dumps(call))
    found = load(place)
    assert found.forms == example("f32", "sliced", N=2, E=3).forms


NO_CALLS = (
    b"",
    b"[]",
    b"5",
    b"null",
    b'"x"',
    b"\xff\xfe",
    b"[" * 100_000,
    b"9" * 5000,
    b" " * 2_000_000,
    b'{"types": {}}',
)


@pytest.mark.parametrize("text", NO_CALLS)
def test_a_call_that_is_none_is_no_case(text: bytes, tmp_path: Path) -> None:
    place = kept(tmp_path)
    (place / "call.json").write_bytes(text)
    with pytest.raises(NoCase, match=NO_CASE):
        load(place)


def npy(array: Array, **changed: Any) -> bytes:
    """An array's file, or one whose head says something else."""
    made = io.BytesIO()
    np.lib.format.write_array_header_1_0(made, np.lib.format.header_data_from_array_1_0(array) | changed)
    return made.getvalue() + array.tobytes()


class Executed:
    """Says so when it is unpickled."""

    def __reduce__(self) -> Any:
        return print, ("executed",)


def pickled() -> bytes:
    made = io.BytesIO()
    np.save(made, np.array([Executed()], object), allow_pickle=True)
    return made.getvalue()


X = np.zeros((2, 3), np.float32)

WRONG_FILES = {
    "too few bytes": npy(X, shape=(2, 4)),
    "a head that says 100 GB": npy(X, shape=(10**10, 3)),
    "a head that says more than there are addresses": npy(X, shape=(2**62, 2**62)),
    "negative": npy(X, shape=(-2, -3)),
    "by columns": npy(X, fortran_order=True),
    "another type": npy(X.astype(np.float64)),
    "the other byte order": npy(X.astype(">f4")),
    "of another shape": npy(np.zeros((2, 2, 3), np.float32)),
    "objects": pickled(),
    "no head": b"",
    "text": b"hello",
    "a pickle": pickle.dumps(Executed()),
}


@pytest.mark.parametrize("what", WRONG_FILES)
def test_arrays_that_do_not_fit_are_no_case(what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = kept(tmp_path)
    replace_in_zip(place / "inputs.npz", "x.npy", WRONG_FILES[what])
    with pytest.raises(NoCase, match=NO_CASE):
        load(place)
    assert "executed" not in capsys.readouterr().out


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    """400 MB of zeros, packed into 400 kB: the file says so, and that is enough."""
    place = kept(tmp_path)
    replace_in_zip(place / "inputs.npz", "x.npy", npy(X, shape=(10**8,)) + bytes(4 * 10**8 - X.nbytes), ZIP_DEFLATED)
    tracemalloc.start()
    with pytest.raises(NoCase, match="compressed, or has more than"):
        load(place)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10**8


@pytest.mark.parametrize("names", [("x",), ("x", "y", "s", "z"), ("x", "x", "y", "s"), ("../x", "y", "s"), ()])
def test_arrays_of_other_inputs_are_no_case(names: tuple[str, ...], tmp_path: Path) -> None:
    place = kept(tmp_path)
    with warnings.catch_warnings(), ZipFile(place / "inputs.npz", "w") as archive:
        warnings.simplefilter("ignore")
        for name in names:
            archive.writestr(f"{name}.npy", npy(X))
    with pytest.raises(NoCase, match=r"inputs\.npz has not x\.npy, y\.npy, s\.npy"):
        load(place)


@pytest.mark.parametrize("missing", ["call.json", "inputs.npz", "case.attn"])
def test_a_folder_without_a_file_is_no_case(missing: str, tmp_path: Path) -> None:
    place = kept(tmp_path)
    (place / missing).unlink()
    with pytest.raises(NoCase, match="holds no case"):
        load(place)
    (place / missing).mkdir()
    with pytest.raises(NoCase, match="holds no case"):
        load(place)


def replace_in_zip(path: Path, name: str, content: bytes, how: int = ZIP_STORED) -> None:
    with ZipFile(path) as archive:
        files = {each: archive.read(each) for each in archive.namelist()} | {name: content}
    with ZipFile(path, "w") as archive:
        for each, written in files.items():
            archive.writestr(each, written, how)
