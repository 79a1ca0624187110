// RUN: attndsl opt %s --passes assign-roles

// A table says where the keys of each block of 32 lie: a tile of 128 has four pieces, and who copies reads where each is.

spec.tensor @q "input" "bf16" ["M", "16"]
spec.tensor @k "input" "bf16" ["P", "32", "16"]
spec.tensor @v "input" "bf16" ["P", "32", "16"]
spec.tensor @table "input" "i64" ["L"]
spec.tensor @o "output" "f32" ["M", "16"]

// CHECK-LABEL: tile.kernel @pages form "roles"
// CHECK: roles.ring @k_ring of @k along [1 : index, 2 : index] sizes [128 : index, 16 : index] pieces 32 stages 2 readers 2
// CHECK-NEXT: roles.ring @v_ring of @v along [1 : index, 2 : index] sizes [128 : index, 16 : index] pieces 32 stages 2 readers 2
// CHECK: roles.producer registers 24 {
// CHECK: %pieces = roles.turns
// CHECK: %latest = arith.muli
// CHECK: roles.expect @k_ring[%k_stage] bytes 4096
// CHECK-NEXT: roles.gather @k_ring[%k_stage] from %zero starts {
// CHECK-NEXT: ^bb0(%j_next: index):
// CHECK-NEXT: %j = arith.minsi %j_next, %latest : index
// CHECK-NEXT: %block = arith.floordivsi %j, %S : index
// CHECK-NEXT: %page = tile.load @table[%block] where %some : index
// CHECK-NEXT: arith.maxsi %page
// CHECK-NEXT: arith.minsi
// CHECK-NEXT: %slot = spec.mod %j, %S
// CHECK: roles.starts
// CHECK: tile.loop %turn
// CHECK: roles.gather @k_ring
// CHECK: roles.gather @v_ring
// CHECK: roles.consumers 2 registers 240 {
// CHECK-NOT: @table
tile.kernel @pages form "whole" {
  %zero = arith.constant 0 : index
  %D = arith.constant 16 : index
  %S = arith.constant 32 : index
  %none = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %L = spec.dim "L"
  %N = arith.muli %L, %S : index
  %ROWS = spec.choice "ROWS"
  %KEYS = spec.choice "KEYS" divides 32 : index
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
    %block = arith.floordivsi %j0, %S : index
    %page = tile.load @table[%block] : index
    %slot = spec.mod %j0, %S
    %place = tile.place [1] of (%slot) axes (%j) near ()
    %k = tile.load @k[%page, %place, %d] : f32
    %score = tile.dot %q, %k over %d rounded to "bf16" : f32
    %w = math.tanh %score : f32
    %seen = arith.select %j_in, %w, %none : f32
    %v = tile.load @v[%page, %place, %e] : f32
    %part = tile.dot %seen, %v over %j rounded to "bf16" : f32
    %next = arith.addf %acc, %part : f32
    tile.kept %k, %v : f32, f32
    tile.yield %next : f32
  }
  tile.store @o[%i, %e] = %sum where %i_in : f32
  tile.covers rows %i0 keys %N by %KEYS
  tile.kept %q : f32
}
