"""How much a pass may change of the numbers that a program computes."""

from __future__ import annotations

from enum import Enum


class Exactness(Enum):
    """What each pass declares, and what checks of its output rest on; the values are the words of its docstring."""

    EXACT = "bit-exact"
    """Every number stays as it is, bit for bit."""

    REASSOCIATES = "reassociates"
    """Sums and products are made in another order, of the same terms and factors."""

    NARROWS = "rounds weights"
    """Weights of keys are rounded to a 16-bit type of memory, and what is made of such numbers' products approximated;
    f32 products may be made of smaller ones.
    """
