"""assign-roles: warps of a program get roles: one copies keys and values, others multiply and fold.

Each of those has its own rows, or its own share of the sums where a row has too many for the registers of one.

Why: a plain kernel's warps all load, wait, multiply and make scores into weights, and the matrix unit rests meanwhile.
With roles copies run ahead in rings of shared memory, and a turn is rotated: the product of queries with the next tile
of keys, and that of weights with the values of the tile before, are under way while scores are made into weights. On an
H200 that is a quarter faster where heads are 128 wide (docs/performance.md, "With roles").

Before:

    spec.tensor @q "input" "bf16" ["M", "16"]
    spec.tensor @k "input" "bf16" ["N", "16"]
    spec.tensor @v "input" "bf16" ["N", "16"]
    spec.tensor @o "output" "f32" ["M", "16"]
    tile.kernel @sums form "whole" {
      %zero = arith.constant 0 : index
      %D = arith.constant 16 : index
      %none = arith.constant 0.0 : f32
      %M = spec.dim "M"
      %N = spec.dim "N"
      %ROWS = spec.choice "ROWS"
      %KEYS = spec.choice "KEYS"
      %i0 = tile.program "i" to %M step %ROWS
      %i_end = arith.addi %i0, %ROWS : index
      %i = tile.range "i" from %i0 to %i_end size %ROWS
      %i_in = arith.cmpi slt, %i, %M : index
      %d = tile.range "d" from %zero to %D size %D
      %e = tile.range "e" from %zero to %D size %D
      %q = tile.load @q[%i, %d] where %i_in : f32
      %z = tile.broadcast %none over (%i, %e) : f32 to f32
      %sum = tile.loop %j0 = %zero to %N step %KEYS iter_args(%acc = %z) -> (f32) {
        %j_end = arith.addi %j0, %KEYS : index
        %j = tile.range "j" from %j0 to %j_end size %KEYS
        %j_in = arith.cmpi slt, %j, %N : index
        %k = tile.load @k[%j, %d] where %j_in : f32
        %score = tile.dot %q, %k over %d rounded to "bf16" : f32
        %w = math.tanh %score : f32
        %v = tile.load @v[%j, %e] where %j_in : f32
        %part = tile.dot %w, %v over %j rounded to "bf16" : f32
        %next = arith.addf %acc, %part : f32
        tile.kept %k, %v : f32, f32
        tile.yield %next : f32
      }
      tile.store @o[%i, %e] = %sum where %i_in : f32
      tile.covers rows %i0 keys %N by %KEYS
      tile.kept %q : f32
    }

After:

    spec.tensor @q "input" "bf16" ["M", "16"]
    spec.tensor @k "input" "bf16" ["N", "16"]
    spec.tensor @v "input" "bf16" ["N", "16"]
    spec.tensor @o "output" "f32" ["M", "16"]
    spec.tensor @sums_taken "workspace" "i32" [] partial
    tile.kernel @sums form "whole" {
      %zero = arith.constant 0 : index
      %D = arith.constant 16 : index
      %none = arith.constant 0.000000e+00 : f32
      %M = spec.dim "M"
      %N = spec.dim "N"
      %ROWS = spec.choice "ROWS"
      %KEYS = spec.choice "KEYS"
      %i0 = tile.program "i" to %M step %ROWS
      %i_end = arith.addi %i0, %ROWS : index
      %i = tile.range "i" from %i0 to %i_end size %ROWS
      %i_in = arith.cmpi slt, %i, %M : index
      %d = tile.range "d" from %zero to %D size %D
      %e = tile.range "e" from %zero to %D size %D
      %q = tile.load @q[%i, %d] where %i_in : f32
      %z = tile.broadcast %none over(%i, %e) : f32 to f32
      %sum = tile.loop %j0 = %zero to %N step %KEYS iter_args(%acc = %z) -> (f32) {
        %j_end = arith.addi %j0, %KEYS : index
        %j = tile.range "j" from %j0 to %j_end size %KEYS
        %j_in = arith.cmpi slt, %j, %N : index
        %k = tile.load @k[%j, %d] where %j_in : f32
        %score = tile.dot %q, %k over %d rounded to "bf16" : f32
        %w = math.tanh %score : f32
        %v = tile.load @v[%j, %e] where %j_in : f32
        %part = tile.dot %w, %v over %j rounded to "bf16" : f32
        %next = arith.addf %acc, %part : f32
        tile.kept %k, %v : f32, f32
        tile.yield %next : f32
      }
      tile.store @o[%i, %e] = %sum where %i_in : f32
      tile.covers rows %i0 keys %N by %KEYS
      tile.kept %q : f32
    }
    tile.kernel @sums form "roles" {
      %0 = arith.constant 2 : index
      %1 = arith.constant 64 : index
      %2 = arith.constant 127 : index
      %3 = arith.constant 1 : index
      %4 = arith.constant 0 : index
      %5 = arith.constant 128 : index
      %zero = arith.constant 0 : index
      %D = arith.constant 16 : index
      %none = arith.constant 0.000000e+00 : f32
      %M = spec.dim "M"
      %N = spec.dim "N"
      %i0 = tile.program "i" to %M step %5
      roles.ring @k_ring of @k along [0 : index, 1 : index] sizes [128 : index, 16 : index] stages 2 readers 2
      roles.ring @v_ring of @v along [0 : index, 1 : index] sizes [128 : index, 16 : index] stages 2 readers 2
      roles.ring @q_ring of @q along [0 : index, 1 : index] sizes [64 : index, 16 : index] stages 2 readers 1
      roles.order @order among 2
      roles.board @numbers stages 2 readers 2
      roles.producer registers 24 {
        roles.walk(%4, %4) take {
        ^bb0(%walked: index, %used: index):
          %number_stage, %number_phase = roles.turn %walked of 2
          %number = roles.take @sums_taken after %walked
          %6 = arith.subi %3, %number_phase : index
          roles.wait "empty" @numbers[%number_stage] phase %6
          roles.post @numbers[%number_stage] %number
          roles.go %number carrying(%walked, %used)
        } do {
        ^bb0(%number_1: index, %walked_1: index, %used_1: index):
          %i0_1 = roles.programs %number_1 of(%i0) : index
          %7 = arith.maxsi %N, %4 : index
          %8 = arith.addi %7, %2 : index
          %9 = arith.floordivsi %8, %5 : index
          %visits = roles.turns %9
          %k_stage, %k_phase = roles.turn %used_1 of 2
          %10 = arith.subi %3, %k_phase : index
          roles.wait "empty" @k_ring[%k_stage] phase %10
          roles.expect @k_ring[%k_stage] bytes 4096
          roles.copy @k_ring[%k_stage] from(%zero, %zero)
          %q_stage, %q_phase = roles.turn %walked_1 of 1
          %11 = arith.subi %3, %q_phase : index
          roles.wait "empty" @q_ring[%4] phase %11
          roles.expect @q_ring[%4] bytes 2048
          roles.copy @q_ring[%4] from(%i0_1, %zero)
          %12 = arith.addi %i0_1, %1 : index
          %13 = arith.subi %3, %q_phase : index
          roles.wait "empty" @q_ring[%3] phase %13
          roles.expect @q_ring[%3] bytes 2048
          roles.copy @q_ring[%3] from(%12, %zero)
          tile.loop %turn = %3 to %visits step %3 {
            %j0 = arith.muli %turn, %5 : index
            %14 = arith.addi %used_1, %turn : index
            %k_stage_1, %k_phase_1 = roles.turn %14 of 2
            %15 = arith.subi %3, %k_phase_1 : index
            roles.wait "empty" @k_ring[%k_stage_1] phase %15
            roles.expect @k_ring[%k_stage_1] bytes 4096
            roles.copy @k_ring[%k_stage_1] from(%j0, %zero)
            %before = arith.subi %turn, %3 : index
            %j0_1 = arith.muli %before, %5 : index
            %16 = arith.addi %used_1, %before : index
            %v_stage, %v_phase = roles.turn %16 of 2
            %17 = arith.subi %3, %v_phase : index
            roles.wait "empty" @v_ring[%v_stage] phase %17
            roles.expect @v_ring[%v_stage] bytes 4096
            roles.copy @v_ring[%v_stage] from(%j0_1, %zero)
            tile.yield
          }
          %last = arith.subi %visits, %3 : index
          %j0_2 = arith.muli %last, %5 : index
          %18 = arith.addi %used_1, %last : index
          %v_stage_1, %v_phase_1 = roles.turn %18 of 2
          %19 = arith.subi %3, %v_phase_1 : index
          roles.wait "empty" @v_ring[%v_stage_1] phase %19
          roles.expect @v_ring[%v_stage_1] bytes 4096
          roles.copy @v_ring[%v_stage_1] from(%j0_2, %zero)
          %20 = arith.addi %walked_1, %3 : index
          %21 = arith.addi %used_1, %visits : index
          tile.unsigned %8, %9, %visits, %12, %walked_1, %used_1, %20, %21 : index, index, index, index, index, index,
            index, index
          roles.next %20, %21
        }
      }
      roles.consumers 2 registers 240 {
      ^bb0(%part: index):
        roles.walk(%4, %4) take {
        ^bb0(%walked_2: index, %used_2: index):
          %number_stage_1, %number_phase_1 = roles.turn %walked_2 of 2
          roles.wait "full" @numbers[%number_stage_1] phase %number_phase_1
          %number_2 = roles.number @numbers[%number_stage_1]
          roles.go %number_2 carrying(%walked_2, %used_2)
        } do {
        ^bb0(%number_3: index, %walked_3: index, %used_3: index):
          %number_stage_2, %number_phase_2 = roles.turn %walked_3 of 2
          roles.release @numbers[%number_stage_2]
          %i0_2 = roles.programs %number_3 of(%i0) : index
          %22 = arith.maxsi %N, %4 : index
          %23 = arith.addi %22, %2 : index
          %24 = arith.floordivsi %23, %5 : index
          %visits_1 = roles.turns %24
          %first = roles.share 64 rows from %i0_2 part %part
          %i_end = arith.addi %first, %1 : index
          %i = tile.range "i" from %first to %i_end size %1
          %i_in = arith.cmpi slt, %i, %M : index
          %d = tile.range "d" from %zero to %D size %D
          %e = tile.range "e" from %zero to %D size %D
          %z = tile.broadcast %none over(%i, %e) : f32 to f32
          %place = tile.range "place" from %4 to %5 size %5
          %q_stage_1, %q_phase_1 = roles.turn %walked_3 of 1
          roles.wait "full" @q_ring[%part] phase %q_phase_1
          %q = roles.view @q_ring[%part] over(%i, %d) : f32
          %q_1 = roles.operand %q as "bf16" : f32
          %j_end = arith.addi %zero, %5 : index
          %j = tile.range "j" from %zero to %j_end size %5
          %k_stage_2, %k_phase_2 = roles.turn %used_3 of 2
          roles.wait "full" @k_ring[%k_stage_2] phase %k_phase_2
          %k = roles.view @k_ring[%k_stage_2] over(%j, %d) : f32
          %scoring = roles.product %q_1, %k over %d : f32
          %scores = roles.await %scoring pending 0 : f32
          roles.release @k_ring[%k_stage_2]
          %w = math.tanh %scores : f32
          %w_1 = roles.operand %w as "bf16" from %j to %place : f32
          %z_1, %w_2 = tile.loop %turn_1 = %3 to %visits_1 step %3 iter_args(%z_2 = %z, %w_3 = %w_1) -> (f32, f32) {
            %25 = arith.subi %used_3, %walked_3 : index
            %26 = arith.addi %25, %turn_1 : index
            %27 = arith.minsi %part, %3 : index
            %ordered = arith.subi %26, %27 : index
            %order_stage, %order_phase = roles.turn %ordered of 1
            roles.wait "full" @order[%part] phase %order_phase
            %j0_3 = arith.muli %turn_1, %5 : index
            %j_end_1 = arith.addi %j0_3, %5 : index
            %j_1 = tile.range "j" from %j0_3 to %j_end_1 size %5
            %28 = arith.addi %used_3, %turn_1 : index
            %k_stage_3, %k_phase_3 = roles.turn %28 of 2
            roles.wait "full" @k_ring[%k_stage_3] phase %k_phase_3
            %k_1 = roles.view @k_ring[%k_stage_3] over(%j_1, %d) : f32
            %scoring_1 = roles.product %q_1, %k_1 over %d : f32
            %before_1 = arith.subi %turn_1, %3 : index
            %29 = arith.addi %used_3, %before_1 : index
            %v_stage_2, %v_phase_2 = roles.turn %29 of 2
            roles.wait "full" @v_ring[%v_stage_2] phase %v_phase_2
            %v = roles.view @v_ring[%v_stage_2] over(%place, %e) : f32
            %weighing = roles.product %w_3, %v over %place onto %z_2 : f32
            %30 = arith.addi %part, %3 : index
            %following = spec.mod %30, %0
            roles.pass @order[%following]
            %scores_1 = roles.await %scoring_1 pending 1 : f32
            roles.release @k_ring[%k_stage_3]
            %w_4 = math.tanh %scores_1 : f32
            %sums = roles.await %weighing pending 0 : f32
            roles.release @v_ring[%v_stage_2]
            %w_5 = roles.operand %w_4 as "bf16" from %j_1 to %place : f32
            tile.unsigned %25, %26, %27, %ordered, %30, %following : index, index, index, index, index, index
            tile.yield %sums, %w_5 : f32, f32
          }
          roles.release @q_ring[%part]
          %last_1 = arith.subi %visits_1, %3 : index
          %31 = arith.addi %used_3, %last_1 : index
          %v_stage_3, %v_phase_3 = roles.turn %31 of 2
          roles.wait "full" @v_ring[%v_stage_3] phase %v_phase_3
          %v_1 = roles.view @v_ring[%v_stage_3] over(%place, %e) : f32
          %weighing_1 = roles.product %w_2, %v_1 over %place onto %z_1 : f32
          %sums_1 = roles.await %weighing_1 pending 0 : f32
          roles.release @v_ring[%v_stage_3]
          %some = arith.cmpi sgt, %24, %4 : index
          %sum = arith.select %some, %sums_1, %z : f32
          tile.store @o[%i, %e] = %sum where %i_in : f32
          %32 = arith.addi %walked_3, %3 : index
          %33 = arith.addi %used_3, %visits_1 : index
          tile.unsigned %23, %24, %visits_1, %first, %walked_3, %used_3, %32, %33 : index, index, index, index, index,
            index, index, index
          roles.next %32, %33
        }
      }
    }

Where features are cut into pieces, a turn has a product for each: those of scores one onto the other, and a sum for
each piece of values. A stage then has several boxes, which are announced, waited for and released at once.

All roles walk mixed tiles first, then full ones; a program that sees no key walks one tile, and forgets it. In a nest
of loops a turn is one of all values of the outer variable, whose mixed tiles come before the full ones of any; which
value that is, a division says. What masks, and what a mask reads, has a condition around it in the first turn. A
consumer has a loop for the other mixed tiles, where there may be any, and one for full tiles, which masks nothing;
where each tile of rows has its own first key, or sums are shared out, a loop over all, with that condition. Of heads
whose later rows see more keys, so many go together as caches hold (`roles.section`). Where data say how many tiles of
rows there are, what is taken is the rank of a tile among those (`roles.seek`), since most numbers would be of none.
Queries are taken into registers where these have room, results put over queries where nothing else has, and consumers
begin products one after the other (`roles.order`) where folding takes as long as those do. Of sums that met NaN nothing
is stored: the tile is computed again by a task of its own (`roles.task`), and not beside the sums of a loop. Rows of
several heads are boxes, too, which lie across an axis of heads: so many of a group stand beside one another
(`tile.pack`) as divide the rows of a consumer. Where keys lie in blocks, a tile has several, or is part of one, and
each piece of it is copied from where it lies (`roles.gather`): what says that is asked for by the role that copies
alone, and a block that lies nowhere is copied as NaN. Where consumers share out sums
(`attndsl.ir.analyses.role_shares`), all have the same rows: the first makes scores and weights, hands these on in each
turn, and after the last one what else of a row is needed (`roles.relay`). What is a key and a value is copied once
then. A kernel that cuts keys among programs gets roles with that of whole rows.

A turn may have several tiles of scores, and of weights, as those of gradients have (`attndsl.ir.analyses.roled`). Then
its products are begun as soon as what they take is there, and awaited within it, each score folded when it has come;
the first scores of the next turn are made behind its sums where registers have room, and carried (`roles.along`). What
such a turn makes of numbers of each key alone, as of a log-sum-exp, the role that copies computes and hands on.

A kernel that stands in the place of others may add up a product over its rows, as one for all gradients does: then each
consumer hands on its own factor to all (`roles.exchange`), multiplies a part of the sum, and lets it be added to memory
(`roles.put` that `adds`). Of rows that are not there it hands on 0: where some are not, all turns are those of mixed
tiles. It has its form with roles alone; without roles it is left out, with all that stands there.

What a turn reads beside keys and values is copied into rings of its own where it is a box of rows and keys. What is no
box, or has to be computed, a role that loads hands on (`roles.loader`, `attndsl.ir.analyses.role_loads`). Where keys
end before their tensor and nothing looks for NaN behind them, values there are cleared (`roles.clear`).

Where a program may be faster with three consumers (`attndsl.ir.analyses.role_room`), each of which has fewer registers,
a kernel has that form as well, and a launch chooses by how many rounds of tiles its processors have to do.

What is scheduled as the plain kernel goes with the other, too, in its tiles. What stands before the loops and is the
same for all rows is computed before the roles. Which kernels are taken, and by what rule tiles are made,
`attndsl.ir.analyses.roled` says; others stay alone. Where `attndsl.ir.analyses.roles_gain` finds that it pays, the
kernel has a schedule, `{"ROLES" = 1, "LEAST_KEYS" = 512, "FEWER_KEYS" = 128, "ROUNDS" = 3}`, say, so that a launch of
so many keys, or of fewer where each processor has so many tiles of rows with these to do, may take it by itself; one
without is for calls that ask for it.

Requires: choose-index-width, and all before. Exactness: reassociates. Idempotent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from attndsl.choices import FEWER_KEYS, KEYS, LEAST_KEYS, ROLES, ROUNDS, ROWS
from attndsl.ir import spec, tile
from attndsl.ir.analyses.role_parts import ROWS_OF_A_CONSUMER, NoRoles, Roled
from attndsl.ir.analyses.role_room import widened
from attndsl.ir.analyses.roled import roled
from attndsl.ir.analyses.roles_gain import NoGain, enough_for
from attndsl.ir.carried import remove_unneeded
from attndsl.ir.exactness import Exactness
from attndsl.ir.rewrite import copied, index_constant, insert_before
from attndsl.ir.rewrite import replace as replace_with
from attndsl.ir.statements import of_kind, operations
from attndsl.ir.walks import TaskOp
from attndsl.ir.workspaces import fresh, symbols_of
from attndsl.ir.xdsl import ArrayAttr, Context, DictionaryAttr, IntegerAttr, ModuleOp, ModulePass, StringAttr, UnitAttr
from attndsl.passes.roles.kernel import RolesKernel
from attndsl.passes.roles.packing import pack, packing_of


@dataclass(frozen=True)
class AssignRoles(ModulePass):
    """Puts behind each kernel that can have roles its form with roles.

    Tiles have `rows` for each consumer and `keys`; 0 leaves them to the rule.
    """

    name = "assign-roles"
    exactness = Exactness.REASSOCIATES

    rows: int = 0
    keys: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = [kernel for kernel in op.body.block.ops if isinstance(kernel, tile.KernelOp)]
        done = {kernel.entry.data for kernel in kernels if kernel.form is not None and kernel.form.data == "roles"}
        whole_has = False  # what follows a kernel of whole rows does the same in splits, and has roles with it alone
        for kernel in kernels:
            if kernel.parent is None:
                continue
            is_whole, adds = kernel.form is not None and kernel.form.data == "whole", adds_up(kernel)
            if is_whole:
                whole_has = kernel.entry.data in done
            if kernel.entry.data in done or not (is_whole or whole_has or adds):
                continue
            beside = [each for each in kernels if each is not kernel and each.parent is not None]
            looks = [each for each in beside if each.scheduling is kernel]
            packed = self._packed(kernel, looks)
            try:
                plain, found = packed or (kernel, self._sized(roled(kernel)))
            except NoRoles:
                if adds:
                    _drop(kernel, op)
                continue
            whole_has = not adds
            name = fresh(f"{kernel.entry.data}_taken", symbols_of(op))
            counter = spec.TensorOp(name, "workspace", "i32", [], partial=True)
            counter.location = kernel.location
            op.body.block.insert_op_before(counter, next(each for each in kernels if each.parent is not None))
            if is_whole and not looks and (wide := widened(found)) is not None:
                _write(plain, wide, counter, kernel)
            made = _write(plain, found, counter, kernel)
            made.schedules = _schedules(found)
            for look in looks:
                copy = copied(look)
                op.body.block.insert_op_before(copy, made)
                if packed is not None:
                    packing = packing_of(copy)
                    assert packing is not None, "what is looked for is found for the same rows"
                    pack(copy, packing, found.part_rows)
                _in_tiles(copy, found)
            if packed is not None:
                replace_with(plain, [])
            for left in (kernel, *looks) if adds else ():
                replace_with(left, [])

    def _sized(self, found: Roled) -> Roled:
        """With tiles of the sizes that are asked for."""
        return replace(found, tile_keys=self.keys or found.tile_keys, part_rows=self.rows or found.part_rows)

    def _packed(self, kernel: tile.KernelOp, looks: Sequence[tile.KernelOp]) -> tuple[tile.KernelOp, Roled] | None:
        """A kernel like another, of which queries are boxes: so many heads are packed as that takes; None of others.

        What is looked for has a place for each tile of rows of a head of keys: where it rests on the heads of queries,
        several programs would have the same.
        """
        if any((packing := packing_of(look)) is None or packing.heads is not None or packing.told for look in looks):
            return None
        if packing_of(kernel) is None:
            return None
        copy, rows = copied(kernel), self.rows or ROWS_OF_A_CONSUMER
        module = kernel.parent
        assert module is not None
        module.insert_op_after(copy, kernel)
        packing = packing_of(copy)
        assert packing is not None
        pack(copy, packing, rows)
        try:
            found = self._sized(roled(copy))
        except NoRoles:
            found = None
        if found is not None and found.queries and found.part_rows == rows and not found.shares:
            return copy, found
        replace_with(copy, [])
        return None


def _write(plain: tile.KernelOp, found: Roled, counter: spec.TensorOp, kernel: tile.KernelOp) -> tile.KernelOp:
    """Puts behind a kernel its form with roles, or that of one like it."""
    writer = RolesKernel(plain, found, counter.sym_name.data)
    made, module = writer.kernel, kernel.parent
    assert module is not None
    module.insert_op_after(made, kernel)
    writer.write()
    remove_unneeded(made)
    for load in of_kind(made, tile.LoadOp):
        load.box = None  # rings are all that is copied
    for store in of_kind(made, tile.StoreOp):
        store.scattered = UnitAttr() if found.scattered else None
    for task in of_kind(made, TaskOp):
        for each in operations(task):
            if isinstance(each, tile.LoadOp):
                each.apart = UnitAttr()
            elif isinstance(each, tile.StoreOp):
                each.scattered = UnitAttr()
    return made


def adds_up(kernel: tile.KernelOp) -> bool:
    """Whether a kernel adds up what others would sum by themselves: that pays with roles alone."""
    return kernel.instead is not None and any(op.adds is not None for op in of_kind(kernel, tile.StoreOp))


def _drop(kernel: tile.KernelOp, module: ModuleOp) -> None:
    """Leaves out all that stands in the place of others where a kernel does, and workspaces of these alone."""
    kernels = [op for op in module.body.block.ops if isinstance(op, tile.KernelOp)]
    left_out = [op for op in kernels if op.instead == kernel.instead]
    theirs = _touched(left_out) - _touched([op for op in kernels if op not in left_out])
    workspaces = [op for op in module.body.block.ops if isinstance(op, spec.TensorOp) and op.role.data == "workspace"]
    for op in (*left_out, *(tensor for tensor in workspaces if tensor.sym_name.data in theirs)):
        replace_with(op, [])


def _touched(kernels: Sequence[tile.KernelOp]) -> set[str]:
    """What kernels read and write."""
    accesses = [op for each in kernels for op in each.walk() if isinstance(op, tile.LoadOp | tile.StoreOp)]
    return {op.tensor.string_value() for op in accesses}


def _schedules(found: Roled) -> ArrayAttr[DictionaryAttr] | None:
    """How a launch takes a kernel with roles by itself; None where only one does that asks for it."""
    try:
        enough = enough_for(found)
    except NoGain:
        return None
    chosen = {ROLES: 1, LEAST_KEYS: enough.keys, FEWER_KEYS: enough.fewer, ROUNDS: enough.rounds}
    return ArrayAttr([DictionaryAttr({name: IntegerAttr.from_index_int_value(n) for name, n in chosen.items()})])


def _in_tiles(look: tile.KernelOp, found: Roled) -> None:
    """Lets what is scheduled as a plain kernel go with the one whose warps have roles: in tiles of their size."""
    look.form = StringAttr("roles")
    for choice in of_kind(look, spec.ChoiceOp):
        sizes = {ROWS: found.tile_rows, KEYS: found.tile_keys}
        replace_with(choice, [insert_before(choice, index_constant(sizes[choice.choice.data]), choice.choice.data)])
