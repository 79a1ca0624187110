// RUN: attndsl opt %s --passes assign-roles

// Beside heads of 256 shared memory has no room for results: they leave through the stages of queries, which are
// released when that is done. Queries stay where they were copied, since registers have no room for them.

spec.tensor @q "input" "bf16" ["M", "256"]
spec.tensor @k "input" "bf16" ["N", "256"]
spec.tensor @v "input" "bf16" ["N", "256"]
spec.tensor @o "output" "bf16" ["M", "256"]
tile.kernel @through form "whole" {
  %zero = arith.constant 0 : index
  %D = arith.constant 256 : index
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

// CHECK:      tile.kernel @through form "roles"
// CHECK:        roles.ring @q_ring of @q along [0 : index, 1 : index] sizes [64 : index, 256 : index] stages 2 readers 1
// CHECK-NEXT:   roles.outbox @o_outbox of @o along [0 : index, 1 : index] sizes [64 : index, 256 : index] stages 2 within @q_ring
// CHECK-NOT:    roles.order
// CHECK:        roles.consumers 2 registers 240
// CHECK:          %q = roles.view @q_ring[%part]
// CHECK:          roles.product %q, %k over %d
// CHECK-NOT:      roles.release @q_ring
// CHECK:          roles.put @o_outbox[%part]
// CHECK-NEXT:     roles.release @q_ring[%part]
