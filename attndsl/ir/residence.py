"""What lies in the homes of a kernel while it is interpreted: that nothing is read any more that was written over."""

from __future__ import annotations

from dataclasses import dataclass

from attndsl.ir.axes import AxesAnalysis
from attndsl.ir.homes import HomeOp, IntoOp
from attndsl.ir.wellformed import may_overwrite
from attndsl.ir.xdsl import FileLineColLoc, Operation


class Overwritten(RuntimeError):
    """A tile is read, or part of it, after another was written into its home. The message names both, and the home."""


@dataclass(eq=False)
class Stay:
    """A tile in a home: where it was said to live there, and what was written there afterwards."""

    into: IntoOp
    after: IntoOp | None = None


class Homes:
    """The tiles that lie in each home, by its stage: 0 where it has none."""

    def __init__(self) -> None:
        self._axes = AxesAnalysis()
        self._tiles: dict[tuple[HomeOp, int], Stay] = {}

    def read(self, op: Operation, stay: Stay) -> None:
        """An operation reads a tile. Raises Overwritten where that lies there no more."""
        if stay.after is not None:
            raise Overwritten(
                f"{_home(stay.into)} holds no longer what {_told(stay.into.maker)} made when {_told(op)} reads it: "
                f"{_told(stay.after.maker)} wrote over it"
            )

    def put(self, op: IntoOp, stage: int, operands: list[Stay | None]) -> Stay:
        """A tile is written into a home; `operands` are those of what makes it. Raises Overwritten."""
        place = (op.declaration, stage)
        stages = place[0].stages
        assert 0 <= stage < (1 if stages is None else stages.value.data), f"{_home(op)} has no stage {stage}"
        before = self._tiles.get(place)
        for value, stay in zip(op.maker.operands, operands, strict=True):
            if stay is not None and stay is before and not may_overwrite(op, value, stay.into, self._axes):
                raise Overwritten(f"{_told(op.maker)} writes over what it reads, in {_home(op)}")
        if before is not None:
            before.after = op
        self._tiles[place] = stay = Stay(op)
        return stay


def _home(op: IntoOp) -> str:
    return f"@{op.home.string_value()}"


def _told(op: Operation) -> str:
    """An operation, by its name, that of what it gives, and its line of the spec."""
    name = op.results[0].name_hint if op.results else None
    place = f" of line {op.location.line.data}" if isinstance(op.location, FileLineColLoc) else ""
    return f"{op.name}{f' %{name}' if name else ''}{place}"
