"""What a role is held to: that it reads a stage only while that is full, and releases it when nothing reads it.

A stage that is released may be filled at once. A product reads it until it is awaited. What reads it into registers is
worse: an instruction that loads has not loaded yet when the next one begins, and a release waits for no load. So such a
stage is released only after something that is known to be complete has needed what was read: a product that was
awaited, or a store; or behind a fence, which waits for what the role has read. No tolerance finds where that is
missing: a few numbers are those of the next tile. The number of a tile is needed by the test whether there is one: a
stage of a board is released behind that.
"""

from __future__ import annotations

from attndsl.ir import gathers, roles, tile, walks
from attndsl.ir.rings import BoardOp, ExchangeOp, barred, completes, filled_with, relays_with
from attndsl.ir.statements import operations
from attndsl.ir.xdsl import Block, Operation, SSAValue, VerifyException, scf

Stage = tuple[str, SSAValue]

OF_PRODUCERS = (
    roles.ExpectOp,
    roles.CopyOp,
    gathers.GatherOp,
    walks.TakeOp,
    walks.SeekOp,
    walks.SectionOp,
    walks.PostOp,
)
OF_CONSUMERS = (
    roles.OperandOp,
    roles.AlongOp,
    roles.ProductOp,
    roles.AwaitOp,
    roles.PutOp,
    roles.ClearOp,
    roles.PassOp,
)
OF_BOTH = (roles.ViewOp, roles.ReleaseOp, walks.NumberOp)
"""What consumers do, and the role that loads. Any role hands on what others take."""

OF_OTHERS: dict[type[roles.RoleOp], tuple[type[Operation], ...]] = {
    roles.ProducerOp: (*OF_CONSUMERS, *OF_BOTH),
    roles.LoaderOp: (*OF_PRODUCERS, *OF_CONSUMERS),
    roles.ConsumersOp: OF_PRODUCERS,
}
"""What each role leaves to others."""

STORED = (tile.StoreOp, roles.PutOp)
"""What has needed what it stores."""


def verify_role(role: roles.RoleOp) -> None:
    """Raises VerifyException where a role does what is another's, or reads a stage that is not, or no more, its own."""
    kernel = role.parent_op()
    if not isinstance(kernel, tile.KernelOp) or not kernel.with_roles:
        raise VerifyException('stands in a kernel of form "roles" or "wide"')
    for op in operations(role):
        if isinstance(op, OF_OTHERS[type(role)]):
            raise VerifyException(f"{op.name} is what another role does")
        among = op.relay.among if isinstance(op, roles.HandOp) and isinstance(op.relay, ExchangeOp) else None
        if among is not None and isinstance(role, roles.ConsumersOp) and among != role.count:
            raise VerifyException("what consumers exchange is exchanged among all of them")
        if isinstance(op, roles.PassOp) and isinstance(role, roles.ConsumersOp) and op.order.stages != role.count:
            raise VerifyException("consumers pass on in an order of all of them")
    for block in {op.parent for op in operations(role)}:
        if block is not None:
            _Walk().block(block)
    _verify_known(role.body.block, set())
    _verify_covers(role)


def _verify_known(block: Block, known: set[SSAValue]) -> None:
    """Raises VerifyException where an operation takes what is computed later, or in a block beside its own."""
    known = known | set(block.args)
    for op in block.ops:
        for value in op.operands:
            owner = value.owner
            role = owner if isinstance(owner, Operation) else owner.parent_op()
            while role is not None and not isinstance(role, roles.RoleOp):
                role = role.parent_op()
            if role is not None and value not in known:
                raise VerifyException(f"{op.name} takes what is not known where it stands")
        for region in op.regions:
            for inner in region.blocks:
                _verify_known(inner, known)
        known.update(op.results)


