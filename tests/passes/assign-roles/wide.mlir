// RUN: attndsl opt %s --passes assign-roles

// Beside the form with two consumers stands one with three, each of which has fewer registers: a launch chooses. All go
// one after the other, the first behind the last.

spec.tensor @q "input" "bf16" ["M", "16"]
spec.tensor @k "input" "bf16" ["N", "16"]
spec.tensor @v "input" "bf16" ["N", "16"]
spec.tensor @o "output" "bf16" ["M", "16"]

// CHECK: spec.tensor @wide_taken "workspace" "i32" [] partial
// CHECK-NOT: workspace
// CHECK: tile.kernel @wide form "roles"
// CHECK: readers 2
// CHECK: roles.order @order among 2
// CHECK: roles.consumers 2 registers 240 {
// CHECK: tile.kernel @wide form "wide"
// CHECK: %[[ROWS:[0-9]+]] = arith.constant 192 : index
// CHECK: tile.program "i" to %M step %[[ROWS]]
// CHECK: readers 3
// CHECK: roles.order @order among 3
// CHECK: roles.board @numbers stages 2 readers 3
// CHECK: roles.consumers 3 registers 160 {
// CHECK: %[[FIRST:[0-9]+]] = arith.minsi %part
// CHECK-NEXT: %ordered = arith.subi %{{.*}}, %[[FIRST]]
// CHECK: %following = spec.mod
// CHECK-NEXT: roles.pass @order[%following]
tile.kernel @wide form "whole" {
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
