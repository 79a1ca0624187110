"""A call's launches, written down so that a call like it can be made again with other tensors."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import torch

from attndsl.calling import Arguments
from attndsl.python_names import pointer_name

ALIGNMENT = 256
"""The bytes at whose multiples workspaces begin: more than any load of a kernel wants."""

Launches = Iterable[tuple[Any, int, Sequence[Any], Mapping[str, Any]]]
"""What a generated file says of a call: for each launch a kernel of Triton, the number of programs, the arguments by
position, and options."""


@dataclass(frozen=True, slots=True)
class Output:
    """An output to allocate; `partial` says that launches may leave elements of it unwritten, which are 0.

    It has `strides` unless its axes lie as they are declared.
    """

    shape: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device
    partial: bool
    strides: tuple[int, ...] | None = None

    def allocate(self) -> torch.Tensor:
        """A new tensor."""
        if self.strides is not None:
            return self.take(torch.empty_strided(self.shape, self.strides, dtype=self.dtype, device=self.device))
        make = torch.zeros if self.partial else torch.empty
        return make(self.shape, dtype=self.dtype, device=self.device)

    def take(self, tensor: torch.Tensor) -> torch.Tensor:
        """That of a caller in the place of a new one."""
        return tensor.zero_() if self.partial else tensor


@dataclass(slots=True)
class At:
    """What Triton asks of a tensor whose boxes are copied, once it has compiled a kernel: where it is."""

    address: int

    def data_ptr(self) -> int:
        """The address, as tensors of torch give it."""
        return self.address


def _moved(boxes: Any, address: int) -> Any:
    """What describes the boxes of a tensor, for one at this address: what `copy` makes, in a quarter of its time."""
    moved = object.__new__(type(boxes))
    moved.__dict__.update(boxes.__dict__, base=At(address))
    return moved


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch of a compiled kernel.

    `arguments` are those of every call, with 0 for pointers; `pointers` pairs the position of a pointer with the number
    of its tensor, and `boxes` that of what describes a tensor to the unit that copies boxes.
    """

    kernel: Any
    programs: int
    arguments: tuple[Any, ...]
    pointers: tuple[tuple[int, int], ...]
    boxes: tuple[tuple[int, int], ...] = ()

    def __call__(self, stream: int, addresses: Sequence[int]) -> None:
        """Launches the kernel as Triton does once it has found it; `addresses` are those of all tensors."""
        arguments = list(self.arguments)
        for position, tensor in self.pointers:
            arguments[position] = addresses[tensor]
        for position, tensor in self.boxes:
            arguments[position] = _moved(arguments[position], addresses[tensor])
        kernel = self.kernel
        # The three of None are what Triton's own profiler hooks into a launch.
        kernel.run(self.programs, 1, 1, stream, kernel.function, kernel.packed_metadata, None, None, None, *arguments)


@dataclass(frozen=True, slots=True)
class Plan:
    """The launches of a call with the tensors of one GPU. Tensors are numbered: inputs, outputs, workspaces.

    Outputs and workspaces are allocated for every call, so that streams and threads share none; torch gives them to
    others in the order of their stream. Workspaces lie in one allocation of `scratch` bytes, at `offsets`; its first
    `cleared` bytes are 0 before the launches. Inputs, and outputs that a caller gives, reach over so many bytes each.
    """

    device: torch.device
    outputs: tuple[Output, ...]
    scratch: int
    cleared: int
    offsets: tuple[int, ...]
    launches: tuple[Launch, ...]
    reaches: tuple[int, ...]

    def __call__(self, inputs: Sequence[torch.Tensor], out: Sequence[torch.Tensor] | None = None) -> list[torch.Tensor]:
        """The outputs for other inputs: of the same types, shapes, strides, alignment and device; so `out`."""
        index = self.device.index
        if index != torch.cuda.current_device():
            with torch.cuda.device(index):
                return self(inputs, out)
        outputs = outputs_of(self.outputs, out)
        addresses = [tensor.data_ptr() for tensor in (*inputs, *outputs)]
        if self.offsets:  # a call without rows has workspaces too, of no bytes
            scratch = torch.empty(self.scratch, dtype=torch.uint8, device=self.device)
            if self.cleared:
                scratch[: self.cleared].zero_()
            start = scratch.data_ptr()
            addresses += [start + offset for offset in self.offsets]
        stream = torch._C._cuda_getCurrentRawStream(index)  # as Triton does; the public way costs a microsecond more
        for launch in self.launches:
            launch(stream, addresses)
        return outputs