def _verify_covers(role: roles.RoleOp) -> None:
    """Raises VerifyException where something is put over a tile that is not full, or that is still read."""
    order = {op: n for n, op in enumerate(operations(role))}
    for put in (op for op in order if isinstance(op, roles.PutOp)):
        ring = put.outbox.ring
        if ring is None:
            continue
        name = filled_with(ring)
        waits = [n for op, n in order.items() if isinstance(op, roles.WaitOp) and _is_of(op, put, name)]
        ends = [n for op, n in order.items() if isinstance(op, roles.ReleaseOp) and _is_of(op, put, name)]
        if not waits or min(waits) > order[put] or not ends or min(ends) < order[put]:
            raise VerifyException(f"roles.put has a stage of @{name} to itself: it is full, and not yet released")
        views = [op for op in order if isinstance(op, roles.ViewOp) and _is_of(op, put, ring.sym_name.data)]
        reads = [op for view in views for op in (view, *(use.operation for use in view.result.uses))]
        if any(order[op] > order[put] for op in reads):
            raise VerifyException(f"roles.put has a stage of @{name} that nothing reads behind it")


def _is_of(op: roles.StageOp, put: roles.PutOp, name: str) -> bool:
    """Whether an operation means the stage of that memory into which something is put."""
    return op.ring.string_value() == name and op.stage is put.stage


