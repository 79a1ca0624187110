"""The order of a call's arguments, which whoever writes a function of a spec and whoever calls it read here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from attndsl.python_names import keywords

Tensor = TypeVar("Tensor")


@dataclass(frozen=True, slots=True)
class Arguments(Generic[Tensor]):
    """The tensors of a call, or what stands for each: inputs, then outputs, both in the order of their declarations.

    Among the inputs are those that are written in place.

    Every function that is made of a spec takes them so, by position, and then its parameters by keyword.
    """

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]

    @classmethod
    def of(cls, declared: Iterable[Tensor], role: Callable[[Tensor], str]) -> Arguments[Tensor]:
        """Tensors as they are declared, in whatever order; what is a `temp` or a `workspace` is no argument."""
        roles = [(tensor, role(tensor)) for tensor in declared]
        inputs = (tensor for tensor, own in roles if own in ("input", "inout"))
        return cls(tuple(inputs), tuple(tensor for tensor, own in roles if own == "output"))

    def __iter__(self) -> Iterator[Tensor]:
        yield from self.inputs
        yield from self.outputs

    def passed_to(self, function: Callable[..., Any], params: Mapping[str, Any]) -> Any:
        """What a generated function gives for these tensors and parameters."""
        return pass_arguments(function, self.inputs, self.outputs, params)


def pass_arguments(
    function: Callable[..., Any], inputs: Iterable[Any], outputs: Iterable[Any], params: Mapping[str, Any]
) -> Any:
    """What a generated function gives for these tensors and parameters."""
    return function(*inputs, *outputs, **keywords(params))
