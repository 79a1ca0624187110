// RUN: attndsl opt %s --passes split-ranges

// Three ranges, whose ends are known to follow each other, become three loops: what is said of an end in other words
// cuts no further. Ends of rows that lie behind a range need no test in it, and a choice that rows make stays.
// CHECK-LABEL: tile.kernel @k
// CHECK: tile.loop %j0 = %zero to %P step %size iter_args(%m = %m0)
// CHECK: tile.range "j" from %j0 to %P size %size
// CHECK-NOT: arith.cmpi sgt
// CHECK: arith.cmpi sle, %i, %j : index
// CHECK: tile.yield
// CHECK: tile.loop %{{.*}} = %P to %[[TWO:.*]] step %size iter_args
// CHECK-NOT: arith.cmpi sgt
// CHECK: arith.cmpi sle, %i, %{{.*}} : index
// CHECK: tile.yield
// CHECK: tile.loop %{{.*}} = %[[TWO]] to %stop step %size rows from %[[TWO]] to %row_stop iter_args
// CHECK: arith.cmpi sgt, %row_stop
// CHECK: arith.cmpi sle, %i, %{{.*}} : index
// CHECK: tile.yield
// CHECK-NOT: tile.loop
spec.tensor @a "input" "f32" ["P", "D"]
spec.tensor @b "input" "f32" ["Q", "D"]
spec.tensor @c "input" "f32" ["M", "D"]
spec.tensor @w "input" "f32" ["M", "D"]
spec.tensor @o "output" "f32" ["M", "D"]
tile.kernel @k {
  %size = arith.constant 16 : index
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %low = arith.constant 0xff800000 : f32
  %true = arith.constant true
  %P = spec.dim "P"
  %Q = spec.dim "Q"
  %M = spec.dim "M"
  %D = spec.dim "D"
  %i0 = tile.program "i" to %M step %size
  %i = tile.range "i" from %i0 to %M size %size
  %d = tile.range "d" from %zero to %D size %D
  %two = arith.addi %P, %Q : index
  %before = arith.addi %two, %i : index
  %row_stop = arith.addi %before, %one : index
  %stop = tile.max %row_stop over %i : index to index
  %m0 = tile.broadcast %low over (%i, %d) : f32 to f32
  %t = tile.loop %j0 = %zero to %stop step %size rows from %zero to %row_stop iter_args(%m = %m0) -> (f32) {
    %j = tile.range "j" from %j0 to %stop size %size
    %seen = arith.cmpi sgt, %row_stop, %j : index
    %in_a = arith.cmpi slt, %j, %P : index
    %x = tile.load @a[%j, %d] where %in_a : f32
    %past = arith.subi %j, %P : index
    %from_b = arith.cmpi sge, %past, %zero : index
    %to_b = arith.cmpi slt, %past, %Q : index
    %in_b = arith.andi %from_b, %to_b : i1
    %y = tile.load @b[%past, %d] where %in_b : f32
    %last = arith.subi %j, %two : index
    %not_c = arith.cmpi sgt, %two, %j : index
    %in_c = arith.xori %not_c, %true : i1
    %z = tile.load @c[%last, %d] where %in_c : f32
    %yz = arith.select %in_c, %z, %y : f32
    %v = arith.select %in_a, %x, %yz : f32
    %rows = arith.cmpi sle, %i, %j : index
    %u = tile.load @w[%i, %d] : f32
    %v1 = arith.select %rows, %v, %u : f32
    %v2 = arith.select %seen, %v1, %low : f32
    %largest = tile.max %v2 over %j : f32 to f32
    %m1 = arith.maximumf %m, %largest : f32
    tile.yield %m1 : f32
  }
  tile.store @o[%i, %d] = %t : f32
}
