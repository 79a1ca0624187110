"""Where operations are lowered to: the open scopes, and what is known in them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from attndsl.ir.xdsl import Block, Operation, SSAValue
from attndsl.passes.tile.builder import TileBuilder


@dataclass(frozen=True)
class BlockScope:
    """A block being filled, the variable that it runs over, and what source values have become in it."""

    block: Block
    variable: SSAValue | None
    values: dict[SSAValue, SSAValue] = field(default_factory=dict)


@dataclass(frozen=True)
class Where:
    """The open scopes, the program's first, and what holds in them. It is passed down, and never changed.

    `build` gives what it adds the place in the source that is being lowered. `rows` is the axis of the rows. In a loop
    over keys `own` are the conditions that a key is one of the row's own, `before_end` those that a key of a whole
    tile is before the last row's end.
    """

    build: TileBuilder
    scopes: tuple[BlockScope, ...]
    rows: SSAValue | None = None
    own: tuple[SSAValue, ...] = ()
    before_end: tuple[SSAValue, ...] = ()

    @property
    def outermost(self) -> BlockScope:
        """The scope of the program."""
        return self.scopes[0]

    @property
    def apart(self) -> bool:
        """Whether the program comes here seldom."""
        return self.outermost.block is not self.build.outermost

    def of(self, op: Operation) -> Where:
        """The same, for what is made of another operation of the source."""
        return replace(self, build=self.build.of(op))

    def within(self, scope: BlockScope) -> Where:
        """In one more scope."""
        return replace(self, scopes=(*self.scopes, scope))

    def aside(self, block: Block) -> Where:
        """In a block that seldom runs: tiles are made anew there, so that none is kept for it."""
        kept = {value: made for value, made in self.outermost.values.items() if len(self.build.axes(made)) < 2}
        return replace(self, scopes=(BlockScope(block, None, kept), *self.scopes[1:]))
