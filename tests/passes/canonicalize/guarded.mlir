// RUN: attndsl opt %s --passes canonicalize

// What a load has left out needs no select: nor one whose condition says less than the load's own.
// CHECK-LABEL: tile.kernel @left_out
// CHECK: %x = tile.load @x[%i, %j] where %in : f32
// CHECK-NEXT: %sum = tile.sum %x over %j : f32 to f32
// CHECK-NEXT: tile.store @o[%i] = %sum : f32
spec.tensor @table "input" "i32" ["N"]
spec.tensor @x "input" "f32" ["M", "N"]
spec.tensor @o "output" "f32" ["M"]
tile.kernel @left_out {
  %zero = arith.constant 0 : index
  %size = arith.constant 16 : index
  %nothing = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i0 = tile.program "i" to %M step %size
  %i = tile.range "i" from %i0 to %M size %size
  %j = tile.range "j" from %zero to %N size %N
  %table = tile.load @table[%j] : index
  %above = arith.cmpi sle, %zero, %table : index
  %below = arith.cmpi slt, %table, %M : index
  %in = arith.andi %above, %below : i1
  %empty = arith.cmpi sle, %M, %zero : index
  %one = arith.ori %in, %empty : i1
  %other = arith.ori %empty, %below : i1
  %both = arith.andi %one, %other : i1
  %x = tile.load @x[%i, %j] where %in : f32
  %y = arith.select %both, %x, %nothing : f32
  %sum = tile.sum %y over %j : f32 to f32
  tile.store @o[%i] = %sum : f32
}

// A condition that the load does not have, alone or beside one that it has, leaves out more; so does another number.
// CHECK-LABEL: tile.kernel @more_is_left_out
// CHECK-COUNT-3: arith.select
spec.tensor @p "output" "f32" ["M"]
tile.kernel @more_is_left_out {
  %zero = arith.constant 0 : index
  %size = arith.constant 16 : index
  %nothing = arith.constant 0.0 : f32
  %something = arith.constant 1.0 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i0 = tile.program "i" to %M step %size
  %i = tile.range "i" from %i0 to %M size %size
  %j = tile.range "j" from %zero to %N size %N
  %table = tile.load @table[%j] : index
  %above = arith.cmpi sle, %zero, %table : index
  %below = arith.cmpi slt, %table, %M : index
  %in = arith.andi %above, %below : i1
  %early = arith.cmpi slt, %j, %i : index
  %either = arith.ori %early, %in : i1
  %both = arith.andi %either, %early : i1
  %x = tile.load @x[%i, %j] where %above : f32
  %y = arith.select %in, %x, %nothing : f32
  %z = arith.select %both, %x, %nothing : f32
  %ones = arith.select %above, %x, %something : f32
  %yz = arith.addf %y, %z : f32
  %all = arith.addf %yz, %ones : f32
  %sum = tile.sum %all over %j : f32 to f32
  tile.store @p[%i] = %sum : f32
}
