// RUN: attndsl opt %s --passes assign-roles

// Data say how many tiles of rows each request has: programs take ranks, and who copies seeks the number of a tile.

spec.tensor @n "input" "i32" ["B"]
spec.tensor @q "input" "bf16" ["B", "M", "16"]
spec.tensor @k "input" "bf16" ["B", "N", "16"]
spec.tensor @v "input" "bf16" ["B", "N", "16"]
spec.tensor @o "output" "f32" ["B", "M", "16"] partial

// CHECK-LABEL: tile.kernel @ranks form "roles"
// CHECK: %i0 = tile.program descending "i" to %M step
// CHECK: roles.producer registers 24 {
// CHECK-NEXT: roles.walk(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) take {
// CHECK-NEXT: ^bb0(%walked: index, %used: index, %place: index, %ahead: index):
// CHECK-NEXT: roles.turn
// CHECK-NEXT: %rank = roles.take @ranks_taken after %walked
// CHECK-NEXT: %number, %place_1, %ahead_1 = roles.seek %rank from(%place, %ahead) of(%b, %h, %i0) abreast 256 ends {
// CHECK-NEXT: ^bb0(%b_1: index):
// CHECK-NEXT: %n = tile.load @n[%b_1] : index
// CHECK-NEXT: %rows = arith.minsi %n, %M : index
// CHECK-NEXT: roles.ends %rows
// CHECK: roles.post @numbers[%number_stage] %number
// CHECK: roles.go %number carrying(%walked, %used, %place_1, %ahead_1)
// CHECK: roles.next %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}
// CHECK: roles.consumers 2 registers 240 {
// CHECK: roles.turns
// CHECK-NOT: roles.seek
tile.kernel @ranks form "whole" {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %D = arith.constant 16 : index
  %none = arith.constant 0.0 : f32
  %B = spec.dim "B"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %ROWS = spec.choice "ROWS"
  %KEYS = spec.choice "KEYS"
  %b = tile.program "b" to %B step %one
  %h = tile.program "h" to %two step %one
  %n = tile.load @n[%b] : index
  %rows = arith.minsi %n, %M : index
  %i0 = tile.program descending "i" to %rows up to %M step %ROWS
  %i_end = arith.addi %i0, %ROWS : index
  %i = tile.range "i" from %i0 to %i_end size %ROWS
  %i_in = arith.cmpi slt, %i, %rows : index
  %d = tile.range "d" from %zero to %D size %D
  %e = tile.range "e" from %zero to %D size %D
  %q = tile.load @q[%b, %i, %d] where %i_in : f32
  %z = tile.broadcast %none over (%i, %e) : f32 to f32
  %sum = tile.loop %j0 = %zero to %N step %KEYS iter_args(%acc = %z) -> (f32) {
    %j_end = arith.addi %j0, %KEYS : index
    %j = tile.range "j" from %j0 to %j_end size %KEYS
    %j_in = arith.cmpi slt, %j, %N : index
    %k = tile.load @k[%b, %j, %d] where %j_in : f32
    %score = tile.dot %q, %k over %d rounded to "bf16" : f32
    %w = math.tanh %score : f32
    %v = tile.load @v[%b, %j, %e] where %j_in : f32
    %part = tile.dot %w, %v over %j rounded to "bf16" : f32
    %next = arith.addf %acc, %part : f32
    tile.kept %k, %v : f32, f32
    tile.yield %next : f32
  }
  tile.store @o[%b, %i, %e] = %sum where %i_in : f32
  tile.covers rows %i0 keys %N by %KEYS
  tile.kept %q : f32
}
