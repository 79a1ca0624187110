"""Python names for SSA values: what the spec calls them where it does, and each only once."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable

from attndsl.ir.xdsl import SSAValue


class Names:
    """Gives every value a name, the same one each time. `reserved` are names that are taken."""

    def __init__(self, reserved: Iterable[str]) -> None:
        self._taken = {*keyword.kwlist, *dir(builtins), *reserved}
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

    def fresh(self, hint: str) -> str:
        """A name like `hint` that nothing else has."""
        hint = re.sub(r"_\d+$", "", hint) or "t"
        name, number = hint, 1
        while name in self._taken:
            number += 1
            name = f"{hint}_{number}"
        self._taken.add(name)
        return name
