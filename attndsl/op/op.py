"""A compiled spec as a function of arrays."""

from __future__ import annotations

import sys
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attndsl.driver.artifact import Artifact
from attndsl.driver.signature import Signature
from attndsl.op import errors
from attndsl.op.binding import CompiledSpec
from attndsl.op.broadcast import broadcast
from attndsl.op.checks import declaration, example_call, join, listed, names_fit, python_signature, split
from attndsl.op.cpu import CpuCalls
from attndsl.op.said import element_of, with_types
from attndsl.syntax.read import read_source
from attndsl.syntax.source import Source

if TYPE_CHECKING:
    from attndsl.drawing.drawing import Drawing
    from attndsl.op.torch_op import TensorCalls
    from attndsl.storage import Array

Said = tuple[tuple[str, str], ...]
"""Element types of the type variables that a call says."""


def load(path: str | Path) -> Op:
    """The operator that the spec in a file describes, or, by its name, one of the gallery: `attndsl.load("gqa")`.

    Raises SpecError where it cannot be read or has mistakes.
    """
    return Op(read_source(path))


def compile(text: str) -> Op:
    """The operator that a spec's text describes. Raises SpecError where it has mistakes."""
    return Op(Source(text))


class Op:
    """A spec as a function: `op(q, k, v, window=128)`; inputs in their declared order or by name, parameters by name.

    It takes NumPy arrays or torch tensors of any strides, on a CPU or a GPU, copies none of them, and gives what it was
    given: an array or tensor for a spec with one output, a named tuple of them for several; new ones, or those of
    `out`, one for an output, in any memory that no input and no other output shares. Inouts it writes in place; where a
    spec has nothing else it gives None. A call that does not fit
    the spec raises a CallError. Code is generated once for each choice of element types, for a GPU also of the extents
    of feature dims, at the first call or from the cache; other extents and parameters change freely.
    """

    def __init__(self, spec: Source, left_out: tuple[str, ...] = (), said: Said = ()) -> None:
        self.binding = CompiledSpec(spec, left_out, dict(said))
        self.spec, self.signature, self.key = spec, self.binding.signature, self.binding.key
        _ = (
            self.signature.names,
            self.signature.needed,
            self.signature.broadcast,
            self.signature.order,
            self.signature.shaping,
        )  # kept from here on: torch.compile traces no cached_property
        self._array_calls: CpuCalls[Array] | None = None
        self._tensor_calls: TensorCalls | None = None
        self._outputs = _outputs_type(self.signature)
        self._inputs = tuple(tensor.name for tensor in self.signature.inputs)
        self._first = next(iter(self._inputs), "")
        self._forms: dict[tuple[tuple[str, ...], Said], Op] = {}
        self.__name__ = self.__qualname__ = self.signature.name
        self.__signature__ = python_signature(self.signature)
        if "torch" in sys.modules:  # else at the first call with tensors
            self._register()

    def __call__(self, /, *inputs: Any, out: Any = None, **arguments: Any) -> Any:
        """The outputs for these inputs and parameters, which are new, or written into `out`. Raises CallError.

        `out` is an array or a tensor, of several outputs a tuple in their order; where a spec has an argument of that
        name, it is that. On a GPU a call also raises TritonFails, a RuntimeError, where Triton's own compiler gives up.
        """
        torch = sys.modules.get("torch")
        traced = torch is not None and torch.compiler.is_dynamo_compiling()
        if torch is not None and not traced and torch.fx._symbolic_trace._is_fx_tracing_flag:
            given = arguments if out is None else {**arguments, "out": out}
            proxies = [each for each in (*inputs, *given.values()) if isinstance(each, torch.fx.Proxy)]
            if proxies:  # a graph is made, whose node is the op itself
                return torch.overrides.handle_torch_function(self, proxies, *inputs, **given)
        if inputs:
            arguments = self._by_name(inputs, arguments)
        if self.signature.optional or self.signature.said:
            if self.signature.said:
                arguments = with_types(self.signature, arguments, out)
            left_out = tuple(name for name in self.signature.optional if arguments.get(name) is None)
            if (left_out or self.signature.said) and names_fit(self.signature, arguments):
                said = tuple((name, arguments[name]) for name in self.signature.said)
                fixed = (*left_out, *self.signature.said)
                given = {name: value for name, value in arguments.items() if name not in fixed}
                self._make_form(left_out, said)
                return self._forms[left_out, said](out=out, **given)
        if self.signature.broadcast and names_fit(self.signature, arguments):
            arguments = {**broadcast(self.signature, arguments)}
        written = None
        if out is not None:
            if "out" in self.signature.names:
                arguments["out"] = out
            else:
                written = listed(self.signature, out)
        if not traced:
            of_torch = torch is not None and isinstance(arguments.get(self._first), torch.Tensor)
            calls = self._tensor_calls if of_torch else self._array_calls
            if calls is not None and (outputs := calls.replay(arguments, written)) is not None:
                return self._outputs(*outputs)
        given, params = split(self.signature, arguments)
        if self._holds_tensors(given):
            self._register()
            assert self._tensor_calls is not None
            if written is not None:
                self._require_tensors(written)
            return self._outputs(*self._tensor_calls(given, params, written))
        return self._outputs(*self._compute_arrays(list(given.values()), params, written))

    def __reduce__(self) -> tuple[type[Op], tuple[Source, tuple[str, ...], Said]]:
        return type(self), (self.spec, self.binding.left_out, (*self.binding.said.items(),))

    def __repr__(self) -> str:
        return f"<attndsl operator {example_call(self.signature)}>"

    def without(self, *inputs: str) -> Op:
        """The operator of calls that leave out these inputs, which have defaults: it has them no more.

        Raises CallError where one has none, or where nothing else tells a dim or a type of the call.
        """
        self._make_form(inputs, ())
        return self._forms[inputs, ()]

    def saying(self, /, **types: Any) -> Op:
        """The operator of calls that say these element types, which only outputs have. Raises CallError."""
        said = tuple((name, element_of(element)) for name, element in types.items())
        if not said:
            return self
        self._make_form((), said)
        return self._forms[(), said]

    def _make_form(self, inputs: tuple[str, ...], said: Said) -> None:
        """Makes the operator without these inputs, for the types that are said, once."""
        if (inputs, said) in self._forms:
            return
        from attndsl.checking.omission import Untold

        for name in inputs:
            if name not in self.signature.optional:
                raise errors.NoDefault(self.signature.name, name, example_call(self.signature))
        for name, element in said:
            choices = self.signature.types[name] if name in self.signature.said else ()
            if element not in choices:
                wanted = join(choices, "or") if choices else "no such type said"
                raise errors.WrongType(self.signature.name, name, element, wanted)
        if inputs and len(inputs) == len(self._inputs):
            raise errors.NothingGiven(self.signature.name, example_call(self.signature))
        try:
            left_out = (*self.binding.left_out, *inputs)
            self._forms[inputs, said] = Op(self.spec, left_out, (*self.binding.said.items(), *said))
        except Untold as error:
            raise errors.LeftOutTells(self.signature.name, join(error.inputs), error.name) from None

    def artifact(
        self, target: str = "numpy", sizes: Mapping[str, int] = {}, machine: str | None = None, /, **types: str
    ) -> Artifact:
        """What the compiler makes of the spec for these element types, `op.artifact(T="bf16")`; f32 where none is said.

        Code for `triton` is made for `sizes`, extents of feature dims. It suits `machine`, of attndsl.ir.machines: that
        for `numpy` suits any CPU where none is named, though calls take what suits the one at hand. Raises ValueError
        for types that the spec does not allow.
        """
        return self.binding.artifact(target, sizes, machine, **types)

    def prepare(self, device: str = "cpu", /, **of: str | int) -> None:
        """Compiles for these element types, `op.prepare(T="bf16")`, before the first call; f32 where none is said.

        With dims, `op.prepare(T="bf16", M=128, N=4096)`, it also makes a call, small in all others: Numba compiles then
        what it compiles for tiles of such calls. Code for a GPU is made for the extents of feature dims, too:
        `op.prepare("cuda", T="bf16", D=128)` makes a call of zeros there. Raises ValueError.
        """
        from attndsl.op.prepare import made_up, said, zeros

        types, dims = said(self.signature, of)
        if device != "cpu":
            self(**zeros(self.spec, self.signature, device, types, dims))
        elif dims:
            self(**made_up(self.spec, self.signature, types, dims))
        else:
            self.binding.program(types)

    @property
    def compilations(self) -> int:
        """How many kernels Triton has compiled, or loaded from its own cache, for calls with tensors of GPUs."""
        own = 0 if self._tensor_calls is None else self._tensor_calls.gpu.compilations
        return own + sum(form.compilations for form in self._forms.values())

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

    def draw(self, target: str = "triton", /, **of: Any) -> Drawing:
        """Which keys rows see, the tiles in which programs walk them, and the data flow: shown in a notebook.

        Extents, parameters and types that are not said, `op.draw(M=16, N=128, window=20)`, are small and usual ones.
        The result has `svg()` and `png()`. Raises ValueError, and DrawingMissing, an ImportError, without matplotlib.
        """
        from attndsl.drawing.drawing import draw
        from attndsl.driver.library import checked
        from attndsl.op.prepare import said_to_draw

        types, dims, params = said_to_draw(self.signature, of)
        return draw(checked(self.spec, *self.binding.left_out), {**types, **self.binding.said}, target, dims, params)

    def _by_name(self, inputs: Sequence[Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a call, those by position too. Raises CallError."""
        if len(inputs) > len(self._inputs):
            call = example_call(self.signature)
            raise errors.TooManyInputs(self.signature.name, len(inputs), len(self._inputs), call)
        named = dict(zip(self._inputs, inputs, strict=False))
        for name in named:
            if name in arguments:
                raise errors.GivenTwice(self.signature.name, name)
        return {**named, **arguments}

    def _require_tensors(self, out: Sequence[Any]) -> None:
        """Raises WrongOutput where one is no tensor."""
        for tensor, value in zip(self.signature.outputs, out, strict=True):
            if not isinstance(value, sys.modules["torch"].Tensor):
                found = f"an object of type {type(value).__name__}"
                raise errors.WrongOutput(self.signature.name, tensor.name, found, "a torch tensor")

    def _register(self) -> None:
        """Makes torch know the op, once, at the latest at its first call with tensors."""
        if self._tensor_calls is None:
            from attndsl.op.torch_op import register

            self._tensor_calls = register(self.binding)

    # That call may be one that torch.compile traces, and what it traces cannot register an operator; what is marked so
    # it runs, and takes the result for a constant. It is what torch.compiler.assume_constant_result sets, for which
    # torch would have to be imported.
    vars(_register)["_dynamo_marked_constant"] = vars(_make_form)["_dynamo_marked_constant"] = True

    def _holds_tensors(self, inputs: Mapping[str, Any]) -> bool:
        """Whether the inputs are torch's and not NumPy's."""
        numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
        types = [type(value) for value in inputs.values()]
        if numpy is not None and all(type_ is numpy.ndarray for type_ in types):
            return False
        if torch is not None and all(type_ is torch.Tensor for type_ in types):
            return True
        from attndsl.op.numpy_arrays import is_array

        kinds: dict[str, str] = {}
        for name, value in inputs.items():
            if is_array(value):
                kinds[name] = "NumPy array"
            elif torch is not None and isinstance(value, torch.Tensor):
                kinds[name] = "torch tensor"
            else:
                declared = next(tensor for tensor in self.signature.inputs if tensor.name == name)
                if isinstance(value, int | float) and not declared.extents and not declared.in_place:
                    raise errors.PlainNumber(self.signature.name, name, str(value), declaration(declared))
                raise errors.NotAnArray(self.signature.name, name, type(value).__name__)
        first = next(iter(kinds), "")
        for name, kind in kinds.items():
            if kind != kinds[first]:
                raise errors.MixedFrameworks(self.signature.name, first, kinds[first], name, kind)
        return kinds.get(first) == "torch tensor"

    def _compute_arrays(
        self, inputs: Sequence[Array], params: Mapping[str, Any], out: Sequence[Any] | None
    ) -> Sequence[Array]:
        if self._array_calls is None:
            from attndsl.op import numpy_arrays

            self._array_calls = CpuCalls(self.binding, numpy_arrays)
        return self._array_calls.compute(inputs, params, out)


def _outputs_type(signature: Signature) -> Callable[..., Any]:
    """What a call gives for its outputs: the only one, or a named tuple of them."""
    if len(signature.outputs) <= 1:
        return lambda output=None: output
    names = [tensor.name for tensor in signature.outputs]
    return namedtuple(f"{signature.name}_outputs", names, rename=True)
