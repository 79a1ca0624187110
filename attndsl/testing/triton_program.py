"""Generated Triton, run on the GPU, or by Triton's interpreter on a machine without one."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from attndsl.backends.gpu.failing import compiling
from attndsl.calling import Arguments
from attndsl.choices import SPLITS
from attndsl.ir.xdsl import ModuleOp
from attndsl.python_names import python_name
from attndsl.storage import ELEMENTS
from attndsl.testing.against import as_bits, given
from attndsl.testing.case import Array, Case
from attndsl.testing.stages import empty_outputs

if TYPE_CHECKING:
    import torch


class NoInterpreter(RuntimeError):
    """Triton was imported before it could be told to interpret."""

    def __init__(self) -> None:
        super().__init__("triton is imported already, without TRITON_INTERPRET=1: set it before the process starts")


def prepare() -> str:
    """Where Triton will run: `cuda`, or `cpu` for its interpreter, which is switched on where there is no GPU.

    Raises ImportError where torch or triton is not installed, NoInterpreter where it is too late to switch it on.
    """
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    if not interpreted:
        import torch

        if torch.cuda.is_available():
            return "cuda"
        if "triton" in sys.modules:
            raise NoInterpreter
        os.environ["TRITON_INTERPRET"] = "1"
    _mend_interpreter()
    return "cpu"


def _mend_interpreter() -> None:
    """Makes Triton's interpreter (3.9) compute what its compiler does, in two places where it does not."""
    import triton.language as tl
    from triton.runtime import interpreter

    converted = interpreter._implicit_cvt

    def splat(builder: Any, type_: Any, scalar: Any) -> Any:
        """Spreads a scalar. Triton's own takes a comparison for a number of the type that was compared."""
        return interpreter.TensorHandle(np.full(type_.shape, scalar.data, scalar.data.dtype), scalar.dtype.scalar)

    def convert(argument: Any) -> Any:
        """A kernel's argument. Triton's own takes a small integer for one of 32 bits, whatever the kernel says."""
        if type(argument) is not int:
            return converted(argument)
        return tl.tensor(interpreter.TensorHandle(np.array([argument], np.int64), tl.int64), tl.int64)

    interpreter.InterpreterBuilder.create_splat = splat
    interpreter._implicit_cvt = convert


@dataclass(frozen=True)
class TritonProgram:
    """A generated Triton file, the function in it, and where it runs."""

    source: str
    function: Callable[..., None]
    device: str

    @classmethod
    def of(cls, case: Case, module: ModuleOp, device: str) -> TritonProgram:
        """What the emitter makes of a lowered module; `device` is what `prepare` said."""
        from attndsl.backends.gpu.aot import load
        from attndsl.backends.triton.emit import emit

        source = emit(module, case.spec.source.text)
        return cls(source, load(source)[python_name(case.spec.name)], device)

    def run(self, case: Case, splits: int = 1, schedule: Mapping[str, int] = {}) -> dict[str, Array]:
        """What a call writes whose keys are cut into `splits`, outputs into tensors that were full of others.

        What a `schedule` names is asked for. Raises TritonFails.
        """
        elements = {tensor.name: case.element(tensor.name) for tensor in case.spec.tensors.values()}
        lent = case.lent()
        inputs = {t.name: tensor_of(lent[t.name], elements[t.name], self.device) for t in case.spec.inputs}
        outputs = {name: tensor_of(array, elements[name], self.device) for name, array in empty_outputs(case).items()}
        # Triton's interpreter computes with NumPy, which warns of NaN.
        with compiling(case.spec.name), np.errstate(all="ignore"):
            launched = partial(self.function, schedule={SPLITS: splits, **schedule})
            Arguments(tuple(inputs.values()), tuple(outputs.values())).passed_to(launched, case.params)
        written = {tensor.name: {**inputs, **outputs}[tensor.name] for tensor in case.spec.results}
        return {name: array_of(tensor, elements[name]) for name, tensor in written.items()}


def tensor_of(array: Array, element: str, device: str) -> torch.Tensor:
    """An array as a tensor on a device, strides kept."""
    tensor: torch.Tensor = given(array, element)
    if device == "cpu" or not tensor.numel():
        return tensor.to(device)
    # Strides may be 0, and torch copies into no tensor whose elements share memory: the memory is copied whole.
    reach = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    memory = tensor.as_strided((reach,), (1,)).to(device)
    return memory.as_strided(tensor.shape, tensor.stride())


def array_of(tensor: torch.Tensor, element: str) -> Array:
    """A tensor as NumPy holds its element type."""
    array: Array = as_bits(tensor, element).cpu().numpy()
    return array.view(ELEMENTS[element].dtype)
