"""Python names for SSA values: what the spec calls them where it does, and each only once."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

from attndsl.checking.spelling import PYTHON
from attndsl.checking.symbolic import Expression, leaves
from attndsl.ir import spec
from attndsl.ir.xdsl import ModuleOp, SSAValue
from attndsl.python_names import python_name


def number_names(module: ModuleOp) -> set[str]:
    """The identifiers of the dims, parameters and choices of a module: nothing that is made up has one."""
    params = {python_name(op.sym_name.data) for op in module.body.block.ops if isinstance(op, spec.ParameterOp)}
    return params | {leaf_name(*leaf) for op in _tensors(module) for extent in op.shape for leaf in leaves(extent)}


def leaf_name(kind: str, name: str) -> str:
    """The identifier of a dim, a parameter or a choice."""
    return name if kind == "choice" else python_name(name)


def python_text(extent: Expression) -> str:
    """An extent in Python."""
    return PYTHON.spell(extent, leaf_name).text


def function_name(entries: Collection[str]) -> str:
    """The name of the spec whose kernels have these: that of its only block, or what those of its blocks begin with."""
    name = min(entries, key=len)  # what else a block is computed with is called after it
    several = name.removesuffix("_0")
    return python_name(several if f"{several}_1" in entries else name)


def spec_names(module: ModuleOp) -> set[str]:
    """The same, and those of all tensors."""
    return number_names(module) | {python_name(op.sym_name.data) for op in _tensors(module)}


def _tensors(module: ModuleOp) -> list[spec.TensorOp]:
    return [op for op in module.body.block.ops if isinstance(op, spec.TensorOp)]


class Names:
    """Gives every value a name, the same one each time. `reserved` are names that are taken."""

    def __init__(self, reserved: Iterable[str]) -> None:
        self._reserved = frozenset(reserved)
        self._taken = set(self._reserved)
        self._names: dict[SSAValue, str] = {}

    def __getitem__(self, value: SSAValue) -> str:
        if value not in self._names:
            self._names[value] = self.fresh(value.name_hint or "t")
        return self._names[value]

    def __contains__(self, value: SSAValue) -> bool:
        return value in self._names

    def bind(self, value: SSAValue, name: str) -> None:
        """Lets a value go by a name that is there already."""
        self._names[value] = name

    def begin_scope(self) -> None:
        """What has been named so far is used no more: others may go by these names."""
        self._taken = set(self._reserved)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """What is named within is used no more afterwards, and others may go by these names."""
        taken = set(self._taken)
        yield
        self._taken = taken

    def fresh(self, hint: str) -> str:
        """A name like `hint`, whatever number that ends with, that nothing else has."""
        return self.like(re.sub(r"(_\d+)+$", "", hint) or "t")

    def like(self, hint: str) -> str:
        """The name `hint` itself, unless something else has it."""
        plain = python_name(hint)
        name, count = plain, 1
        while name in self._taken:
            count += 1
            name = f"{plain}_{count}"
        self._taken.add(name)
        return name
