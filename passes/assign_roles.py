"""assign-roles: warps of a program get roles: one copies keys and values, others multiply and fold, each its own rows.

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
    tile.kernel @sums form "roles" {
      %0 = arith.constant 64 : index
      %1 = arith.constant 1 : index
      %2 = arith.constant 127 : index
      %3 = arith.constant 0 : index
      %4 = arith.constant 128 : index
      %zero = arith.constant 0 : index
      %D = arith.constant 16 : index
      %none = arith.constant 0.000000e+00 : f32
      %M = spec.dim "M"
      %N = spec.dim "N"
      %i0 = tile.program "i" to %M step %4
      %5 = arith.maxsi %N, %3 : index
      %6 = arith.addi %5, %2 : index
      %7 = arith.floordivsi %6, %4 : index
      %visits = arith.maxsi %7, %1 : index
      roles.ring @k_ring of @k along [0 : index, 1 : index] sizes [128 : index, 16 : index] stages 2 readers 2
      roles.ring @v_ring of @v along [0 : index, 1 : index] sizes [128 : index, 16 : index] stages 2 readers 2
      roles.producer registers 24 {
        roles.wait "empty" @k_ring[%3] phase %1
        roles.expect @k_ring[%3] bytes 4096
        roles.copy @k_ring[%3] from(%zero, %3)
        tile.loop %turn = %1 to %visits step %1 {
          %k_stage, %k_phase = roles.turn %turn of 2
          %8 = arith.subi %1, %k_phase : index
          roles.wait "empty" @k_ring[%k_stage] phase %8
          roles.expect @k_ring[%k_stage] bytes 4096
          %j0 = arith.muli %turn, %4 : index
          roles.copy @k_ring[%k_stage] from(%j0, %3)
          %before = arith.subi %turn, %1 : index
          %v_stage, %v_phase = roles.turn %before of 2
          %9 = arith.subi %1, %v_phase : index
          roles.wait "empty" @v_ring[%v_stage] phase %9
          roles.expect @v_ring[%v_stage] bytes 4096
          %j0_1 = arith.muli %before, %4 : index
          roles.copy @v_ring[%v_stage] from(%j0_1, %3)
          tile.yield
        }
        %last = arith.subi %visits, %1 : index
        %v_stage_1, %v_phase_1 = roles.turn %last of 2
        %10 = arith.subi %1, %v_phase_1 : index
        roles.wait "empty" @v_ring[%v_stage_1] phase %10
        roles.expect @v_ring[%v_stage_1] bytes 4096
        %j0_2 = arith.muli %last, %4 : index
        roles.copy @v_ring[%v_stage_1] from(%j0_2, %3)
      }
      roles.consumers 2 registers 240 rows from %i0 step 64 {
      ^bb0(%first: index):
        %i_end = arith.addi %first, %0 : index
        %i = tile.range "i" from %first to %i_end size %0
        %i_in = arith.cmpi slt, %i, %M : index
        %d = tile.range "d" from %zero to %D size %D
        %e = tile.range "e" from %zero to %D size %D
        %q = tile.load @q[%i, %d] where %i_in : f32
        %z = tile.broadcast %none over(%i, %e) : f32 to f32
        %place = tile.range "place" from %3 to %4 size %4
        %q_1 = roles.operand %q as "bf16" shared : f32
        %j_end = arith.addi %zero, %4 : index
        %j = tile.range "j" from %zero to %j_end size %4
        roles.wait "full" @k_ring[%3] phase %3
        %k = roles.view @k_ring[%3] over(%j, %d) : f32
        %scoring = roles.product %q_1, %k over %d : f32
        %scores = roles.await %scoring pending 0 : f32
        roles.release @k_ring[%3]
        %w = math.tanh %scores : f32
        %w_1 = roles.operand %w as "bf16" from %j to %place : f32
        %z_1, %w_2 = tile.loop %turn_1 = %1 to %visits step %1 iter_args(%z_2 = %z, %w_3 = %w_1) -> (f32, f32) {
          %k_stage_1, %k_phase_1 = roles.turn %turn_1 of 2
          %j0_3 = arith.muli %turn_1, %4 : index
          %j_end_1 = arith.addi %j0_3, %4 : index
          %j_1 = tile.range "j" from %j0_3 to %j_end_1 size %4
          roles.wait "full" @k_ring[%k_stage_1] phase %k_phase_1
          %k_1 = roles.view @k_ring[%k_stage_1] over(%j_1, %d) : f32
          %scoring_1 = roles.product %q_1, %k_1 over %d : f32
          %before_1 = arith.subi %turn_1, %1 : index
          %v_stage_2, %v_phase_2 = roles.turn %before_1 of 2
          roles.wait "full" @v_ring[%v_stage_2] phase %v_phase_2
          %v = roles.view @v_ring[%v_stage_2] over(%place, %e) : f32
          %weighing = roles.product %w_3, %v over %place onto %z_2 : f32
          %scores_1 = roles.await %scoring_1 pending 1 : f32
          roles.release @k_ring[%k_stage_1]
          %w_4 = math.tanh %scores_1 : f32
          %sums = roles.await %weighing pending 0 : f32
          roles.release @v_ring[%v_stage_2]
          %w_5 = roles.operand %w_4 as "bf16" from %j_1 to %place : f32
          tile.yield %sums, %w_5 : f32, f32
        }
        %last_1 = arith.subi %visits, %1 : index
        %v_stage_3, %v_phase_3 = roles.turn %last_1 of 2
        roles.wait "full" @v_ring[%v_stage_3] phase %v_phase_3
        %v_1 = roles.view @v_ring[%v_stage_3] over(%place, %e) : f32
        %weighing_1 = roles.product %w_2, %v_1 over %place onto %z_1 : f32
        %sums_1 = roles.await %weighing_1 pending 0 : f32
        roles.release @v_ring[%v_stage_3]
        %some = arith.cmpi sgt, %7, %3 : index
        %sum = arith.select %some, %sums_1, %z : f32
        tile.store @o[%i, %e] = %sum where %i_in : f32
        tile.kept %q : f32
      }
      tile.unsigned %6, %7, %visits : index, index, index
    }


Where features are cut into pieces, a turn has a product for each: those of scores one onto the other, and a sum for
each piece of values. A stage then has several boxes, which are announced, waited for and released at once.

Both loops become one over all tiles, in the same order, with a condition around what masks; a program that sees no key
walks one tile, and forgets it. What stands before the loops and is the same for all rows is computed before the roles.
Which kernels are taken, and by what rule tiles are made, `attndsl.ir.analyses.roled` says; others stay alone.

Requires: choose-index-width, and all before. Exactness: reassociates. Idempotent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from attndsl.ir import tile
from attndsl.ir.analyses.roled import NoRoles, roled
from attndsl.ir.exactness import Exactness
from attndsl.ir.rewrite import remove_dead
from attndsl.ir.xdsl import Context, ModuleOp, ModulePass
from attndsl.passes.roles.kernel import RolesKernel


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
        for kernel in kernels:
            if kernel.entry.data in done:
                continue
            try:
                found = roled(kernel)
            except NoRoles:
                continue
            found = replace(found, tile_keys=self.keys or found.tile_keys, part_rows=self.rows or found.part_rows)
            made = RolesKernel(kernel, found)
            op.body.block.insert_op_after(made.kernel, kernel)
            made.write()
            remove_dead(made.kernel)
