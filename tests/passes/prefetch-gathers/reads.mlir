// RUN: attndsl opt %s --passes prefetch-gathers

// The number of a page is read for the next turn, guard and all. What rests on another read is read where it was, and so
// is %w, which places nothing. The loop that split-loops left over stays as it is.
// CHECK-LABEL: tile.kernel @k
// CHECK: %[[SOME:.*]] = arith.cmpi slt, %zero, %stop : index
// CHECK: %in = arith.cmpi sgt, %N, %j : index
// CHECK-NEXT: %page = arith.floordivsi %j, %S : index
// CHECK-NEXT: %[[BOTH:.*]] = arith.andi %in, %[[SOME]] : i1
// CHECK-NEXT: %table = tile.load @table[%page] where %[[BOTH]] : index
// CHECK-NEXT: tile.loop %j0 = %zero to %stop step %keys iter_args(%m = %low, %table_1 = %table) -> (f32, index)
// CHECK: %in_1 = arith.cmpi sgt, %N, %j_1 : index
// CHECK-NEXT: %[[NEXT:.*]] = arith.addi %j0, %keys : index
// CHECK-NEXT: %[[MORE:.*]] = arith.cmpi slt, %[[NEXT]], %stop : index
// CHECK: %[[BOTH:.*]] = arith.andi %in_2, %[[MORE]] : i1
// CHECK-NEXT: %table_2 = tile.load @table[%page_1] where %[[BOTH]] : index
// CHECK-NEXT: %[[KEPT:.*]] = tile.rename_axis %table_2 from %j_2 to %j
// CHECK-NEXT: %table_3 = tile.rename_axis %table_1 from %j to %j_1
// CHECK: %second = tile.load @second[%table_3] where
// CHECK: %w = tile.load @w[%j_1] where %in_1 : index
// CHECK: tile.yield %m1, %[[KEPT]] : f32, index
// CHECK: tile.loop mixed %j0_1 = %stop to %N step %keys iter_args(%m_1 = %full) -> (f32)
spec.tensor @x "input" "f32" ["P", "S"]
spec.tensor @second "input" "i32" ["P"]
spec.tensor @table "input" "i32" ["L"]
spec.tensor @w "input" "i32" ["L * S"]
spec.tensor @o "output" "f32" ["M"]
tile.kernel @k {
  %keys = arith.constant 16 : index
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %low = arith.constant 0xff800000 : f32
  %M = spec.dim "M"
  %S = spec.dim "S"
  %P = spec.dim "P"
  %L = spec.dim "L"
  %N = arith.muli %S, %L : index
  %i = tile.program "i" to %M step %one
  %tiles = arith.floordivsi %N, %keys : index
  %stop = arith.muli %tiles, %keys : index
  %full = tile.loop %j0 = %zero to %stop step %keys iter_args(%m = %low) -> (f32) {
    %end = arith.addi %j0, %keys : index
    %j = tile.range "j" from %j0 to %end size %keys
    %in = arith.cmpi sgt, %N, %j : index
    %page = arith.floordivsi %j, %S : index
    %table = tile.load @table[%page] where %in : index
    %from = arith.cmpi sle, %zero, %table : index
    %to = arith.cmpi slt, %table, %P : index
    %seen = arith.andi %from, %to : i1
    %second = tile.load @second[%table] where %seen : index
    %from1 = arith.cmpi sle, %zero, %second : index
    %to1 = arith.cmpi slt, %second, %P : index
    %seen1 = arith.andi %from1, %to1 : i1
    %w = tile.load @w[%j] where %in : index
    %factor = spec.to_float %w : f32
    %place = spec.mod %j, %S
    %v = tile.load @x[%second, %place] where %seen1 : f32
    %v1 = arith.mulf %v, %factor : f32
    %largest = tile.max %v1 over %j : f32 to f32
    %m1 = arith.maximumf %m, %largest : f32
    tile.yield %m1 : f32
  }
  %t = tile.loop mixed %j0 = %stop to %N step %keys iter_args(%m = %full) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %keys
    %page = arith.floordivsi %j, %S : index
    %table = tile.load @table[%page] : index
    %from = arith.cmpi sle, %zero, %table : index
    %to = arith.cmpi slt, %table, %P : index
    %seen = arith.andi %from, %to : i1
    %place = spec.mod %j, %S
    %v = tile.load @x[%table, %place] where %seen : f32
    %largest = tile.max %v over %j : f32 to f32
    %m1 = arith.maximumf %m, %largest : f32
    tile.yield %m1 : f32
  }
  tile.store @o[%i] = %t : f32
}
