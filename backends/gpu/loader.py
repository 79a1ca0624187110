"""Runs GPU code that was compiled ahead of time, through the driver alone.

The text of this file becomes the head of every launcher that `attndsl compile` writes; attndsl itself imports it
nowhere. It needs torch and the driver's library, neither triton nor attndsl.
"""

from __future__ import annotations

import ctypes
import json
import re
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256 as _sha256
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any

import torch

Handle = ctypes.c_void_p
FORMATS = {"i1": "?", "i8": "b", "u8": "B", "i32": "i", "i64": "q", "fp32": "f", "fp64": "d"}
DTYPES = {
    "*fp16": torch.float16, "*bf16": torch.bfloat16, "*fp32": torch.float32, "*fp64": torch.float64,
    "*i8": torch.int8, "*u8": torch.uint8, "*i16": torch.int16, "*u16": torch.uint16, "*i32": torch.int32,
    "*u32": torch.uint32, "*i64": torch.int64, "*u1": torch.bool,
}  # fmt: skip
MAX_PROGRAMS = 2**31 - 1
_NAME = re.compile(r"\w[\w.-]*")
"""A file's name without a folder."""

_AGAIN = "run `attndsl compile` again, which writes all of the folder's files"

triton = SimpleNamespace(cdiv=lambda a, b: -(-a // b), next_power_of_2=lambda n: 1 << max(n - 1, 0).bit_length())
tl = SimpleNamespace(int32="int32", int64="int64")
"""What the launching functions below ask of triton, which is not needed here: arithmetic and the names of types."""


class Cuda:
    """NVIDIA's driver."""

    end = 0  # CU_LAUNCH_PARAM_END

    def __init__(self) -> None:
        try:
            self.library = ctypes.CDLL("libcuda.so.1")
        except OSError:
            raise RuntimeError("NVIDIA's driver, libcuda.so.1, is not installed") from None

    def _call(self, name: str, *arguments: Any) -> None:
        if code := getattr(self.library, name)(*arguments):
            text = ctypes.c_char_p()
            self.library.cuGetErrorString(code, ctypes.byref(text))
            raise RuntimeError(f"{name}: {(text.value or b'unknown error').decode()}")

    def enter(self, device: int) -> None:
        """Gives this thread a context where it has none, as a thread that has not used the GPU yet."""
        context = Handle()
        self._call("cuCtxGetCurrent", ctypes.byref(context))
        if not context.value:
            self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
            self._call("cuCtxSetCurrent", context)

    def function(self, code: bytes, name: str, shared: int) -> Handle:
        """A kernel of a cubin, for the current device; it stays loaded."""
        module, function = Handle(), Handle()
        self._call("cuModuleLoadData", ctypes.byref(module), code)
        self._call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        if shared > 48 << 10:  # more is had only by asking: CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self._call("cuFuncSetAttribute", function, 8, shared)
        return function

    def launch(self, function: Handle, programs: int, threads: int, shared: int, stream: int, extra: Any) -> None:
        """Starts so many programs of so many threads."""
        self._call(
            "cuLaunchKernel", function, programs, 1, 1, threads, 1, 1, shared, Handle(stream), Handle(), extra
        )  # fmt: skip


class Hip:
    """AMD's driver: the copy that torch has loaded."""

    end = 3  # HIP_LAUNCH_PARAM_END

    def __init__(self) -> None:
        mapped = Path("/proc/self/maps").read_text().split()
        path = next((path for path in mapped if "libamdhip64.so" in path), None)
        if path is None:
            raise RuntimeError("torch has not loaded AMD's driver: this needs its ROCm build and an AMD GPU")
        self.library = ctypes.CDLL(path)
        self.library.hipGetErrorString.restype = ctypes.c_char_p

    def _call(self, name: str, *arguments: Any) -> None:
        if code := getattr(self.library, name)(*arguments):
            raise RuntimeError(f"{name}: {self.library.hipGetErrorString(code).decode()}")

    def enter(self, device: int) -> None:
        """A thread has its context from the start."""

    def function(self, code: bytes, name: str, shared: int) -> Handle:
        """A kernel of an hsaco, for the current device; it stays loaded."""
        module, function = Handle(), Handle()
        self._call("hipModuleLoadData", ctypes.byref(module), code)
        self._call("hipModuleGetFunction", ctypes.byref(function), module, name.encode())
        return function

    def launch(self, function: Handle, programs: int, threads: int, shared: int, stream: int, extra: Any) -> None:
        """Starts so many programs of so many threads."""
        self._call(
            "hipModuleLaunchKernel", function, programs, 1, 1, threads, 1, 1, shared, Handle(stream), Handle(), extra
        )  # fmt: skip


class LoadedCode:
    """One file of code, loaded on a device when it is first launched there.

    `digest` is the SHA-256 of what the file must hold, `about` its entry in the manifest.
    """

    def __init__(self, driver: Any, path: Path, digest: str, about: Mapping[str, Any]) -> None:
        self.driver = driver
        self.path = path
        self.digest = digest
        self.about = about
        self.fixed: dict[str, int] = about["fixed"]
        self.aligned: list[str] = about["aligned"]
        self.arguments = [(name, type_) for name, type_ in about["signature"].items() if type_ != "constexpr"]
        formats = ["P" if type_ in DTYPES else FORMATS[type_] for _, type_ in self.arguments]
        self.layout = struct.Struct("@" + "".join(formats) + "P" * about["hidden_pointers"])
        self.hidden = [0] * about["hidden_pointers"]
        self.functions: dict[int, Handle] = {}
        self.lock = threading.Lock()

    def takes(self, values: Mapping[str, Any]) -> bool:
        """Whether the code is right for these values: not all code is for all strides and addresses."""
        for name, value in self.fixed.items():
            if values[name] != value:
                return False
        for name in self.aligned:
            value = values[name]
            if (value if isinstance(value, int) else value.data_ptr()) % 16:
                return False
        return all(-(2**31) <= values[name] < 2**31 for name, type_ in self.arguments if type_ == "i32")

    def launch(self, device: torch.device, programs: int, values: Mapping[str, Any]) -> None:
        """Launches it on torch's current stream of a device."""
        passed = []
        for name, type_ in self.arguments:
            value = values[name]
            if type_ in DTYPES:
                if value.dtype != DTYPES[type_] or value.device != device:
                    wanted = f"{DTYPES[type_]} on {device}"
                    raise TypeError(f"{name} is {value.dtype} on {value.device}; compiled for {wanted}")
                value = value.data_ptr()
            passed.append(value)
        block = ctypes.create_string_buffer(self.layout.pack(*passed, *self.hidden), self.layout.size)
        size = ctypes.c_size_t(self.layout.size)
        # To both drivers: the arguments as one block (1), its size (2), no more.
        extra = (Handle * 5)(1, ctypes.addressof(block), 2, ctypes.addressof(size), self.driver.end)
        with torch.cuda.device(device):
            self.driver.enter(device.index)
            function = self.functions.get(device.index) or self._load(device.index)
            stream = torch.cuda.current_stream(device).cuda_stream
            self.driver.launch(function, programs, self.about["threads"], self.about["shared"], stream, extra)

    def _load(self, device: int) -> Handle:
        with self.lock:
            if device not in self.functions:
                code = _content(self.path, self.digest)
                try:
                    function = self.driver.function(code, self.about["kernel"], self.about["shared"])
                except RuntimeError as error:
                    raise RuntimeError(f"{self.path} does not load on cuda:{device}: {error}") from None
                self.functions[device] = function
            return self.functions[device]


class Kernel:
    """What the launching functions below take for a kernel: all that was compiled of it, by constants and options."""

    def __init__(self, name: str, binaries: list[LoadedCode]) -> None:
        self.name = name
        self.names: list[str] = list(binaries[0].about["signature"])
        self.binaries: dict[Any, list[LoadedCode]] = {}
        for binary in binaries:
            about = binary.about
            self.binaries.setdefault(_key(about["constants"], about["options"]), []).append(binary)
        self.constants: list[str] = list(binaries[0].about["constants"])

    def compiled(self, schedules: Sequence[Mapping[str, Any]], **constants: Any) -> tuple[Mapping[str, Any], ...]:
        """Those of the schedules that there is code for, made for these constants: others may not fit the GPU."""
        made = [dict(key) for key in self.binaries]
        asked = [(schedule, {**schedule, **constants}) for schedule in schedules]
        return tuple(s for s, wanted in asked if any(all(m.get(n, v) == v for n, v in wanted.items()) for m in made))

    def __getitem__(self, grid: tuple[int]) -> Callable[..., None]:
        """A function that launches the kernel on arguments and options."""

        def run(*arguments: Any, **options: Any) -> None:
            (programs,) = grid
            if programs > MAX_PROGRAMS:
                raise ValueError(f"{self.name}: {programs} programs; a launch has at most {MAX_PROGRAMS}")
            if programs:
                values = dict(zip(self.names, arguments, strict=True))
                device = next(value.device for value in arguments if isinstance(value, torch.Tensor))
                self._binary(values, options).launch(device, programs, values)

        return run

    def runs(self, arguments: Sequence[Any], options: Mapping[str, Any]) -> bool:
        """Whether there is code for a launch."""
        return self._find(dict(zip(self.names, arguments, strict=True)), options) is not None

    def _find(self, values: Mapping[str, Any], options: Mapping[str, Any]) -> LoadedCode | None:
        """The code for these values: the usual one, or that for any strides, whose indices have 64 bits."""
        constants = {name: values[name] for name in self.constants}
        for wanted in (constants, {**constants, "INDEX": tl.int64}):
            for binary in self.binaries.get(_key(wanted, options), ()):
                if binary.takes(values):
                    return binary
        return None

    def _binary(self, values: Mapping[str, Any], options: Mapping[str, Any]) -> LoadedCode:
        """The code for these values; raises ValueError where there is none."""
        if binary := self._find(values, options):
            return binary
        constants = {name: values[name] for name in self.constants}
        made = " or ".join(_listed(*key) for key in self.binaries)
        raise ValueError(f"{self.name} is not compiled for {_listed(*_key(constants, options))}, but for {made}")


def _key(constants: Mapping[str, Any], options: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return (*constants.items(), *options.items())


def _listed(*pairs: tuple[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in pairs)


class CheckedCall:
    """The spec's function that lists a call's launches; it refuses tensors that the code is not made for.

    Where the usual code is not right for a call, the function chooses from the tables `general` instead: schedules of
    which there is code for any strides.
    """

    def __init__(self, launches: FunctionType, manifest: Mapping[str, Any], **general: Any) -> None:
        self.launches = launches
        self.general = FunctionType(launches.__code__, {**launches.__globals__, **general})
        self.general.__kwdefaults__ = launches.__kwdefaults__
        self.shapes = [(t["name"], t["shape"]) for t in manifest["tensors"]]

    def __call__(self, *tensors: torch.Tensor, **more: Any) -> Any:
        """The launches, each a kernel, how many programs, its arguments and its options."""
        for (name, shape), tensor in zip(self.shapes, tensors, strict=True):
            given = tensor.shape
            if len(given) != len(shape) or any(
                isinstance(n, int) and n != m for n, m in zip(shape, given, strict=True)
            ):
                wanted = ", ".join(map(str, shape))
                raise ValueError(f"{name} is [{', '.join(map(str, given))}]; compiled for [{wanted}]")
        found = self.launches(*tensors, **more)
        if all(kernel.runs(arguments, options) for kernel, _, arguments, options in found):
            return found
        return self.general(*tensors, **more)


def _content(path: Path, digest: str) -> bytes:
    """What a file holds, once it is known to be what was compiled together with this launcher. Raises RuntimeError."""
    try:
        found = path.read_bytes()
    except OSError as error:
        raise RuntimeError(f"{path} cannot be read ({error.strerror}): {_AGAIN}") from None
    if _sha256(found).hexdigest() != digest:
        raise RuntimeError(f"{path} is not what was compiled together with this launcher: {_AGAIN}")
    return found


def read(path: Path, digest: str) -> dict[str, Any]:
    """A manifest. Raises RuntimeError where it is another than this launcher's."""
    manifest: dict[str, Any] = json.loads(_content(path, digest))
    return manifest


def kernels(manifest: Mapping[str, Any], folder: Path) -> dict[str, Kernel]:
    """The kernels that a manifest describes, by name; their files lie in the folder. Raises RuntimeError."""
    driver = {"cuda": Cuda, "hip": Hip}[manifest["target"].partition(":")[0]]()
    found: dict[str, list[LoadedCode]] = {}
    for about in manifest["kernels"]:
        code = about["code"]
        if not _NAME.fullmatch(code):
            raise RuntimeError(f"the manifest names {code!r}, which is no file beside the launcher: {_AGAIN}")
        found.setdefault(about["kernel"], []).append(LoadedCode(driver, folder / code, manifest["files"][code], about))
    return {name: Kernel(name, binaries) for name, binaries in found.items()}
