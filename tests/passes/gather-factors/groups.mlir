// RUN: attndsl opt %s --passes gather-factors

// What is made of one contraction is multiplied first, and numbers of a row last; a product that is needed by itself
// stays one factor, and what is in order stays as it is. Two factors that are not bounded are not brought together.
// CHECK-LABEL: tile.kernel @k
// CHECK: %w = math.tanh %p
// CHECK: %[[PW:.*]] = arith.mulf %p, %w
// CHECK: %[[OWN:.*]] = arith.mulf %[[PW]], %w
// CHECK: %[[ALL:.*]] = arith.mulf %[[OWN]], %q
// CHECK: %[[SCALED:.*]] = arith.mulf %[[ALL]], %row
// CHECK: %kept = arith.mulf %p, %q
// CHECK: %other = arith.mulf %kept, %w
// CHECK: %pw = arith.mulf %w, %p
// CHECK: %right = arith.mulf %q, %pw
// CHECK: %pq2 = arith.mulf %p, %q
// CHECK: %apart = arith.mulf %pq2, %p
// CHECK: tile.sum %[[SCALED]]
spec.tensor @a "input" "f32" ["M", "16"]
spec.tensor @r "input" "f32" ["M"]
spec.tensor @x "input" "f32" ["N", "16"]
spec.tensor @y "input" "f32" ["N", "16"]
spec.tensor @o "output" "f32" ["M"]
tile.kernel @k {
  %rows = arith.constant 16 : index
  %zero = arith.constant 0 : index
  %none = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %d = tile.range "d" from %zero to %rows size %rows
  %a = tile.load @a[%i, %d] : f32
  %row = tile.load @r[%i] : f32
  %z = tile.broadcast %none over (%i) : f32 to f32
  %t = tile.loop %j0 = %zero to %N step %rows iter_args(%s = %z) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %rows
    %x = tile.load @x[%j, %d] : f32
    %y = tile.load @y[%j, %d] : f32
    %p = tile.dot %a, %x over %d : f32
    %q = tile.dot %a, %y over %d : f32
    %w = math.tanh %p : f32
    %w2 = arith.mulf %w, %w : f32
    %pr = arith.mulf %p, %row : f32
    %prq = arith.mulf %pr, %q : f32
    %all = arith.mulf %prq, %w2 : f32
    %kept = arith.mulf %p, %q : f32
    %other = arith.mulf %kept, %w : f32
    %pw = arith.mulf %w, %p : f32
    %right = arith.mulf %q, %pw : f32
    %pq2 = arith.mulf %p, %q : f32
    %apart = arith.mulf %pq2, %p : f32
    %both = arith.addf %kept, %other : f32
    %two = arith.addf %both, %right : f32
    %three = arith.addf %two, %apart : f32
    %sum = tile.sum %all over %j : f32 to f32
    %more = tile.sum %three over %j : f32 to f32
    %s1 = arith.addf %s, %sum : f32
    %s2 = arith.addf %s1, %more : f32
    tile.yield %s2 : f32
  }
  tile.store @o[%i] = %t : f32
}
