"""A kernel whose warps have roles: what stands before them, the role that copies, and those that fold.

The turn of those that fold is that of the plain kernel, rotated. Of its body, scores are one product, S is all from
them to weights, and sums are the other product. The first tile has scores and S, each other tile scores, then the sums
of the tile before, which run on under its S, and at the end stand the sums of the last tile. Mixed tiles come first,
and each loop knows whether it masks, or asks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attndsl.ir import spec, tile
from attndsl.ir.analyses.role_boxes import put_of
from attndsl.ir.analyses.role_loads import through_registers
from attndsl.ir.analyses.role_parts import Multiplied, size_of_axis
from attndsl.ir.analyses.role_room import (
    CONSUMER_REGISTERS,
    asks_each_tile,
    first_are_longest,
    goes_in_order,
    holds_queries,
    scores_ahead,
)
from attndsl.ir.analyses.role_shares import after_loops
from attndsl.ir.bounds import bounds_attribute, bounds_of
from attndsl.ir.rings import BYTES, BoardOp, OrderOp
from attndsl.ir.roles import (
    AwaitOp,
    ConsumersOp,
    LoaderOp,
    OperandOp,
    PassOp,
    ProducerOp,
    ProductOp,
    ReleaseOp,
    ViewOp,
    WaitOp,
)
from attndsl.ir.walks import (
    EndsOp,
    GoOp,
    NextOp,
    NumberOp,
    PostOp,
    ProgramsOp,
    SectionOp,
    SeekOp,
    ShareOp,
    TakeOp,
    WalkOp,
)
from attndsl.ir.xdsl import Block, Operation, Region, SSAValue, arith, scf
from attndsl.passes.roles.endings import slow_of
from attndsl.passes.roles.shares import Carried
from attndsl.passes.roles.turned import TurnedBuilder

PRODUCER_REGISTERS = 24
"""A thread's of the one warp that copies."""

BESIDE_LOADER = {False: (72, 208), True: (120, 184)}
"""A thread's of the role that loads, and of consumers: where it reads what is copied for it, and where memory."""

SECTION_BYTES, SECTION_TILES, AT_ONCE = 1 << 24, 256, 128
"""What keys and values of heads that go together have at most, of a cache of 50 MB, and how many tiles these have.

Those of one head whose tiles keep all processors busy are read at once, and so are those of as many as do, about, the
tiles at once of a GPU of 132.
"""

ABREAST = 256
"""The tiles of rows of a request up to which its heads go together, where data say how many rows it has.

On an H200 packed requests of 256 and 1024 tokens, 32 heads on 8, took 0.92 of the time, and of 2048 tokens 1.02, of
16,384 tokens 1.05.
"""

BOARD_STAGES = 2
"""The role that copies is a tile ahead of the others, and takes the number of the next one meanwhile."""

SOUGHT = ("place", "ahead")
"""What a role carries that seeks tiles: where it has found one, and how many are ahead of that."""