class _Walk:
    """One walk through a block: what is waited for, and what is under way."""

    def __init__(self) -> None:
        self.waited: set[tuple[str, Stage]] = set()
        self.announced: dict[Stage, list[str]] = {}
        self.views: dict[Stage, list[roles.ViewOp]] = {}
        self.under_way: list[roles.ProductOp] = []
        self.complete: set[Operation] = set()
        self.chosen: set[Operation] = set()
        self.handed: dict[Stage, set[str]] = {}
        self.relayed: set[Stage] = set()
        self.completed: set[Stage] = set()

    def block(self, block: Block) -> None:
        """Raises VerifyException."""
        for op in block.ops:
            match op:
                case roles.WaitOp():
                    self.waited.add((op.barrier.data, _stage(op)))
                case roles.ExpectOp():
                    self._needs("empty", op)
                    self._expect(op)
                case roles.CopyOp() | gathers.GatherOp():
                    self._copy(op)
                case walks.PostOp():
                    self._needs("empty", op)
                case roles.HandOp():
                    self._hand(op)
                case walks.NumberOp():
                    self._needs("full", op)
                case roles.ClearOp():
                    self._needs("full", op)
                    if _stage(op) in self.views:
                        raise VerifyException("clears what lies in a stage before that is read")
                case roles.ViewOp():
                    self._needs("full", op)
                    self.views.setdefault(_stage(op), []).append(op)
                case roles.ProductOp():
                    self.under_way.append(op)
                case roles.AwaitOp():
                    self._await(op)
                case tile.StoreOp() | roles.PutOp():
                    self.complete.add(op)
                case scf.IfOp():
                    self.chosen.update(each for each in operations(op) if isinstance(each, STORED))
                case roles.ReleaseOp():
                    self._release(op)
                case tile.LoopOp() if self.under_way:
                    raise VerifyException("no product is under way where a loop begins")
        if self.under_way:
            raise VerifyException("a product is awaited in the turn that begins it")
        if left := [ring for rings in self.announced.values() for ring in rings]:
            raise VerifyException(f"what is announced is copied, into @{', @'.join(left)}, too")
        if left := [name for name, _ in (*self.relayed ^ self.completed, *self.handed)]:
            raise VerifyException(f"what is filled with @{left[0]} is copied and handed on, all of it")

    def _needs(self, barrier: str, op: roles.StageOp) -> None:
        if (barrier, _stage(op)) not in self.waited:
            raise VerifyException(f"{op.name} waits until its stage of @{_stage(op)[0]} is {barrier}")

    def _hand(self, op: roles.HandOp) -> None:
        """What lies beside what is handed on is handed before, each time."""
        if isinstance(op.relay, ExchangeOp):
            return
        self._needs("empty", op)
        name, stage = op.ring.string_value(), _stage(op)
        handed = self.handed.setdefault(stage, set())
        if not completes(op.relay):
            handed.add(name)
            return
        beside = {each.sym_name.data for each in relays_with(op.relay)}
        if left := sorted(beside - {name} - handed):
            raise VerifyException(f"what lies beside @{name} is handed before, @{', @'.join(left)}, too")
        del self.handed[stage]
        if not barred(op.relay):
            if stage in self.completed:
                raise VerifyException(f"what lies beside @{stage[0]} is handed on once for each time that it is filled")
            self.completed.add(stage)

    def _expect(self, op: roles.ExpectOp) -> None:
        self._needs("empty", op)
        rings = op.declaration.together
        if op.count.value.data != sum(ring.bytes for ring in rings):
            raise VerifyException(
                f"a copy into @{op.ring.string_value()} is announced before, with "
                f"{'its' if len(rings) == 1 else 'all'} {sum(ring.bytes for ring in rings)} bytes"
            )
        self.announced[_stage(op)] = [ring.sym_name.data for ring in rings]
        if relays_with(op.declaration):
            self.relayed.add(_stage(op))

    def _copy(self, op: roles.CopyOp | gathers.GatherOp) -> None:
        self._needs("empty", op)
        ring, announced = op.ring.string_value(), self.announced.get(_stage(op), [])
        if ring not in announced:
            raise VerifyException(f"a copy into @{ring} is announced before, with its bytes")
        announced.remove(ring)

    def _await(self, op: roles.AwaitOp) -> None:
        ended = len(self.under_way) - op.pending.value.data
        self.complete.update(self.under_way[: max(0, ended)])
        self.under_way = self.under_way[max(0, ended) :]
        if op.product.owner not in self.complete:
            raise VerifyException("waits until so many are under way that its product may be one of them")

    def _release(self, op: roles.ReleaseOp) -> None:
        stage = _stage(op)
        name = f"@{stage[0]}"
        if isinstance(op.holder, BoardOp):
            walk = op.parent_op()
            if not isinstance(walk, walks.WalkOp) or op.parent is walk.take.block:
                raise VerifyException(f"a stage of {name} is released behind the test that needs its number")
            return
        if stage not in self.views:
            raise VerifyException(f"a stage of {name} is released by who reads it")
        for view in self.views.pop(stage):
            for use in view.result.uses:
                user = use.operation
                if not isinstance(user, roles.ProductOp):
                    if op.fenced is None and not self._is_needed(user, op):
                        raise VerifyException(
                            f"a stage of {name} is released before anything has needed what was read from it"
                        )
                elif user not in self.complete and not _is_before(user, op):
                    raise VerifyException(f"a stage of {name} is released while a product reads it")
        self.waited.discard(("full", stage))

    def _is_needed(self, op: Operation, release: roles.ReleaseOp) -> bool:
        """Whether a product that is complete, or a store, rests on what an operation gives.

        A store that a choice may leave out does where nothing behind the release rests on it: else nothing needs it.
        """
        stack, seen = [op], set[Operation]()
        while stack:
            top = stack.pop()
            if top in self.complete:
                return True
            if top not in seen:
                seen.add(top)
                choice = top.parent_op()
                given = choice.results if isinstance(top, scf.YieldOp) and choice is not None else top.results
                stack += [use.operation for result in given for use in result.uses]
        return not seen.isdisjoint(self.chosen) and not any(_is_behind(each, release) for each in seen)


def _is_behind(op: Operation, release: roles.ReleaseOp) -> bool:
    """Whether an operation stands behind a release, in its block or in one of another's there."""
    top: Operation | None = op
    while top is not None and top.parent is not release.parent:
        top = top.parent_op()
    return top is None or (release.parent is not None and _place(top) > _place(release))


def _is_before(op: Operation, release: roles.ReleaseOp) -> bool:
    """Whether an operation stands in a loop that has ended before a release: what a turn begins is awaited in it."""
    loop: Operation | None = op.parent_op()
    while loop is not None and loop.parent is not release.parent:
        loop = loop.parent_op()
    if loop is None or loop.parent is None:
        return False
    return _place(loop) < _place(release)


def _place(op: Operation) -> int:
    """Which operation of its block it is."""
    assert op.parent is not None
    return op.parent.get_operation_index(op)


def _stage(op: roles.StageOp) -> Stage:
    holder = op.holder
    return filled_with(holder), op.stage
