// RUN: attndsl opt %s --passes find-boxes

// A turn of four products, with two sums that are carried. Its own tiles of k and v, all of the loop and the rows'
// log-sum-exp, which is a line of a box, are copied as boxes.

spec.tensor @q "input" "bf16" ["H", "M", "128"]
spec.tensor @w "input" "bf16" ["H", "M", "128"]
spec.tensor @lse "input" "f32" ["H", "M"]
spec.tensor @k "input" "bf16" ["H", "N", "128"]
spec.tensor @v "input" "bf16" ["H", "N", "128"]
spec.tensor @x "output" "f32" ["H", "N", "128"]
spec.tensor @y "output" "f32" ["H", "N", "128"]
// CHECK-LABEL: tile.kernel @four {
tile.kernel @four {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %none = arith.constant 0.0 : f32
  %size = arith.constant 128 : index
  %rows = spec.choice "ROWS"
  %keys = spec.choice "KEYS"
  %H = spec.dim "H"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %h = tile.program "h" to %H step %one
  %j0 = tile.program "j" to %N step %rows
  %j = tile.range "j" from %j0 to %N size %rows
  %d = tile.range "d" from %zero to %size size %size
  %start = tile.broadcast %none over (%j, %d) : f32 to f32
  // CHECK: tile.load box @k
  %k = tile.load @k[%h, %j, %d] : f32
  // CHECK: tile.load box @v
  %v = tile.load @v[%h, %j, %d] : f32
  %tiles = arith.floordivsi %M, %keys : index
  %covered = arith.muli %tiles, %keys : index
  %a, %b = tile.loop %i0 = %zero to %covered step %keys iter_args(%xs = %start, %ys = %start) -> (f32, f32) {
    %i_end = arith.addi %i0, %keys : index
    %i = tile.range "i" from %i0 to %i_end size %keys
    // CHECK: tile.load box @q
    %q = tile.load @q[%h, %i, %d] : f32
    // CHECK: tile.load box @w
    %w = tile.load @w[%h, %i, %d] : f32
    // CHECK: tile.load box @lse
    %l = tile.load @lse[%h, %i] : f32
    %s = tile.dot %k, %q over %d rounded to "bf16" : f32
    %t = tile.dot %v, %w over %d rounded to "bf16" : f32
    %p = arith.subf %s, %l : f32
    %e = arith.mulf %p, %t : f32
    %dx = tile.dot %e, %q over %i rounded to "bf16" : f32
    %dy = tile.dot %p, %w over %i rounded to "bf16" : f32
    %x1 = arith.addf %xs, %dx : f32
    %y1 = arith.addf %ys, %dy : f32
    tile.yield %x1, %y1 : f32, f32
  }
  tile.store @x[%h, %j, %d] = %a : f32
  tile.store @y[%h, %j, %d] = %b : f32
}

// The same where keys end before the tensor does: what is behind their end is no part of a box, which has all of its
// tensor. The tiles of a program's own rows are.

// CHECK-LABEL: tile.kernel @ends {
tile.kernel @ends {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %none = arith.constant 0.0 : f32
  %size = arith.constant 128 : index
  %rows = spec.choice "ROWS"
  %keys = spec.choice "KEYS"
  %H = spec.dim "H"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %h = tile.program "h" to %H step %one
  %j0 = tile.program "j" to %N step %rows
  %j = tile.range "j" from %j0 to %N size %rows
  %d = tile.range "d" from %zero to %size size %size
  %start = tile.broadcast %none over (%j, %d) : f32 to f32
  // CHECK: tile.load box @k
  %k = tile.load @k[%h, %j, %d] : f32
  // CHECK: tile.load box @v
  %v = tile.load @v[%h, %j, %d] : f32
  %fewer = arith.subi %M, %one : index
  %a, %b = tile.loop %i0 = %zero to %fewer step %keys iter_args(%xs = %start, %ys = %start) -> (f32, f32) {
    %i = tile.range "i" from %i0 to %fewer size %keys
    // CHECK: tile.load @q
    %q = tile.load @q[%h, %i, %d] : f32
    // CHECK: tile.load @w
    %w = tile.load @w[%h, %i, %d] : f32
    %s = tile.dot %k, %q over %d rounded to "bf16" : f32
    %t = tile.dot %v, %w over %d rounded to "bf16" : f32
    %e = arith.mulf %s, %t : f32
    %dx = tile.dot %e, %q over %i rounded to "bf16" : f32
    %dy = tile.dot %s, %w over %i rounded to "bf16" : f32
    %x1 = arith.addf %xs, %dx : f32
    %y1 = arith.addf %ys, %dy : f32
    tile.yield %x1, %y1 : f32, f32
  }
  tile.store @x[%h, %j, %d] = %a : f32
  tile.store @y[%h, %j, %d] = %b : f32
}
