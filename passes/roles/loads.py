"""The role that loads: its threads read what is no box, compute what products and scores take, and hand that on."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from attndsl.ir import tile
from attndsl.ir.analyses.role_loads import loads_of
from attndsl.ir.analyses.role_parts import Box, Loaded, element_of, size_of_axis
from attndsl.ir.keys import conjuncts
from attndsl.ir.rings import RelayOp, RingOp
from attndsl.ir.roles import HandOp, ReleaseOp, ViewOp, WaitOp
from attndsl.ir.xdsl import Block, Operation, Region, SSAValue, arith, f32, scf
from attndsl.passes.roles.copies import CopiesBuilder
from attndsl.passes.roles.turns import Filled
from attndsl.storage import ELEMENTS

LOADING_THREADS = 128
"""The threads of four warps."""

EARLY = 32
"""The registers of a thread that may hold what is loaded before anything of a turn is handed on."""


class LoadsBuilder(CopiesBuilder, ABC):
    """Writes what the role that loads does for a tile, and how others read what a turn has beside keys and values.

    `rowwise` is what stands before the loops and differs from row to row, `turn` and `key` the turn of the role that
    loads, and its axis of keys, and `read` what that has read of what is fed to it, and not released.
    """

    rowwise: list[Operation]
    part: SSAValue
    turn: SSAValue
    full: SSAValue | None
    key: SSAValue
    read: list[ViewOp]

    @property
    def _beside(self) -> list[Filled[RingOp | RelayOp, Box | Loaded]]:
        return [*self.copied_beside, *self.handed_beside]

    def _load(self) -> None:
        """Loads, and hands on, what each turn takes: keys, what scores take beside them, and values.

        It loads all of that before it waits, as far as registers allow: what is loaded is under way while others still
        read what lies in a stage, and while something else is handed on.
        """
        found, parts, kept = self.found, list[dict[SSAValue, SSAValue]](), self.copies
        needed = self._leads()
        for n in range(found.row_parts if found.row_axis in needed else 1):
            self.copies = dict(kept)
            self._rows(self._number(n), needed)
            parts.append(self.copies)
        self.copies = dict(parts[0])
        turn, done = self._turns([], self._number(0))
        key = self._axis(turn)
        self.turn, self.key, self.read = turn, key, []
        rows = found.row_axis.result
        free = self._early([value for value in found.loaded if rows not in self.axes(value)], EARLY)
        contexts = [{**self.copies, **part} for part in parts]
        for context in contexts:
            self.copies = context
            free = self._early([value for value in found.loaded if rows in self.axes(value)], free)
        self.copies = contexts[0]
        self._hand_tiles([each for each in self.handed if each.scored], turn, key)
        for n in range(found.row_parts):
            self.copies = contexts[min(n, len(parts) - 1)]
            for filled in self.handed_beside:
                self._hand_loaded(filled, key, *self._own_turn(turn, self._number(n), filled.rings[0]))
        self.copies = contexts[0]
        self._hand_tiles([each for each in self.handed if not each.scored], turn, key)
        done([])
        self.copies = kept

    def _fill_turn(self, turn: SSAValue) -> None:
        """Copies tiles, and hands numbers of each key on, which are under way while tiles wait for their stages."""
        kept = dict(self.copies)
        key = self._axis(turn)
        self.turn, self.key, self.read = turn, key, []
        for filled in self.handed_beside:
            for each in filled.tiles:
                self._compute(each.value)
        stage = self._fill(turn, self.copied)
        for filled in self.handed_beside:
            assert stage is not None, "a turn copies what its numbers lie beside"
            self._hand_loaded(filled, key, stage)
        self.copies = kept

    def _early(self, values: Sequence[SSAValue], free: int) -> int:
        """Loads what some values of a turn are computed of, as far as registers are free; gives how many are left."""
        fed = [each.tiles[0].load for each in self.fed]
        needed = [[op for op in self._made(value) if isinstance(op, tile.LoadOp) and op not in fed] for value in values]
        for loads in sorted(needed, key=lambda loads: sum(map(self._registers, loads))):
            taken = sum(map(self._registers, loads))
            if taken <= free:
                free -= taken
                for load in loads:
                    self._compute(load.result)
        return free

    def _registers(self, load: tile.LoadOp) -> int:
        """The registers of a thread that what is read takes, as memory holds it."""
        assert self.found.folded.axis is not None
        row, key = self.found.row_axis.result, self.found.folded.axis.result
        sizes: dict[SSAValue, int] = {row: self.found.part_rows, key: self.found.tile_keys}
        count = math.prod(sizes[axis] if axis in sizes else size_of_axis(axis) for axis in self.axes(load.result))
        return -(-count * ELEMENTS[element_of(load.result)].itemsize // (4 * LOADING_THREADS))

    def _made(self, value: SSAValue) -> list[Operation]:
        """The operations of a turn that a value is computed of, in order."""
        made = loads_of(value, self.found.folded)
        return [op for op in self.found.folded.body.block.ops if op in made]

    def _compute(self, value: SSAValue) -> None:
        """Computes a value of a turn."""
        for op in self._made(value):
            if op.results[0] in self.copies:
                continue
            self.place = op.location
            fed = next((each for each in self.fed if op is each.tiles[0].load), None)
            if fed is None:
                asked = self._full_where(op) if isinstance(op, tile.LoadOp) else None
                if isinstance(op, tile.LoadOp) and asked is not None:
                    self._read_either(op, asked)
                else:
                    self._clone(op)
            else:
                stage, phase = self._turn(self.turn, fed.rings[0])
                self._add(WaitOp("full", fed.rings[0].sym_name.data, stage, phase))
                (view,) = self._views(fed.rings, fed.tiles, stage, self.key)
                self._stands(op.results[0], view.result)
                self.read.append(view)

    def _leads(self) -> set[Operation]:
        """What of all that differs from row to row, and of axes of features, leads to what is loaded."""
        needed, waiting = set[Operation](), list[SSAValue]()
        for value in self.found.loaded:
            waiting += [each for op in loads_of(value, self.found.folded) for each in op.operands]
        waiting += [each.features for filled in self.handed for each in filled.tiles]
        while waiting:
            owner = waiting.pop().owner
            if isinstance(owner, Operation) and owner not in needed:
                needed.add(owner)
                waiting += owner.operands
        return needed

    def _full_where(self, load: tile.LoadOp) -> list[SSAValue] | None:
        """What a full tile asks for that lies along keys; None where that is what any tile asks for.

        Without a condition of each key, threads read 16 bytes at a time, and else every number by itself.
        """
        axis, asked = self.found.folded.axis, self.found.asked_of_full.get(load)
        assert axis is not None
        along = self.axes(load.indices[-1]) == {axis.result} and len(self.axes(load.result)) == 2
        if self.full is None or asked is None or not along or len(asked) == len(list(conjuncts(load.where))):
            return None
        return asked

    def _read_either(self, load: tile.LoadOp, asked: Sequence[SSAValue]) -> None:
        """Reads a full tile, of which so much is asked, or what there is of another one."""
        assert load.where is not None
        where: SSAValue | None = None
        for each in asked:
            known = self.copies[each]
            where = known if where is None else self._value(arith.AndIOp(where, known))
        is_full = self._is_full(self.turn)
        indices = [self.copies[value] for value in load.indices]
        branches, outer = list[Region](), self.block
        for condition in (where, self.copies[load.where]):
            self.block = Block()
            read = tile.LoadOp(load.tensor, indices, condition, load.result.type)
            self._add(scf.YieldOp(self._value(read, load.result.name_hint)))
            branches.append(Region(self.block))
        self.block = outer
        full, mixed = branches
        self._stands(load.result, self._value(scf.IfOp(is_full, [load.result.type], full, mixed)))

    def _hand_tiles(self, handed: Sequence[Filled[RelayOp, Loaded]], turn: SSAValue, key: SSAValue) -> None:
        for filled in handed:
            self._hand_loaded(filled, key, *self._turn(turn, filled.rings[0]))

    def _hand_loaded(
        self, filled: Filled[RelayOp, Loaded], key: SSAValue, stage: SSAValue, phase: SSAValue | None = None
    ) -> None:
        """Computes tiles of a turn, and hands them on at once, that with the barriers last.

        The stage of a ring beside which they lie, which has no phase here, is empty.
        """
        for each in filled.tiles:
            self._compute(each.value)
        if phase is not None:
            free = self._value(arith.SubiOp(self._number(1), phase))
            self._add(WaitOp("empty", filled.rings[0].sym_name.data, stage, free))
        for relay, each in reversed(list(zip(filled.rings, filled.tiles, strict=True))):
            axes = self._axes_of(each, key)
            self._add(HandOp(relay.sym_name.data, stage, self.copies[each.value], axes))
        for view in self.read:
            self._add(ReleaseOp(view.ring.string_value(), view.stage, fenced=True))
        self.read = []

    def _axes_of(self, tile_: Box | Loaded, key: SSAValue) -> list[SSAValue]:
        """The axes of what a turn takes: rows and keys, keys alone, or keys and features."""
        assert self.found.folded.axis is not None
        if self.found.row_axis.result in self.axes(tile_.value):
            return [self.copies[self.found.row_axis.result], key]
        return [key] if tile_.features is self.found.folded.axis.result else [key, self.copies[tile_.features]]

    def _views_beside(self, turn: SSAValue, key: SSAValue, full: SSAValue | None = None) -> dict[SSAValue, ViewOp]:
        """How a consumer's turn reads each of what it takes beside keys and values, once that is there.

        In a turn of several scores it lies in the stage of what is copied, which is `full`.
        """
        views = {}
        for filled in self._beside:
            stage = full
            if stage is None:
                stage, phase = self._own_turn(turn, self.part, filled.rings[0])
                self._add(WaitOp("full", filled.rings[0].sym_name.data, stage, phase))
            for ring, each in zip(filled.rings, filled.tiles, strict=True):
                views[each.value] = ViewOp(ring.sym_name.data, stage, self._axes_of(each, key), f32)
                self.copies.pop(each.value, None)
        return views

    def _release_beside(self, views: Mapping[SSAValue, ViewOp]) -> None:
        """Releases that, behind a fence: by then it lies in registers."""
        for filled in self._beside:
            view = views[filled.tiles[0].value]
            self._add(ReleaseOp(view.ring.string_value(), view.stage, fenced=True))

    def _views(
        self,
        rings: Sequence[RingOp | RelayOp],
        boxes: Sequence[Box | Loaded],
        stage: SSAValue,
        along: SSAValue,
    ) -> list[ViewOp]:
        """What lies in a stage that is full."""
        views = []
        for ring, box in zip(rings, boxes, strict=True):
            view = ViewOp(ring.sym_name.data, stage, [along, self.copies[box.features]], box.value.type)
            self._add(view)
            view.result.name_hint = box.value.name_hint
            views.append(view)
        return views

    @abstractmethod
    def _axis(self, turn: SSAValue, full: bool | None = None) -> SSAValue:
        """The axis of keys of a turn, which stands for that of keys from then on."""

    @abstractmethod
    def _rows(self, part: SSAValue, needed: set[Operation] | None = None) -> None:
        """What stands before the loops and differs from row to row, or what of that is needed."""