def outputs_of(outputs: Iterable[Output], out: Sequence[torch.Tensor] | None) -> list[torch.Tensor]:
    """The outputs of a call, new ones or those in `out`, as kernels find them."""
    if out is None:
        return [output.allocate() for output in outputs]
    return [output.take(tensor) for output, tensor in zip(outputs, out, strict=True)]


def first_call(
    program: Callable[..., Launches],
    inputs: Mapping[str, torch.Tensor],
    outputs: Mapping[str, Output],
    params: Mapping[str, Any],
    cleared: Collection[str] = (),
    out: Sequence[torch.Tensor] | None = None,
) -> tuple[Plan, list[torch.Tensor]]:
    """Makes a call through Triton, which compiles what it has not yet; how to make it again, and its outputs.

    A kernel calls the pointer of a tensor as `pointer_name` says, and writes a workspace before it reads it, but for
    those that are `cleared` for each call: they are 0 when it begins.
    """
    made = outputs_of(outputs.values(), out)
    # Boxes are told by the tensors that they are of, of which none must be another one's too.
    given = Arguments(tuple(tensor.detach() for tensor in inputs.values()), tuple(made))
    names = Arguments(tuple(inputs), tuple(outputs))
    numbers = {pointer_name(name): number for number, name in enumerate(names)}
    known = [(tensor, number) for number, tensor in enumerate(given)]
    workspaces: dict[str, int] = {}
    launches = []
    for kernel, programs, arguments, options in given.passed_to(program, params):
        fixed = list(arguments)
        pointers, boxes = [], []
        for position, (name, argument) in enumerate(zip(kernel.arg_names, arguments, strict=True)):
            if not isinstance(argument, torch.Tensor):
                continue
            if name not in numbers:
                assert not any(_share_memory(argument, tensor) for tensor in given), f"{name} is no workspace"
                numbers[name] = len(numbers)
                workspaces[name] = -(-argument.nbytes // ALIGNMENT) * ALIGNMENT
            pointers.append((position, numbers[name]))
            known.append((argument, numbers[name]))
            fixed[position] = 0
        for position, argument in enumerate(arguments):
            if (base := getattr(argument, "base", None)) is not None:
                boxes.append((position, next(number for tensor, number in known if tensor is base)))
                fixed[position] = copy(argument)
                fixed[position].base = None  # a plan keeps no memory of a call
        compiled = kernel[(programs,)](*arguments, **options)
        launches.append(Launch(compiled, programs, tuple(fixed), tuple(pointers), tuple(boxes)))
    at_zero = workspaces.keys() & map(pointer_name, cleared)
    ordered = sorted(workspaces, key=lambda name: name not in at_zero)  # those that are cleared lie first
    *starts, scratch = accumulate((workspaces[name] for name in ordered), initial=0)
    offsets = dict(zip(ordered, starts, strict=True))
    plan = Plan(
        device=next(iter(inputs.values())).device,
        outputs=tuple(outputs.values()),
        scratch=scratch,
        cleared=sum(workspaces[name] for name in at_zero),
        offsets=tuple(offsets[name] for name in workspaces),
        launches=tuple(launches),
        reaches=tuple(map(_reach, (*inputs.values(), *(out or ())))),
    )
    return plan, made


def _reach(tensor: torch.Tensor) -> int:
    """The bytes from the first element of a tensor to behind its last."""
    last = sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True))
    return tensor.element_size() * (last + 1) if tensor.numel() else 0


def _share_memory(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr() != 0
