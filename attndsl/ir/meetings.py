"""What is added to one element while a kernel is interpreted: that nothing meets but what is said to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attndsl.ir import attn, tile
from attndsl.ir.meaning import Array


class Meetings:
    """What each operation that adds has added to, with the variables that it adds along."""

    def __init__(self) -> None:
        self._met: dict[attn.WriteOp | attn.ScatterOp | tile.StoreOp, set[tuple[int, ...]]] = {}

    def meet(
        self, op: attn.WriteOp | attn.ScatterOp | tile.StoreOp, along: Sequence[Array], places: Sequence[Array]
    ) -> None:
        """An operation adds to some places, where the variables have these values: to each but once where they agree.

        Of a tile whose elements may meet `within` it, that holds of all programs but its own.
        """
        columns = [np.asarray(column, np.int64) for column in (*along, *places)]
        if not columns:
            return
        keys = set(zip(*(column.tolist() for column in columns), strict=True))
        within = isinstance(op, tile.StoreOp) and op.within is not None
        assert within or len(keys) == len(columns[0]), f"rows of one {op.name} meet that are said not to"
        met = self._met.setdefault(op, set())
        assert met.isdisjoint(keys), f"programs of one {op.name} meet that are said not to"
        met |= keys
