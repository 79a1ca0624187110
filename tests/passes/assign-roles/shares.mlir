// RUN: attndsl opt %s --passes assign-roles

// A row of 512 features has more sums than one group of warps holds, and consumers share them out. What is a key and a
// value is copied once: the first half has one reader, which multiplies it twice, the second one two. The first consumer
// makes scores, and hands weights on; its own sums come before its next scores. The other multiplies what it is handed.

spec.tensor @q "input" "bf16" ["M", "512"]
spec.tensor @c "input" "bf16" ["N", "512"]
spec.tensor @o "output" "f32" ["M", "512"]

// CHECK-LABEL: tile.kernel @shares form "roles"
// CHECK: roles.ring @c_ring of @c along [0 : index, 1 : index] sizes [64 : index, 256 : index] stages 2 readers 1
// CHECK-NEXT: roles.ring @c_256_ring of @c along [0 : index, 1 : index] sizes [64 : index, 256 : index] stages 2 readers 2
// CHECK-NEXT: roles.ring @q_ring
// CHECK-NEXT: roles.ring @q_256_ring
// CHECK-NEXT: roles.relay @weights of "bf16" sizes [64 : index, 64 : index] stages 1 readers 1
// CHECK-NEXT: roles.board @numbers stages 2 readers 2
// CHECK: roles.consumers 1 registers 240 {
// CHECK: roles.wait "empty" @weights
// CHECK-NEXT: roles.hand @weights[%weights_stage] %w over(%i, %j) : f32
// CHECK: tile.loop %turn_1
// CHECK: roles.wait "full" @c_ring
// CHECK: %weighing = roles.product %w_3
// CHECK: %scoring_2 = roles.product anew %q,
// CHECK: %scoring_3 = roles.product anew
// CHECK: %sums = roles.await %weighing pending 2 : f32
// CHECK-NEXT: roles.release @c_ring
// CHECK-NEXT: %scores_1 = roles.await %scoring_3 pending 0 : f32
// CHECK-NEXT: roles.release @c_256_ring
// CHECK: roles.consumers follow 1 registers 240 {
// CHECK: tile.loop %turn_2
// CHECK: roles.wait "full" @weights
// CHECK: roles.wait "full" @c_256_ring
// CHECK: roles.product
// CHECK: roles.release @c_256_ring
// CHECK-NEXT: roles.release @weights
// CHECK-NOT: roles.product
// CHECK: tile.store @o
tile.kernel @shares form "whole" {
  %zero = arith.constant 0 : index
  %D0 = arith.constant 256 : index
  %D1 = arith.constant 256 : index
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
  %d_1 = tile.range "d_256" from %zero to %D1 size %D1
  %d_256 = arith.addi %d_1, %D0 : index
  %q_0 = tile.load @q[%i, %d] where %i_in : f32
  %q_256 = tile.load @q[%i, %d_256] where %i_in : f32
  %z_0 = tile.broadcast %none over (%i, %d) : f32 to f32
  %z_256 = tile.broadcast %none over (%i, %d_1) : f32 to f32
  %sum_0, %sum_256 = tile.loop %j0 = %zero to %N step %KEYS iter_args(%x = %z_0, %y = %z_256) -> (f32, f32) {
    %j_end = arith.addi %j0, %KEYS : index
    %j = tile.range "j" from %j0 to %j_end size %KEYS
    %j_in = arith.cmpi slt, %j, %N : index
    %k_0 = tile.load @c[%j, %d] where %j_in : f32
    %k_256 = tile.load @c[%j, %d_256] where %j_in : f32
    %s_0 = tile.dot %q_0, %k_0 over %d rounded to "bf16" : f32
    %s_256 = tile.dot %q_256, %k_256 over %d_1 rounded to "bf16" : f32
    %score = arith.addf %s_0, %s_256 : f32
    %w = math.tanh %score : f32
    %part_0 = tile.dot %w, %k_0 over %j rounded to "bf16" : f32
    %part_256 = tile.dot %w, %k_256 over %j rounded to "bf16" : f32
    %next_0 = arith.addf %x, %part_0 : f32
    %next_256 = arith.addf %y, %part_256 : f32
    tile.kept %k_0, %k_256 : f32, f32
    tile.yield %next_0, %next_256 : f32, f32
  }
  tile.store @o[%i, %d] = %sum_0 where %i_in : f32
  tile.store @o[%i, %d_256] = %sum_256 where %i_in : f32
  tile.covers rows %i0 keys %N by %KEYS
  tile.kept %q_0, %q_256 : f32, f32
}