class RolesKernel(TurnedBuilder):
    """Writes the kernel."""

    def write(self) -> None:
        """The kernel's body."""
        found, last = self.found, self.found.folded
        before, self.after = self._around()
        self.again = slow_of(found, self.after)
        shared = [op for op in before if self._is_shared(op)]
        self.rowwise = [op for op in before if not self._is_shared(op)]
        self.placed = self._placed(shared)
        for op in shared:
            if op not in self.placed:
                self._shared(op)
        self.programs = [op for op in shared if isinstance(op, tile.ProgramOp)]
        self.place = last.location
        self.section = self._section()
        parts = found.row_parts
        self._fillings()
        self._fillings_beside()
        self.queries = self._rings(found.queries, found.part_rows, parts, parts if found.adding else 1)
        self._exchanges()
        self._outboxes()
        self._relays()
        self.order = OrderOp("order", parts) if goes_in_order(found) else None
        if self.order is not None:
            self._add(self.order)
        loads, registers = bool(found.loaded), CONSUMER_REGISTERS[found.consumers]
        if loads:
            own, registers = BESIDE_LOADER[through_registers(found, found.loaded)]
        self.held, self.ahead = holds_queries(found, registers), scores_ahead(found)
        self.board = BoardOp("numbers", BOARD_STAGES, found.consumers + loads)
        self._add(self.board)
        self._role(ProducerOp(PRODUCER_REGISTERS))
        if loads:
            self._role(LoaderOp(own))
        self._role(ConsumersOp(parts, registers))
        for share in range(1, len(found.shares)):
            self._role(ConsumersOp(1, registers, follow=True), share)
        for op in self.plain.body.block.ops:
            if self.plain.instead is not None and isinstance(op, tile.CoversOp):
                self._clone(op)  # no plain kernel stands beside, which says it
        self._say()

    def _section(self) -> SSAValue | None:
        """How many heads, say, go together, whose rows see more keys the later they are, or fewer; None of others.

        All of a section begin their longest rows before others: the last tiles of a call are short ones then. Keys and
        values of a section have to stay in the cache. On an H200 causal heads with 1024 keys took 0.93 to 0.94 of the
        time, with 4096 keys 0.98 to 1.01, and 1.05 where those of a section were twice as many. Sections of four times
        as many keys and values, 64 heads at most, took 0.89 to 1.00 in turns that follow one another without a pause,
        but 1.02 to 1.06 of 128 heads with 2048 to 8192 keys in `attndsl bench prefill`, where there are pauses.
        """
        found, covers = self.found, next(op for op in self.plain.body.block.ops if isinstance(op, tile.CoversOp))
        rows, rounded = found.rows, found.scoring[0].dot.rounded
        if rows.bound is not None or self.programs[-1] is not rows or found.shares:
            return None
        if rows.descending is None and not first_are_longest(found):
            return None
        if len(self.programs) == 1 or covers.keys not in self.copies or rounded is None:
            return None
        read = self._number(sum(size_of_axis(each.box.features) * BYTES[rounded.data] for each in found.products))
        outer = found.folded.outer
        if outer is not None:  # each of its values has as many keys
            read = self._value(arith.MuliOp(self.copies[outer.extent], read))
        fitting = self._few(self._value(arith.MuliOp(self.copies[covers.keys], read)), SECTION_BYTES)
        reached = self._value(arith.AddiOp(self.copies[rows.extent], self._number(found.tile_rows - 1)))
        tiles = self._value(arith.FloorDivSIOp(reached, self._number(found.tile_rows)))
        beside = self._value(arith.MaxSIOp(fitting, self._few(tiles, AT_ONCE)))
        section = self._value(arith.MinSIOp(beside, self._few(tiles, SECTION_TILES)), "section")
        self.non_negative += [reached, tiles, beside, section]
        return section

    def _few(self, size: SSAValue, room: int) -> SSAValue:
        """How many of a size there is room for, of one at least."""
        one = self._number(1)
        some = self._value(arith.MaxSIOp(size, one))
        fitting = self._value(arith.FloorDivSIOp(self._number(room), some))
        least = self._value(arith.MaxSIOp(fitting, one))
        self.non_negative += [some, fitting, least]
        return least

    def _outboxes(self) -> None:
        """Where results wait to be copied: in memory of their own, or over queries, which no turn reads any more.

        On an H200 heads of 256, beside which there is no room for outboxes, took 0.92 of the time so.
        """
        found, free = self.found, list(self.queries)
        self.outboxes = {}
        for op in (op for op in self.after if isinstance(op, tile.StoreOp)):
            put = put_of(op, found.row_axis.result, self.axes)
            if put is None:
                continue
            box, end = put
            size, over = [found.part_rows, size_of_axis(box.features)], not (found.outboxes or found.shares)
            over = over and end is None and not found.adding  # then others read queries, too
            ring = next((each for each in free if over and [*each.box.values()] == size), None)
            if ring is not None:
                free.remove(ring)
            if ring is not None or found.outboxes:
                self.outboxes[op] = put, self._outbox(box, found.part_rows, found.row_parts, ring)

    def _board_turn(self, walked: SSAValue) -> tuple[SSAValue, SSAValue]:
        """The stage and the phase of the board that a tile has before which so many were walked."""
        return self._use(walked, BOARD_STAGES, "number")

    def _placed(self, shared: list[Operation]) -> set[Operation]:
        """The operations that rest on which program it is, and are computed for each tile."""
        found: set[Operation] = set()
        for op in shared:
            owners = [value.owner for value in op.operands]
            if not isinstance(op, tile.ProgramOp) and any(
                isinstance(owner, tile.ProgramOp) or owner in found for owner in owners
            ):
                found.add(op)
        return found

    def _role(self, role: ProducerOp | LoaderOp | ConsumersOp, share: int = 0) -> None:
        """A role, which walks the tiles that its program takes; consumers have a share of the sums."""
        self.share = share
        outer, kept = self.block, dict(self.copies)
        self._add(role)
        self.block = role.body.block
        zero, one = self._number(0), self._number(1)
        takes = isinstance(role, ProducerOp)
        carried, starts = ["walked", "used"], [zero, zero]
        if takes and self.found.rows.bound is not None:
            carried, starts = [*carried, *SOUGHT], [*starts, zero, zero]
        if self.again is not None and isinstance(role, ConsumersOp):
            self._again(role.body.block.args[0])
        walk = WalkOp(starts)
        self._add(walk)
        for arguments in (walk.take.block.args, walk.body.block.args[1:]):
            for argument, name in zip(arguments, carried, strict=True):
                argument.name_hint = name
        self._take(walk, takes)
        self.block = walk.body.block
        self.number, self.walked, self.used, *more = self.block.args
        self.number.name_hint = "number"
        if not takes:
            stage, _ = self._board_turn(self.walked)
            self._add(ReleaseOp(self.board.sym_name.data, stage))
        self._tile(self.number)
        self._visits()
        if isinstance(role, ProducerOp):
            self._producer()
        elif isinstance(role, LoaderOp):
            self._load()
        elif role.follow is not None:
            self._follow(role.body.block.args[0])
        else:
            self._consumers(role.body.block.args[0])
        self.place = self.found.folded.location
        walked = self._value(arith.AddiOp(self.walked, one))
        used = self._value(arith.AddiOp(self.used, self.visits))
        self._add(NextOp([walked, used, *more]))
        self.non_negative += [self.walked, self.used, walked, used, *more]
        self.copies, self.block = kept, outer

    def _tile(self, number: SSAValue) -> None:
        """What rests on which tile it is, of all that rows and keys share."""
        values = ProgramsOp(number, [self.copies[op.result] for op in self.programs])
        self._add(values)
        for op, value in zip(self.programs, values.values, strict=True):
            self._stands(op.result, value)
            self._narrow(value, op.result)
        for op in self.plain.body.block.ops:
            if op in self.placed:
                self.place = op.location
                self._clone(op)
                whole = self.found.whole(self.found.loops[0])
                if whole is not None and whole.owner is op:
                    self.copies[whole] = self._full_of(self.copies[whole])
        self.place = self.found.folded.location

    def _narrow(self, value: SSAValue, plain: SSAValue) -> None:
        """Computes a value in the index width, if launches bound the one of the plain kernel that is no less.

        It is needed in each turn, and turns of several scores have no register left: on an H200 gradients of heads of
        64 by one kernel took 0.88 of the time.
        """
        bound = self.widths.bound(plain)
        if self.kernel.bounds is not None and bound is not None:
            self.kernel.bounds = bounds_attribute(bounds_of(self.kernel.bounds) | bound)
            self.short.append(value)

    def _take(self, walk: WalkOp, takes: bool) -> None:
        """Which tile is next: the role that copies takes its number and posts it, others read it."""
        self.block, name = walk.take.block, self.board.sym_name.data
        walked, used = self.block.args[:2]
        more: Sequence[SSAValue] = self.block.args[2:]
        stage, phase = self._board_turn(walked)
        if takes:
            number = self._value(TakeOp(self.counter, walked), "rank" if more else "number")
            if self.section is not None:
                programs = [self.copies[op.result] for op in self.programs]
                number = self._value(SectionOp(number, programs, self.section), "number")
            if more:
                number, *more = self._seek(number, *more)
            free = self._value(arith.SubiOp(self._number(1), phase))
            self._add(WaitOp("empty", name, stage, free))
            self._add(PostOp(name, stage, number))
        else:
            self._add(WaitOp("full", name, stage, phase))
            number = self._value(NumberOp(name, stage), "number")
        self._add(GoOp(number, [walked, used, *more]))

    def _seek(self, rank: SSAValue, place: SSAValue, ahead: SSAValue) -> Sequence[SSAValue]:
        """The number of the tile of a rank, and where it was found: data say how many tiles of rows there are."""
        end, outer, copies = self.found.rows.extent, self.block, dict(self.copies)
        needed = [op for op in self.plain.body.block.ops if op in self.placed and self._leads_to(op, end)]
        by = [n for n, op in enumerate(self.programs) if any(op.result in each.operands for each in needed)]
        self.place = self.found.rows.location
        variables = [self.copies[op.result] for op in self.programs]
        seek = SeekOp(rank, place, ahead, variables, max(by, default=-1) + 1, ABREAST)
        self._add(seek)
        for value, name in zip(seek.results, ("number", *SOUGHT), strict=True):
            value.name_hint = name
        self.block = seek.ends.block
        for op, argument in zip(self.programs, self.block.args, strict=False):
            self._stands(op.result, argument)
        for op in needed:
            self.place = op.location
            self._clone(op)
        self._add(EndsOp(self.copies[end]))
        self.block, self.copies, self.place = outer, copies, self.found.folded.location
        self.non_negative += [*seek.results, place, ahead]
        return seek.results

    def _around(self) -> tuple[list[Operation], list[Operation]]:
        """The operations before and after the loops."""
        ops = [op for op in self.plain.body.block.ops if not isinstance(op, tile.STATEMENTS)]
        loops = [n for n, op in enumerate(ops) if op in self.found.loops]
        between = [op for op in ops[loops[0] : loops[-1]] if op not in self.found.loops]
        return [*ops[: loops[0]], *between], after_loops(self.found)

    def _is_shared(self, op: Operation) -> bool:
        """Whether an operation computes what is the same for all rows and keys of a program."""
        return not any(self.axes(result) for result in op.results)

    def _shared(self, op: Operation) -> None:
        sizes = {self.found.rows.step: self.found.tile_rows, self.found.folded.step: self.found.tile_keys}
        if isinstance(op, spec.ChoiceOp) and op.result in sizes:
            self.copies[op.result] = self._number(sizes[op.result])
            return
        if isinstance(op, tile.ProgramOp) and op.bound is not None:
            extent, step = self.copies[op.bound], self.copies[op.step]
            most = tile.ProgramOp(op.variable.data, extent, None, step, descending=op.descending is not None)
            most.location = op.location
            self.block.add_op(most)
            self._stands(op.result, most.result)
            return
        self._clone(op)

    def _rows(self, part: SSAValue, needed: set[Operation] | None = None) -> None:
        """What stands before the loops and differs from row to row, or what of that is needed."""
        if needed is None:
            part.name_hint = "part"
        first = self.copies[self.found.rows.result]
        if needed is None or self.found.row_axis in needed:
            own = self._value(ShareOp(self.found.part_rows, first, part), "first")
            self.part, self.own = part, own
            self.non_negative.append(own)
            self._narrow(own, self.found.row_axis.result)
        for op in self.rowwise:
            self.place = op.location
            if self._is_copied(op) or (needed is not None and op not in needed):
                continue
            if op is self.found.row_axis:
                self._row_axis(self.found.row_axis, own)
            else:
                self._clone(op)
        if needed is None:
            starts = self.found.loops[0].iter_args[: len(self.found.folded.iter_args)]
            self.started = [self.copies[value] for value in starts]

    def _consumers(self, part: SSAValue) -> None:
        self._rows(part)
        zero = self._number(0)
        keys = self._number(self.found.tile_keys)
        self.places = self._value(tile.RangeOp("place", zero, keys, keys), "place")
        asked = self._asked(part)
        covered = any(outbox.within is not None for _, outbox in self.outboxes.values())
        if not self.found.rotates:
            self._see_all()
            state = self._fold_turns()
            if self.found.adding:
                self._release_all()
            elif asked is not None and not covered:
                self._release_asked(asked)
            self._finish(state)
            if asked is not None and covered:
                self._release_asked(asked)
            return
        state, weights = self._first_turn()
        if self.mixed is None or self.found.shares or asks_each_tile(self.found):
            state, weights = self._loop(state, weights)
        else:
            if not self.found.mixes_once:
                state, weights = self._loop(state, weights, full=False)
            state, weights = self._loop(state, weights, full=True)
        if asked is not None and not covered:
            self._release([asked])
        last = self._value(arith.SubiOp(self.visits, self._number(1)), "last")
        sums, views = self._weigh(last, weights, state, is_last=True)
        self._await(sums, state)
        self._release(views)
        self._hand_on(state)
        self._finish(state)
        if asked is not None and covered:
            self._release([asked])

    def _first_turn(self) -> tuple[Carried, SSAValue]:
        """Scores and their folding of the first tile, before which there are no sums: what has a factor is 0."""
        zero = self._number(0)
        pending, views = self._score(zero)
        scores = self._value(AwaitOp(pending, 0), "scores")
        self._release(views)
        state, weights = self._fold(zero, scores, self.started)
        self._clear_own(zero)
        self._hand(zero, weights)
        return state, self._weights(weights)

    def _loop(self, state: Carried, weights: SSAValue, full: bool | None = None) -> tuple[Carried, SSAValue]:
        """A loop over all tiles but the first, or over mixed ones of these, or over `full` ones behind them."""
        first = self.masked if full and not self.found.mixes_once else None
        end = self.masked if full is False else None
        turn, done = self._turns([*self._owned(state), weights], first, end)
        *carried, weights = list[SSAValue](self.block.args[1:])
        state = self._whole(carried)
        if self.found.shares:
            state, weights = self._turn_of_shares(turn, weights, state)
        else:
            state, weights = self._turn_of_rows(turn, weights, state, full)
        self._scale(state)
        *carried, weights = done([*self._owned(state), self._weights(weights)])
        return self._whole(carried), weights

    def _turn_of_rows(
        self, turn: SSAValue, weights: SSAValue, state: Carried, full: bool | None
    ) -> tuple[Carried, SSAValue]:
        """The sums of the turn before run on under the arithmetic of this one."""
        self._await_other(turn)
        pending, keys = self._score(turn, full)
        before = self._value(arith.SubiOp(turn, self._number(1)), "before")
        sums, values = self._weigh(before, weights, state)
        if self.order is not None:
            self._pass_on(self.order)
        scores = self._value(AwaitOp(pending, len(sums)), "scores")
        self._release(keys)
        state, weights = self._fold(turn, scores, state, full)
        if not full:
            self._clear_own(turn, full)
        self._await(sums, state)
        self._release(values)
        return state, weights

    def _pass_on(self, order: OrderOp) -> None:
        """Lets the next consumer begin its products, the first one after the last."""
        behind, consumers = self._value(arith.AddiOp(self.part, self._number(1))), self._number(order.stages.value.data)
        following = self._value(spec.ModOp(behind, consumers), "following")
        self.non_negative += [behind, following]
        self._add(PassOp(order.sym_name.data, following))

    def _await_other(self, turn: SSAValue) -> None:
        """Waits for another consumer's products: each goes behind the one before it, the first behind the last's turn.

        Of all turns but the first of each tile, so many there were before this one; the first is a turn ahead.
        """
        if self.order is None:
            return
        self.place = self.found.scoring[0].dot.location
        before = self._value(arith.SubiOp(self.used, self.walked))
        turns = self._value(arith.AddiOp(before, turn))
        behind = self._value(arith.MinSIOp(self.part, self._number(1)))
        own = self._value(arith.SubiOp(turns, behind), "ordered")
        self.non_negative += [before, turns, behind, own]
        _, phase = self._use(own, 1, "order")
        self._add(WaitOp("full", self.order.sym_name.data, self.part, phase))

    def _turn_of_shares(self, turn: SSAValue, weights: SSAValue, state: Carried) -> tuple[Carried, SSAValue]:
        """The sums of others run under the arithmetic of a turn; its own come first: the next tile can be copied then.

        On an H200 latent attention took 1.05 times as long where they were awaited before the last product of scores.
        """
        before = self._value(arith.SubiOp(turn, self._number(1)), "before")
        sums, values = self._weigh(before, weights, state)
        pending, keys = self._score(turn)
        self._await(sums, state, len(self.found.scoring))
        self._release(values)
        scores = self._value(AwaitOp(pending, 0), "scores")
        self._release(keys)
        state, weights = self._fold(turn, scores, state)
        self._hand(turn, weights)
        return state, weights

    def _is_copied(self, op: Operation) -> bool:
        """Whether an operation reads queries that only products take, which another role copies."""
        return any(op is box.load for box in self.found.queries) and all(
            isinstance(user, tile.DotOp) and user.parent_op() in self.found.loops for user in tile.users(op.results[0])
        )

    def _asked(self, part: SSAValue) -> ViewOp | None:
        """Puts queries where products take them from: registers, or a stage of their ring, or memory that threads fill.

        Those in registers leave their stage late, too: a next tile's are needed when all turns of this one are done.
        """
        boxes = self.found.queries
        if not boxes:
            self.asked = [self._factor(product, self.copies[product.left]) for product in self.found.scoring]
            return None
        self.place = boxes[0].load.location
        rows = self.copies[self.found.row_axis.result]
        self._add(WaitOp("full", self.queries[0].sym_name.data, part, self._query_phase()))
        views = self._views(self.queries, boxes, part, rows)
        self.asked = [view.result for view in views]
        if self.held:
            pairs = zip(self.found.scoring, views, strict=True)
            self.asked = [self._factor(product, view.result) for product, view in pairs]
        return views[0]

    def _release_asked(self, asked: ViewOp) -> None:
        """Releases queries of turns of which there may be none: what these read into registers has arrived by then."""
        self._add(ReleaseOp(asked.ring.string_value(), asked.stage, fenced=self.held))

    def _factor(self, product: Multiplied, queries: SSAValue) -> SSAValue:
        """The queries that a product of scores takes, in registers, or in memory that threads fill."""
        rounded, left = product.dot.rounded, product.left
        assert rounded is not None
        self.place = left.owner.location if isinstance(left.owner, Operation) else self.place
        return self._value(OperandOp(queries, rounded.data, shared=not self.held), left.name_hint)

    def _row_axis(self, axis: tile.RangeOp, first: SSAValue) -> None:
        rows = self._number(self.found.part_rows)
        end = self._value(arith.AddiOp(first, rows), f"{axis.variable.data}_end")
        self._stands(axis.result, self._value(tile.RangeOp(axis.variable.data, first, end, rows)))

    def _score(self, turn: SSAValue, full: bool | None = None) -> tuple[SSAValue, list[ViewOp]]:
        """Begins the products of queries with a tile of keys, whose axis stands for that of keys from then on.

        Gives what is under way, and the views whose stages nothing reads after it.
        """
        self.place = self.found.scoring[0].dot.location
        key = self._axis(turn, full)
        stage, phase = self._turn(turn, self.filled[0].rings[0])
        pending: SSAValue | None = None
        done: list[ViewOp] = []
        for filled in (each for each in self.filled if each.scored):
            self._add(WaitOp("full", filled.rings[0].sym_name.data, stage, phase))
            views = self._views(filled.rings, filled.tiles, stage, key)
            for view, box in zip(views, filled.tiles, strict=True):
                for queries, product in zip(self.asked, self.found.scoring, strict=True):
                    if product.box.value is box.value:
                        over = self.copies[product.dot.over]
                        # With shares a turn has more products than registers for where each finds queries.
                        op = ProductOp(queries, view.result, over, pending, anew=bool(self.found.shares))
                        pending = self._value(op, "scoring")
            if filled.summed != self.share:
                done.append(views[0])
        assert pending is not None
        return pending, done

    def _axis(self, turn: SSAValue, full: bool | None = None) -> SSAValue:
        """The axis of keys of a turn, which stands for that of keys from then on."""
        axis = self.found.folded.axis
        assert axis is not None
        first = self._begin(turn, full)
        keys = self._number(self.found.tile_keys)
        end = self._value(arith.AddiOp(first, keys), f"{axis.variable.data}_end")
        self._stands(axis.start, first)
        self._stands(axis.result, self._value(tile.RangeOp(axis.variable.data, first, end, keys)))
        return self.copies[axis.result]

    def _fold(
        self, turn: SSAValue, scores: SSAValue, carried: Sequence[SSAValue], full: bool | None = None
    ) -> tuple[Carried, SSAValue]:
        """From scores to what is carried, and weights; sums are left as they are."""
        found, loop = self.found, self.found.folded
        assert loop.axis is not None
        self.copies[found.scores[0]] = scores
        self.copies.update(zip(loop.body.block.args[1:], carried, strict=True))
        views = self._views_beside(turn, self.copies[loop.axis.result])
        for op in self._folded():
            self._fold_one(op, turn, full, views)
        self._release_beside(views)
        ended = [self.copies[v] if n in found.kept else carried[n] for n, v in enumerate(loop.end.values)]
        return ended, self.copies[found.summing[0].left]

    def _folded(self) -> list[Operation]:
        """The operations of a turn between its products, but for what only some tiles, or some roles, need."""
        found, loop = self.found, self.found.folded
        outer: set[Operation] = {*found.joined, *found.tested, *found.placed}
        given = [each.value for each in found.beside]
        for value in (*given, *(each.box.value for each in found.products)):
            outer |= {value.owner} if isinstance(value.owner, Operation) else set()
        outer |= {each.dot for each in found.products}
        outer |= {op for each in found.adding for op in (each.dot, each.store)}
        for each in found.summing:
            outer |= {each.added, *(v.owner for v in each.added.operands if isinstance(v.owner, Operation))}
        outer |= {op for op in (loop.axis, loop.outer, loop.end) if op is not None}
        ops = [op for op in loop.body.block.ops if op not in outer and not isinstance(op, tile.STATEMENTS)]
        before = self._before_axis(ops)
        return [op for op in ops if op not in before]

    def _fold_one(self, op: Operation, turn: SSAValue, full: bool | None, views: Mapping[SSAValue, ViewOp]) -> None:
        """One of these; what it takes of `views` is read where it is needed, not to lie in registers before."""
        for value in op.operands:
            if value in views and value not in self.copies:
                self.copies[value] = self._value(views[value], value.name_hint)
        if isinstance(op, arith.SelectOp) and not self.found.asked(op.cond):
            self.copies[op.result] = self.copies[op.lhs]
        elif isinstance(op, arith.SelectOp) and full and any(op is each.chosen for each in self.found.adding):
            self.copies[op.result] = self.copies[op.lhs]  # full tiles are those of whole tiles of rows
        elif op in self.found.masks:
            assert isinstance(op, arith.SelectOp)
            self._mask(op, turn, full)
        elif isinstance(op, arith.SelectOp):
            self._ask(op)
        else:
            self._clone(op)

    def _before_axis(self, ops: Sequence[Operation]) -> set[Operation]:
        """Those operations of a turn that say where its tile begins, and ends, and nothing that the others take."""
        loop = self.found.folded
        assert loop.axis is not None
        found: set[Operation] = set()
        for op in loop.body.block.ops:
            made = [v for v in op.operands if v is loop.body.block.args[0] or v.owner in found or v is loop.axis.start]
            if made and op.results and not any(self.axes(result) for result in op.results):
                found.add(op)
        waiting = [op for op in ops if op not in found]
        while waiting:
            made_of = {v.owner for v in waiting.pop().operands if v is not loop.axis.start}
            taken = [op for op in found if op in made_of]
            found -= {*taken}
            waiting += taken
        return found

    def _mask(self, op: arith.SelectOp, turn: SSAValue, full: bool | None) -> None:
        """A mask, of tiles that are not full."""
        if full is not None:
            if full:
                self.copies[op.result] = self.copies[op.lhs]
            else:
                self._test(op)
            return
        self.place = op.location
        is_full = self._is_full(turn)
        kept, masked = Block(), Block()
        outer, copies = self.block, dict(self.copies)
        kept.add_op(scf.YieldOp(self.copies[op.lhs]))
        self.block = masked
        self._test(op)
        masked.add_op(scf.YieldOp(self.copies[op.result]))
        self.block, self.copies = outer, copies
        choice = scf.IfOp(is_full, [op.result.type], Region(kept), Region(masked))
        self._add(choice)
        choice.results[0].name_hint = op.result.name_hint
        self.copies[op.result] = choice.results[0]

    def _test(self, op: arith.SelectOp) -> None:
        """A mask, and what it compares."""
        waiting = self.found.asked(op.cond)
        needed: set[Operation] = set()
        while waiting:
            owner = waiting.pop().owner
            if isinstance(owner, Operation) and owner in self.found.tested and owner not in needed:
                needed.add(owner)
                waiting += owner.operands
        for each in self.found.folded.body.block.ops:
            if each in needed and each.results[0] not in self.copies:
                self._clone(each)
        self._ask(op)

    def _ask(self, op: arith.SelectOp) -> None:
        """A select that leaves out what is known of keys that are there."""
        condition, *others = (self.copies[each] for each in self.found.asked(op.cond))
        for other in others:
            condition = self._value(arith.AndIOp(condition, other))
        self._stands(op.result, self._value(arith.SelectOp(condition, self.copies[op.lhs], self.copies[op.rhs])))

    def _weights(self, weights: SSAValue) -> SSAValue:
        rounded, axis = self.found.summing[0].dot.rounded, self.found.folded.axis
        assert rounded is not None and axis is not None
        return self._value(OperandOp(weights, rounded.data, self.copies[axis.result], self.places), weights.name_hint)
