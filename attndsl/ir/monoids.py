"""What reductions fold with: a monoid each. A row here is all that passes, interpreter and emitters know of one.

A monoid combines two partial results in any bracketing, and has an identity element, which is the result of nothing.
Streaming keys, cutting them into splits, and reducing a tile are bracketings of the same fold.
"""

from __future__ import annotations

import math as numbers
from collections.abc import Callable
from dataclasses import dataclass

from attndsl.ir.xdsl import Attribute, Operation, SSAValue, arith, i1, index

_LEAST, _LARGEST = -(2**63), 2**63 - 1


@dataclass(frozen=True)
class Monoid:
    """How partial results are combined, by an operation for each kind of number, and what nothing folds to.

    `name` is what a state is called.
    """

    name: str
    of_reals: type[arith.AddfOp | arith.MaximumfOp | arith.MinimumfOp] | None
    of_integers: type[arith.AddiOp | arith.MaxSIOp | arith.MinSIOp] | None
    of_truths: type[arith.AndIOp] | None
    empty: float

    def operation(self, type_: Attribute) -> type[Operation]:
        """The operation that combines two partial results of a type."""
        found = self.of_integers if type_ == index else self.of_truths if type_ == i1 else self.of_reals
        assert found is not None, f"{self.name} of {type_}"
        return found

    def combine(self, left: SSAValue, right: SSAValue) -> Operation:
        """Two partial results as one."""
        make: Callable[[SSAValue, SSAValue], Operation] = self.operation(left.type)
        return make(left, right)

    def identity(self, type_: Attribute) -> int | float | bool:
        """The identity element: an integer is never infinite, but the least or largest that there is."""
        if type_ == i1:
            return bool(self.empty)
        if type_ != index:
            return self.empty
        return int(self.empty) if numbers.isfinite(self.empty) else _LEAST if self.empty < 0 else _LARGEST


SUM = Monoid("sum", arith.AddfOp, arith.AddiOp, None, 0.0)
MAX = Monoid("max", arith.MaximumfOp, arith.MaxSIOp, None, -numbers.inf)
MIN = Monoid("min", arith.MinimumfOp, arith.MinSIOp, None, numbers.inf)
ALL = Monoid("all", None, None, arith.AndIOp, True)
