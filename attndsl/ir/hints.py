"""What values are called in text: names that xDSL keeps as they are when it prints and reads them."""

from __future__ import annotations

import re

from attndsl.ir.xdsl import ModuleOp, SSAValue


def hint(name: str | None) -> str | None:
    """A name for values, without the numbers at its end: by those xDSL tells values of one name apart. None: no name.

    xDSL itself takes off one of several, refuses a name of which nothing is left, and prints two values as one whose
    names differ in such a number.
    """
    return re.sub(r"(_\d+)+$", "", name) or None if name else None


def settle_hints(module: ModuleOp) -> None:
    """Makes the names of values that were read such as `hint` gives."""
    for value in _values(module):
        value.name_hint = hint(value.name_hint)


def _values(module: ModuleOp) -> list[SSAValue]:
    ops = list(module.walk())
    arguments = [argument for op in ops for region in op.regions for block in region.blocks for argument in block.args]
    return [*arguments, *(result for op in ops for result in op.results)]
