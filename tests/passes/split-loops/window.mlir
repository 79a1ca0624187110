// RUN: attndsl opt %s --passes split-loops

// Rows with starts and stops of their own: full tiles lie between the last start and the first stop, and the second
// loop jumps over them.
// CHECK-LABEL: tile.kernel @k
// CHECK: tile.max %i over %i
// CHECK: %full_start = arith.addi
// CHECK: tile.min
// CHECK: %covered = arith.muli
// CHECK: %full_stop = arith.addi %full_start, %covered
// CHECK: tile.loop full %{{.*}} = %full_start to %full_stop
// CHECK-NOT: cmpi
// CHECK: tile.yield
// CHECK: %[[END:.*]] = arith.subi %N, %covered
// CHECK: tile.loop mixed stages 1 %step = %zero to %[[END]]
// CHECK: arith.select
// CHECK: arith.cmpi sle, %i, %j
spec.tensor @x "input" "f32" ["N"]
spec.tensor @o "output" "f32" ["M"]
tile.kernel @k {
  %keys = arith.constant 16 : index
  %zero = arith.constant 0 : index
  %low = arith.constant 0xff800000 : f32
  %N = spec.dim "N"
  %M = spec.dim "M"
  %i0 = tile.program "i" to %M step %keys
  %i = tile.range "i" from %i0 to %M size %keys
  %m0 = tile.broadcast %low over (%i) : f32 to f32
  %five = arith.constant 5 : index
  %t = tile.loop %j0 = %zero to %N step %keys iter_args(%m = %m0) -> (f32) {
    %end = arith.addi %j0, %keys : index
    %j = tile.range "j" from %j0 to %end size %keys
    %after = arith.cmpi sle, %i, %j : index
    %stop = arith.addi %i, %five : index
    %before = arith.cmpi slt, %j, %stop : index
    %last = arith.cmpi slt, %j, %N : index
    %both = arith.andi %after, %before : i1
    %seen = arith.andi %both, %last : i1
    %v = tile.load @x[%j] where %seen : f32
    %v1 = arith.select %seen, %v, %low : f32
    %largest = tile.max %v1 over %j : f32 to f32
    %m1 = arith.maximumf %m, %largest : f32
    tile.yield %m1 : f32
  }
  tile.store @o[%i] = %t : f32
}
