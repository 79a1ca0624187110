// RUN: attndsl opt %s --passes assign-roles

// Features are cut into pieces: keys are the first 48 columns of a tensor, and of its values the last 32 and 16 are
// summed. Scores are one product after the other, onto it; each piece of values has a sum. A stage has a box of each
// piece, which are announced, waited for and released together.

spec.tensor @q "input" "bf16" ["M", "48"]
spec.tensor @kv "input" "bf16" ["N", "96"]
spec.tensor @o "output" "f32" ["M", "48"]
tile.kernel @pieces form "whole" {
  %zero = arith.constant 0 : index
  %D0 = arith.constant 32 : index
  %D1 = arith.constant 16 : index
  %at = arith.constant 48 : index
  %none = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %ROWS = spec.choice "ROWS"
  %KEYS = spec.choice "KEYS"
  %i0 = tile.program "i" to %M step %ROWS
  %i_end = arith.addi %i0, %ROWS : index
  %i = tile.range "i" from %i0 to %i_end size %ROWS
  %i_in = arith.cmpi slt, %i, %M : index
  %d = tile.range "d_0" from %zero to %D0 size %D0
  %d_16 = tile.range "d_32" from %zero to %D1 size %D1
  %d_32 = arith.addi %d_16, %D0 : index
  %e = arith.addi %d, %at : index
  %e_32 = arith.addi %d_32, %at : index
  %q_0 = tile.load @q[%i, %d] where %i_in : f32
  %q_32 = tile.load @q[%i, %d_32] where %i_in : f32
  %z_0 = tile.broadcast %none over (%i, %d) : f32 to f32
  %z_32 = tile.broadcast %none over (%i, %d_16) : f32 to f32
  %sum_0, %sum_32 = tile.loop %j0 = %zero to %N step %KEYS iter_args(%x = %z_0, %y = %z_32) -> (f32, f32) {
    %j_end = arith.addi %j0, %KEYS : index
    %j = tile.range "j" from %j0 to %j_end size %KEYS
    %j_in = arith.cmpi slt, %j, %N : index
    %k_0 = tile.load @kv[%j, %d] where %j_in : f32
    %k_32 = tile.load @kv[%j, %d_32] where %j_in : f32
    %s_0 = tile.dot %q_0, %k_0 over %d rounded to "bf16" : f32
    %s_32 = tile.dot %q_32, %k_32 over %d_16 rounded to "bf16" : f32
    %score = arith.addf %s_0, %s_32 : f32
    %w = math.tanh %score : f32
    %v_0 = tile.load @kv[%j, %e] where %j_in : f32
    %v_32 = tile.load @kv[%j, %e_32] where %j_in : f32
    %part_0 = tile.dot %w, %v_0 over %j rounded to "bf16" : f32
    %part_32 = tile.dot %w, %v_32 over %j rounded to "bf16" : f32
    %next_0 = arith.addf %x, %part_0 : f32
    %next_32 = arith.addf %y, %part_32 : f32
    tile.kept %k_0, %k_32, %v_0, %v_32 : f32, f32, f32, f32
    tile.yield %next_0, %next_32 : f32, f32
  }
  tile.store @o[%i, %d] = %sum_0 where %i_in : f32
  tile.store @o[%i, %d_32] = %sum_32 where %i_in : f32
  tile.covers rows %i0 keys %N by %KEYS
  tile.kept %q_0, %q_32 : f32, f32
}
// CHECK:      tile.kernel @pieces form "roles"
// CHECK:        roles.ring @kv_ring of @kv along [0 : index, 1 : index] sizes [128 : index, 32 : index] stages 2 readers 2
// CHECK-NEXT:   roles.ring @kv_32_ring of @kv along [0 : index, 1 : index] sizes [128 : index, 16 : index] stages 2 readers 2 beside @kv_ring
// CHECK-NEXT:   roles.ring @kv_48_ring of @kv
// CHECK-NEXT:   roles.ring @kv_80_ring of @kv along [0 : index, 1 : index] sizes [128 : index, 16 : index] stages 2 readers 2 beside @kv_48_ring
// CHECK-NEXT:   roles.ring @q_ring of @q along [0 : index, 1 : index] sizes [64 : index, 32 : index] stages 2 readers 1
// CHECK-NEXT:   roles.ring @q_32_ring of @q along [0 : index, 1 : index] sizes [64 : index, 16 : index] stages 2 readers 1 beside @q_ring
// CHECK:          roles.expect @kv_ring[%kv_stage] bytes 12288
// CHECK-NEXT:     roles.copy @kv_ring[%kv_stage] from(%{{\w+}}, %{{\w+}})
// CHECK-NEXT:     roles.copy @kv_32_ring[%kv_stage] from(%{{\w+}}, %{{\w+}})
// CHECK:          roles.expect @q_ring[%{{\d+}}] bytes 6144
// CHECK-NEXT:     roles.copy @q_ring
// CHECK-NEXT:     roles.copy @q_32_ring
// CHECK:          %q_2 = roles.operand %q as "bf16" : f32
// CHECK-NEXT:     %q_3 = roles.operand %q_1 as "bf16" : f32
// CHECK:          roles.wait "full" @kv_ring
// CHECK-NEXT:     %k = roles.view @kv_ring
// CHECK-NEXT:     %k_1 = roles.view @kv_32_ring
// CHECK-NEXT:     %scoring = roles.product %q_2, %k over %d : f32
// CHECK-NEXT:     %scoring_1 = roles.product %q_3, %k_1 over %d_1 onto %scoring : f32
// CHECK-NEXT:     %scores = roles.await %scoring_1 pending 0 : f32
// CHECK:          roles.wait "full" @order[%part]
// CHECK:          roles.pass @order[%following]
// CHECK-NEXT:     %scores_1 = roles.await %scoring_3 pending 2 : f32
// CHECK:          %sums = roles.await %weighing pending 0 : f32
// CHECK-NEXT:     %sums_1 = roles.await %weighing_1 pending 0 : f32
// CHECK-NEXT:     roles.release @kv_48_ring
