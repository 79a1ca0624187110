"""A compiled spec as a function of arrays."""

from __future__ import annotations

import sys
import threading
from collections import namedtuple
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from attndsl.calling import Arguments
from attndsl.driver.artifact import Artifact
from attndsl.driver.library import artifact_of, signature_of, spec_key
from attndsl.driver.module import load_function
from attndsl.driver.signature import Signature
from attndsl.ir.machines import USUAL
from attndsl.op import errors
from attndsl.op.checks import Bound, bind, declaration, example_call, split
from attndsl.syntax.read import read_source
from attndsl.syntax.source import Source

if TYPE_CHECKING:
    from attndsl.op.gpu import GpuCalls
    from attndsl.storage import Array


def load(path: str | Path) -> Op:
    """The operator that the spec in a file describes. Raises SpecError where it cannot be read or has mistakes."""
    return Op(read_source(path))


def compile(text: str) -> Op:
    """The operator that a spec's text describes. Raises SpecError where it has mistakes."""
    return Op(Source(text))


class Op:
    """A spec as a function: `op(q=q, k=k, v=v, window=128)`.

    It takes NumPy arrays or torch tensors of any strides, on a CPU or a GPU, copies none of them, and gives what it was
    given: an array or tensor for a spec with one output, a named tuple of them for several. A call that does not fit
    the spec raises a CallError. Code is generated once for each choice of element types, for a GPU also of the extents
    of feature dims, at the first call or from the cache; other extents and parameters change freely.
    """

    def __init__(self, spec: Source) -> None:
        self.spec = spec
        self.signature = signature_of(spec)
        self.gpu: GpuCalls | None = None
        self._artifacts: dict[tuple[object, ...], Artifact] = {}
        self._programs: dict[tuple[str, ...], Callable[..., None]] = {}
        self._lock = threading.Lock()
        self.key = f"{self.signature.name}_{spec_key(spec)}"
        self._outputs = _outputs_type(self.signature)
        alive.add(self)
        if "torch" in sys.modules:  # else at the first call with tensors, for all that are alive
            from attndsl.op.torch_op import register

            register(self)

    def __call__(self, /, *positional: Any, **arguments: Any) -> Any:
        """The outputs for these inputs and parameters, all given by name. Raises CallError.

        On a GPU also TritonFails, a RuntimeError, where Triton's own compiler gives up.
        """
        if positional:
            raise errors.PositionalArgument(self.signature.name, example_call(self.signature))
        torch = sys.modules.get("torch")
        if torch is not None and not torch.compiler.is_compiling() and self.gpu is not None:
            outputs = self.gpu.again(arguments)
            if outputs is not None:
                return self._outputs(*outputs)
        inputs, params = split(self.signature, arguments)
        if self._holds_tensors(inputs):
            from attndsl.op.torch_op import call

            return self._outputs(*call(self, inputs, params))
        return self._outputs(*self._compute_arrays(inputs, params))

    def __reduce__(self) -> tuple[type[Op], tuple[Source]]:
        return type(self), (self.spec,)

    def __repr__(self) -> str:
        return f"<attndsl operator {example_call(self.signature)}>"

    def artifact(
        self, target: str = "numpy", sizes: Mapping[str, int] = {}, machine: str = USUAL, /, **types: str
    ) -> Artifact:
        """What the compiler makes of the spec for these element types, `op.artifact(T="bf16")`; f32 where none is said.

        Code for `triton` is made for `sizes`, extents of feature dims, and for a machine of attndsl.ir.machines. Raises
        ValueError for types that the spec does not allow.
        """
        bound = {**self.signature.default_types(), **types}
        for name, element in types.items():
            if element not in self.signature.types.get(name, ()):
                allowed = ", ".join(f"{n} = {' | '.join(c)}" for n, c in self.signature.types.items()) or "no types"
                raise ValueError(f"{self.signature.name} has no type {name} = {element}: it has {allowed}")
        key = (target, *sizes.items(), machine, *bound.values())
        with self._lock:
            if key not in self._artifacts:
                self._artifacts[key] = artifact_of(self.spec, bound, target, sizes, machine)
            return self._artifacts[key]

    @property
    def compilations(self) -> int:
        """How many kernels Triton has compiled, or loaded from its own cache, for calls with tensors of GPUs."""
        return 0 if self.gpu is None else self.gpu.compilations

    @property
    def source(self) -> str:
        """The generated program, for the element types that `artifact` takes by itself."""
        return self.artifact().source

    def ir(self, stage: str) -> str:
        """The text of the IR at a stage, `attn` or `tile`."""
        stages = self.artifact().ir
        if stage not in stages:
            raise ValueError(f"the IR has no stage {stage!r}: it has {', '.join(stages)}")
        return stages[stage]

    def explain(self, target: str = "numpy", /, **dims: int) -> str:
        """The schedule, and what a call with these dims reads, writes and computes, as text.

        For a GPU, `op.explain("cuda:90", B=1, …)`, also the least time that it could take there. Raises ValueError.
        """
        from attndsl.op.explain import check_dims, compiled_for, explain

        check_dims(self.signature, dims)
        return explain(self.spec, self.artifact(*compiled_for(target, self.signature, dims)), dims)

    def program(self, types: Mapping[str, str]) -> Callable[..., None]:
        """The compiled function for these element types; made once."""
        key = tuple(types.values())
        if key not in self._programs:
            from attndsl.op.blas import on_one_thread

            self._programs[key] = on_one_thread(load_function(self.artifact(**types)))
        return self._programs[key]

    def _holds_tensors(self, inputs: Mapping[str, Any]) -> bool:
        """Whether the inputs are torch's and not NumPy's."""
        from attndsl.op.numpy_arrays import is_array

        torch = sys.modules.get("torch")
        kinds: dict[str, str] = {}
        for name, value in inputs.items():
            if torch is not None and isinstance(value, torch.Tensor):
                kinds[name] = "torch tensor"
            elif is_array(value):
                kinds[name] = "NumPy array"
            else:
                declared = next(tensor for tensor in self.signature.inputs if tensor.name == name)
                if isinstance(value, int | float) and not declared.extents:
                    raise errors.PlainNumber(self.signature.name, name, str(value), declaration(declared))
                raise errors.NotAnArray(self.signature.name, name, type(value).__name__)
        first = next(iter(kinds), "")
        for name, kind in kinds.items():
            if kind != kinds[first]:
                raise errors.MixedFrameworks(self.signature.name, first, kinds[first], name, kind)
        return kinds.get(first) == "torch tensor"

    def _compute_arrays(self, inputs: Mapping[str, Array], params: Mapping[str, Any]) -> tuple[Array, ...]:
        from attndsl.op import numpy_arrays as arrays

        bound = bind(self.signature, {name: arrays.describe(array) for name, array in inputs.items()}, params)
        elements = self.output_elements(bound)
        outputs = [arrays.empty(shape, element) for shape, element in zip(bound.shapes, elements, strict=True)]
        arguments = Arguments(tuple(map(arrays.bits, inputs.values())), tuple(outputs))
        arguments.passed_to(self.program(bound.types), params)
        return tuple(arrays.like(output, e, inputs.values()) for output, e in zip(outputs, elements, strict=True))

    def output_elements(self, bound: Bound) -> tuple[str, ...]:
        """The element type of each output of a call."""
        return tuple(bound.types.get(tensor.element, tensor.element) for tensor in self.signature.outputs)


def _outputs_type(signature: Signature) -> Callable[..., Any]:
    """What a call gives for its outputs: the only one, or a named tuple of them."""
    if len(signature.outputs) == 1:
        return lambda output: output
    names = [tensor.name for tensor in signature.outputs]
    return namedtuple(f"{signature.name}_outputs", names, rename=True)


alive: WeakSet[Op] = WeakSet()
"""Every operator in use, so that torch learns of them when it is first used, even while it traces a program."""
