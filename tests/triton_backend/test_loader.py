"""The launcher of ahead-of-time code, on tensors of the CPU and a driver that notes what it is told."""

from __future__ import annotations

import ctypes
import re
import struct
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from attndsl.backends.gpu import aot, loader
from attndsl.backends.gpu.aot import KernelLaunch, launches
from attndsl.driver.ahead import gpu_files

from .lowered import spec_of


class Driver:
    """Says what is launched: the kernel's name, then programs, threads, shared memory, stream and the arguments."""

    end = 0

    def __init__(self) -> None:
        self.codes: list[bytes] = []
        self.loaded: list[str] = []
        self.launched: list[tuple[Any, ...]] = []

    def enter(self, device: int) -> None:
        pass

    def function(self, code: bytes, name: str, shared: int) -> str:
        assert code.startswith(b"\x7fELF")
        self.codes.append(code)
        self.loaded.append(name)
        return name

    def launch(self, *told: Any) -> None:
        *head, extra = told
        assert (extra[0], extra[2], extra[4] or 0) == (1, 2, self.end)
        size = ctypes.cast(extra[3], ctypes.POINTER(ctypes.c_size_t))[0]
        self.launched.append((*head, ctypes.string_at(extra[1], size)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A spec, compiled for AMD, whose assembly tells where each argument lies: two schedules of each kernel."""
    return ahead("sliding_window", {"T": "f16"}, tmp_path_factory.mktemp("ahead"))


def ahead(name: str, types: dict[str, str], folder: Path) -> Path:
    def first(*arguments: Any) -> list[KernelLaunch]:
        found: dict[str, list[KernelLaunch]] = {}
        for launch in launches(*arguments):
            found.setdefault(launch.kernel, []).append(launch)
        return [launch for made in found.values() for launch in made[:2]]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aot, "launches", first)
        files = gpu_files(spec_of(name), types, "hip:gfx942", {"D": 16, "E": 16})
    for file, content in files.items():
        (folder / file).write_bytes(content)
    return folder


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    driver = Driver()
    monkeypatch.setattr(torch.cuda, "device", nullcontext)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: SimpleNamespace(cuda_stream=77))
    return driver


@pytest.fixture
def launcher(folder: Path, driver: Driver) -> dict[str, Any]:
    """What the written launcher defines, with `driver` in the place of AMD's."""
    return started(folder, driver)


def started(folder: Path, driver: Driver, name: str = "sliding_window") -> dict[str, Any]:
    path = folder / f"{name}_hip_gfx942.py"
    text = path.read_text().replace('"hip": Hip}', '"hip": lambda: DRIVER}')
    namespace: dict[str, Any] = {"__name__": "launcher", "__file__": str(path), "DRIVER": driver}
    exec(compile(text, str(path), "exec"), namespace)
    return namespace


def tensors(**changed: Any) -> list[torch.Tensor]:
    shapes = {"q": (2, 4, 5, 16), "k": (2, 2, 9, 16), "v": (2, 2, 9, 16), "o": (2, 4, 5, 16)}
    made: dict[str, torch.Tensor] = {name: torch.zeros(shape, dtype=torch.float16) for name, shape in shapes.items()}
    return list((made | changed).values())


def about(launcher: dict[str, Any], index: str) -> dict[str, Any]:
    """The manifest's first entry with indices of that width."""
    return next(entry for entry in launcher["MANIFEST"]["kernels"] if entry["constants"]["INDEX"] == index)


def test_arguments_lie_where_the_code_reads_them(launcher: dict[str, Any], driver: Driver, folder: Path) -> None:
    given = tensors()
    launcher["sliding_window"](*given, window=123)
    entry = about(launcher, "int32")
    ((name, programs, threads, shared, stream, block),) = driver.launched
    assert (name, threads, shared, stream) == (entry["kernel"], entry["threads"], entry["shared"], 77)
    assert programs == 2 * 2 * -(-5 * 2 // entry["constants"]["ROWS"])
    metadata = (folder / entry["assembly"]).read_text().partition(".amdgpu_metadata")[2]
    places = [(int(at), int(size)) for at, size in re.findall(r"\.offset: +(\d+)\n +\.size: +(\d+)\n", metadata)]
    found = [int.from_bytes(block[at : at + size], "little", signed=True) for at, size in places]
    passed = [name for name, type_ in entry["signature"].items() if type_ != "constexpr"]
    assert len(found) == len(passed) + entry["hidden_pointers"]
    values = dict(zip(passed, found, strict=False))
    q, k, _, o = given
    assert (values["q_ptr"], values["k_ptr"], values["o_ptr"]) == (q.data_ptr(), k.data_ptr(), o.data_ptr())
    assert (values["q_s0"], values["k_s1"]) == (q.stride(0), k.stride(1))
    assert (values["M"], values["N"], values["window"]) == (5, 9, 123)
    assert found[len(passed) :] == [0] * entry["hidden_pointers"]


def test_only_compiled_schedules_are_chosen(launcher: dict[str, Any], driver: Driver) -> None:
    assert [s["ROWS"] for s in launcher["SLIDING_WINDOW_SCHEDULES"]] == [16, 32]
    many = torch.zeros(2, 4, 5000, 16, dtype=torch.float16)
    launcher["sliding_window"](*tensors(q=many, o=many.clone()))
    assert [programs for _, programs, *_ in driver.launched] == [2 * 2 * -(-5000 * 2 // 32)]


def test_code_is_loaded_once(launcher: dict[str, Any], driver: Driver) -> None:
    for _ in range(3):
        launcher["sliding_window"](*tensors())
    assert (len(driver.loaded), len(driver.launched)) == (1, 3)


@pytest.mark.parametrize("rows", [5, 5000])
@pytest.mark.parametrize(
    "odd",
    [
        lambda rows: torch.zeros(2, 4, 16, rows, dtype=torch.float16).transpose(2, 3),  # features apart
        lambda rows: torch.zeros(2, 4, rows, 24, dtype=torch.float16)[..., :16],  # rows at no multiples of 16
        lambda rows: torch.zeros(128 * rows + 1, dtype=torch.float16)[1:].view(2, 4, rows, 16),  # an odd address
    ],
)
def test_unusual_strides_and_addresses_take_the_code_for_any(
    launcher: dict[str, Any], driver: Driver, odd: Callable[[int], torch.Tensor], rows: int
) -> None:
    """It is that of the first schedule, whatever the rows: the grid is as well."""
    q = odd(rows)
    launcher["sliding_window"](*tensors(q=q, o=torch.zeros(2, 4, rows, 16, dtype=torch.float16)))
    kernels = launcher["KERNELS"].values()
    used = [b for kernel in kernels for found in kernel.binaries.values() for b in found if b.functions]
    assert [binary.about["constants"]["INDEX"] for binary in used] == ["int64"]
    ((_, programs, *_, block),) = driver.launched
    assert programs == 2 * 2 * -(-rows * 2 // 16)
    assert struct.unpack_from("@P4q", block) == (q.data_ptr(), *q.stride())


@pytest.mark.matrix
def test_what_runs_in_the_schedule_of_another_kernel_has_its_tiles(tmp_path: Path, driver: Driver) -> None:
    """In both forms of the code, whose schedules are not the same."""
    types = {"T": "f16", "I": "i32"}
    launcher = started(ahead("document_mask", types, tmp_path), driver, "document_mask")
    q, k = torch.zeros(2, 4, 5000, 16, dtype=torch.float16), torch.zeros(2, 2, 5000, 16, dtype=torch.float16)
    apart = torch.zeros(2, 4, 16, 5000, dtype=torch.float16).transpose(2, 3)
    for rows, queries in ((32, q), (16, apart)):
        driver.launched.clear()
        launcher["document_mask"](queries, k, k, torch.zeros(2, 5000, dtype=torch.int32), q, schedule={"SPLITS": 1})
        tiles = -(-5000 * 2 // rows)
        look, kernel = "document_mask_look_kernel", "document_mask_kernel"
        assert [told[:2] for told in driver.launched] == [(look, 2 * tiles), (kernel, 2 * 2 * tiles)]


def test_an_empty_grid_launches_nothing(launcher: dict[str, Any], driver: Driver) -> None:
    empty = torch.zeros(2, 4, 0, 16, dtype=torch.float16)
    launcher["sliding_window"](*tensors(q=empty, o=empty.clone()))
    assert driver.launched == []


def test_what_the_code_is_not_made_for_is_refused(launcher: dict[str, Any], driver: Driver) -> None:
    run = launcher["sliding_window"]
    with pytest.raises(ValueError, match=r"k is \[2, 2, 9, 32\]; compiled for \[B, Hkv, N, 16\]"):
        run(*tensors(k=torch.zeros(2, 2, 9, 32, dtype=torch.float16)))
    with pytest.raises(ValueError, match=r"q is \[4, 5, 16\]; compiled for \[B, Hq, M, 16\]"):
        run(*tensors(q=torch.zeros(4, 5, 16, dtype=torch.float16)))
    with pytest.raises(TypeError, match=r"q_ptr is torch.bfloat16 on cpu; compiled for torch.float16 on cpu"):
        run(*tensors(q=torch.zeros(2, 4, 5, 16, dtype=torch.bfloat16)))
    with pytest.raises(ValueError, match=r"is not compiled for .*ROWS=48.*, but for INDEX=int32"):
        run(*tensors(), schedule={"ROWS": 48})
    assert driver.launched == []


def test_the_launcher_needs_torch_alone(folder: Path) -> None:
    """Without a driver it says that none is there; nothing else is amiss."""
    program = f"""
import sys
for name in ("triton", "attndsl", "xdsl", "lark"):
    sys.modules[name] = None
sys.path.insert(0, {str(folder)!r})
try:
    import sliding_window_hip_gfx942
except RuntimeError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "torch has not loaded AMD's driver: this needs its ROCm build and an AMD GPU\n"


NAME = "sliding_window_hip_gfx942"


def files(folder: Path) -> dict[str, bytes]:
    """What was compiled, in the order in which it was written."""
    code = sorted((path.name for path in folder.glob(f"{NAME}_*")), key=lambda name: name.replace(".hsaco", "."))
    return {name: (folder / name).read_bytes() for name in (*code, f"{NAME}.json", f"{NAME}.py")}


def compiled_otherwise(files: dict[str, bytes]) -> dict[str, bytes]:
    """The files of a compilation that gave other code."""
    made: dict[str, bytes] = {}
    digests: dict[bytes, bytes] = {}
    for name, content in files.items():
        for old, new in digests.items():
            content = content.replace(old, new)
        made[name] = content + b"new" if name.endswith(".hsaco") else content
        digests[sha256(files[name]).hexdigest().encode()] = sha256(made[name]).hexdigest().encode()
    return made


def written(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def test_files_of_two_compilations_are_not_taken_for_one(folder: Path, driver: Driver, tmp_path: Path) -> None:
    """However far a writer came who was killed while he replaced the files, code of the launcher's own is loaded."""
    old = files(folder)
    new = compiled_otherwise(old)
    assert all(new[name] != old[name] for name in old if not name.endswith(".amdgcn"))
    apart = torch.zeros(2, 4, 16, 5, dtype=torch.float16).transpose(2, 3)
    refused = []
    for replaced in range(len(new) + 1):
        written(tmp_path, {**old, **dict(list(new.items())[:replaced])})
        driver.codes.clear()
        for q in ({}, {"q": apart}):
            try:
                started(tmp_path, driver)["sliding_window"](*tensors(**q))
            except RuntimeError as error:
                refused.append((replaced, str(error)))
        assert len({code.endswith(b"new") for code in driver.codes}) <= 1
        if replaced in (0, len(new)):
            assert len(driver.codes) == 2
    assert {replaced for replaced, _ in refused} == set(range(1, len(new)))
    assert all("is not what was compiled together with this launcher: run `att" in error for _, error in refused)


@pytest.mark.parametrize("name", ["sliding_window_hip_gfx942.json", "sliding_window_hip_gfx942_0.hsaco"])
@pytest.mark.parametrize("damage", ["flipped", "cut", "missing", "folder", "other", "not JSON", "deep", "huge"])
def test_a_changed_file_is_refused(folder: Path, driver: Driver, tmp_path: Path, name: str, damage: str) -> None:
    path = written(tmp_path, files(folder)) / name
    whole = path.read_bytes()
    path.unlink()
    other = {"flipped": whole[:-1] + b"~", "cut": whole[:-1], "other": b'{"kernels": 5}', "not JSON": b"\xff"}
    other |= {"deep": b"[" * 200_000, "huge": b'{"kernels": ' + b"9" * 5000 + b"}"}
    if damage in other:
        path.write_bytes(other[damage])
    elif damage == "folder":
        path.mkdir()
    with pytest.raises(RuntimeError, match=rf"{name} (is not what|cannot be read).*: run `attndsl compile` again"):
        started(tmp_path, driver)["sliding_window"](*tensors())
    assert driver.launched == []


@pytest.mark.parametrize(
    "code",
    [
        "/etc/passwd",
        "../secret",
        "..",
        ".",
        "",
        "sub/code.hsaco",
        "sub\\code.hsaco",
        "C:code.hsaco",
        "a\0b",
        "~",
        "a\n",
    ],
)
def test_code_lies_in_the_manifest_s_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch, launcher: dict[str, Any], code: str
) -> None:
    monkeypatch.setattr(loader, "Hip", Driver)
    manifest = dict(launcher["MANIFEST"])
    assert loader.kernels(manifest, folder)
    entry = {**manifest["kernels"][0], "code": code}
    with pytest.raises(RuntimeError, match="which is no file beside the launcher: run `attndsl compile` again"):
        loader.kernels({**manifest, "kernels": [entry], "files": {code: "0" * 64}}, folder)


def test_nvidia_s_driver_is_told_how_much_shared_memory_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[Any, ...]] = []

    class Library:
        def __getattr__(self, name: str) -> Any:
            return lambda *arguments: calls.append((name, *arguments)) or 0  # type: ignore[func-returns-value]

    monkeypatch.setattr(ctypes, "CDLL", lambda name: Library())
    cuda = loader.Cuda()
    cuda.function(b"code", "kernel", 49152)
    assert [name for name, *_ in calls] == ["cuModuleLoadData", "cuModuleGetFunction"]
    cuda.function(b"code", "kernel", 49153)
    assert calls[-1][0] == "cuFuncSetAttribute" and calls[-1][2:] == (8, 49153)
