// RUN: attndsl opt %s --passes assign-roles

// A turn has two tiles of scores, and of weights, as gradients have: the sums of a row, and of what it is summed with.
// All tiles of keys of a turn are copied at once, and what is made of numbers of keys alone is handed on beside them, by
// the role that copies. The first scores of a turn are made in the turn before, behind its own sums.

spec.tensor @k "input" "bf16" ["N", "128"]
spec.tensor @v "input" "bf16" ["N", "128"]
spec.tensor @q "input" "bf16" ["M", "128"]
spec.tensor @w "input" "bf16" ["M", "128"]
spec.tensor @lse "input" "f32" ["M"]
spec.tensor @dk "output" "f32" ["N", "128"]
spec.tensor @dv "output" "f32" ["N", "128"]
tile.kernel @turned form "whole" {
  %zero = arith.constant 0 : index
  %D = arith.constant 128 : index
  %none = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %ROWS = spec.choice "ROWS"
  %KEYS = spec.choice "KEYS"
  %j0 = tile.program "j" to %N step %ROWS
  %j_end = arith.addi %j0, %ROWS : index
  %j = tile.range "j" from %j0 to %j_end size %ROWS
  %j_in = arith.cmpi slt, %j, %N : index
  %d = tile.range "d" from %zero to %D size %D
  %k = tile.load @k[%j, %d] where %j_in : f32
  %v = tile.load @v[%j, %d] where %j_in : f32
  %z = tile.broadcast %none over (%j, %d) : f32 to f32
  %dk, %dv = tile.loop %i0 = %zero to %M step %KEYS iter_args(%x = %z, %y = %z) -> (f32, f32) {
    %i_end = arith.addi %i0, %KEYS : index
    %i = tile.range "i" from %i0 to %i_end size %KEYS
    %i_in = arith.cmpi slt, %i, %M : index
    %q = tile.load @q[%i, %d] where %i_in : f32
    %s = tile.dot %q, %k over %d rounded to "bf16" : f32
    %lse = tile.load @lse[%i] where %i_in : f32
    %shift = arith.mulf %lse, %two : f32
    %low = arith.subf %s, %shift : f32
    %exp = math.exp2 %low : f32
    %p = arith.select %i_in, %exp, %none : f32
    %w = tile.load @w[%i, %d] where %i_in : f32
    %dp = tile.dot %w, %v over %d rounded to "bf16" : f32
    %ds = arith.mulf %p, %dp : f32
    %part_k = tile.dot %ds, %q over %i rounded to "bf16" : f32
    %next_k = arith.addf %x, %part_k : f32
    %part_v = tile.dot %p, %w over %i rounded to "bf16" : f32
    %next_v = arith.addf %y, %part_v : f32
    tile.kept %q, %w : f32, f32
    tile.yield %next_k, %next_v : f32, f32
  }
  tile.store @dk[%j, %d] = %dk where %j_in : f32
  tile.store @dv[%j, %d] = %dv where %j_in : f32
  tile.covers rows %j0 keys %M by %KEYS
  tile.kept %k, %v : f32, f32
}

// CHECK:      tile.kernel @turned form "roles"
// CHECK:        roles.ring @q_ring of @q along [0 : index, 1 : index] sizes [64 : index, 128 : index] stages 2 readers 2
// CHECK-NEXT:   roles.ring @w_ring of @w along [0 : index, 1 : index] sizes [64 : index, 128 : index] stages 2 readers 2 beside @q_ring
// CHECK-NEXT:   roles.relay @shift_relay of "f32" sizes [64 : index] stages 2 readers 2 beside @q_ring
// CHECK-NEXT:   roles.ring @k_ring of @k along [0 : index, 1 : index] sizes [64 : index, 128 : index] stages 2 readers 1
// CHECK-NEXT:   roles.ring @v_ring of @v along [0 : index, 1 : index] sizes [64 : index, 128 : index] stages 2 readers 1 beside @k_ring
// CHECK:        roles.producer
// CHECK:          %shift = arith.mulf %lse, %two : f32
// CHECK:          roles.wait "empty" @q_ring[%q_stage] phase
// CHECK-NEXT:     roles.expect @q_ring[%q_stage] bytes 32768
// CHECK-NEXT:     roles.copy @q_ring[%q_stage]
// CHECK-NEXT:     roles.copy @w_ring[%q_stage]
// CHECK-NEXT:     roles.hand @shift_relay[%q_stage] %shift over(%i) : f32
// CHECK:          roles.copy @v_ring
// CHECK:          tile.loop %turn = %{{\d+}} to %visits
// CHECK:        roles.consumers 2
// CHECK:          roles.wait "full" @q_ring[%q_stage_2] phase %q_phase_2
// CHECK-NEXT:     %q = roles.view @q_ring[%q_stage_2] over(%place, %d) : f32
// CHECK-NEXT:     %scoring = roles.product %k, %q over %d : f32
// CHECK-NEXT:     %scores = roles.await %scoring pending 0 : f32
// CHECK-NEXT:     tile.loop %turn_1 = %{{\d+}} to %visits_1
// CHECK:            roles.wait "full" @q_ring[%q_stage_3] phase %q_phase_3
// CHECK-NEXT:       %w = roles.view @w_ring[%q_stage_3] over(%i_2, %d) : f32
// CHECK-NEXT:       %scoring_1 = roles.product %v, %w over %d : f32
// CHECK-NEXT:       %scores_3 = roles.along %scores_2 from %place to %i_2 : f32
// CHECK:            %shift_2 = roles.view @shift_relay[%q_stage_3] over(%i_2) : f32
// CHECK:            %weighing = roles.product %p_1, %w over %i_2 onto %z_4 : f32
// CHECK-NEXT:       %scores_4 = roles.await %scoring_1 pending 1 : f32
// CHECK:            %weighing_1 = roles.product %ds_1, %q_1 over %i_2 onto %z_3 : f32
// CHECK:            %after = arith.minsi
// CHECK:            %scoring_2 = roles.product %k, %q_2 over %d : f32
// CHECK-NEXT:       %sums = roles.await %weighing pending 2 : f32
// CHECK-NEXT:       %sums_1 = roles.await %weighing_1 pending 1 : f32
// CHECK-NEXT:       %scores_5 = roles.await %scoring_2 pending 0 : f32
// CHECK-NEXT:       roles.release @q_ring[%q_stage_3]
// CHECK:          roles.release @k_ring[%part]
