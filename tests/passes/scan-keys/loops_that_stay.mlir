// RUN: attndsl opt %s --passes 'tile{rows=4 keys=8},canonicalize,cse,scan-keys,canonicalize,cse'
// No loop is added where keys alone decide nothing, or nothing that is read, or only where other data are.

spec.tensor @x "input" "f32" ["N", "D"]
spec.tensor @row "input" "i32" ["M"]
spec.tensor @place "input" "i32" ["N"]
spec.tensor @both "input" "bool" ["M", "N"]
spec.tensor @o "output" "f32" ["M"]

// CHECK-LABEL: tile.kernel @arithmetic_of_keys {
// CHECK-NOT: seen_start
// CHECK:      %t_1 = tile.loop %j0 = %zero to %N step
// CHECK-NOT: tile.present
// CHECK:      tile.store
attn.kernel @arithmetic_of_keys {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = attn.row "i" to %M
  %j = attn.over "j" to %N
  %zero = arith.constant 0 : index
  %x = attn.read @x[%j, %zero] : f32
  %three = arith.constant 3 : index
  %rest = spec.mod %j, %three
  %seen = arith.cmpi eq, %rest, %zero : index
  %t = attn.max %x over %j where %seen : f32
  attn.write @o[%i] = %t : f32
}

// CHECK-LABEL: tile.kernel @rows_and_keys_read_together {
// CHECK-NOT: seen_start
// CHECK:      %t_1 = tile.loop %j0 = %zero to %N step
// CHECK-NOT: tile.present
// CHECK:      tile.store
attn.kernel @rows_and_keys_read_together {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = attn.row "i" to %M
  %j = attn.over "j" to %N
  %zero = arith.constant 0 : index
  %x = attn.read @x[%j, %zero] : f32
  %both = attn.read @both[%i, %j] : i1
  %r = attn.read @row[%i] : index
  %c = attn.read @place[%j] : index
  %other = arith.cmpi ne, %r, %c : index
  %product = arith.muli %r, %c : index
  %less = arith.cmpi slt, %product, %i : index
  %seen1 = arith.andi %both, %other : i1
  %seen = arith.andi %seen1, %less : i1
  %t = attn.max %x over %j where %seen : f32
  attn.write @o[%i] = %t : f32
}

// CHECK-LABEL: tile.kernel @places_in_range {
// CHECK-NOT: seen_start
// CHECK:      %t_1 = tile.loop %j0 = %zero to %N step
// CHECK-NOT: tile.present
// CHECK:      tile.store
attn.kernel @places_in_range {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = attn.row "i" to %M
  %j = attn.over "j" to %N
  %zero = arith.constant 0 : index
  %c = attn.read @place[%j] : index
  %low = arith.cmpi sle, %zero, %c : index
  %high = arith.cmpi slt, %c, %N : index
  %seen = arith.andi %low, %high : i1
  %x = attn.read @x[%c, %zero] where %seen : f32
  %t = attn.max %x over %j where %seen : f32
  attn.write @o[%i] = %t : f32
}

// CHECK-LABEL: tile.kernel @features_of_keys {
// CHECK-NOT: seen_start
// CHECK:      %t_1 = tile.loop %j0 = [[Z:%\d+]] to %N step
// CHECK-NOT: tile.present
// CHECK:      tile.store
attn.kernel @features_of_keys {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %i = attn.row "i" to %M
  %j = attn.over "j" to %N
  %d = attn.axis "d" to %D
  %x = attn.read @x[%j, %d] : f32
  %s = attn.sum %x over %d : f32
  %zero = arith.constant 0.0 : f32
  %seen = arith.cmpf ogt, %s, %zero : f32
  %t = attn.max %s over %j where %seen : f32
  attn.write @o[%i] = %t : f32
}

// CHECK-LABEL: tile.kernel @one_reduction_sees_all {
// CHECK-NOT: seen_start
// CHECK:      %t_1, %all_1 = tile.loop %j0 = %zero to %N step
// CHECK-NOT: tile.present
// CHECK:      tile.store
attn.kernel @one_reduction_sees_all {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i = attn.row "i" to %M
  %j = attn.over "j" to %N
  %zero = arith.constant 0 : index
  %x = attn.read @x[%j, %zero] : f32
  %r = attn.read @row[%i] : index
  %c = attn.read @place[%j] : index
  %same = arith.cmpi eq, %r, %c : index
  %t = attn.max %x over %j where %same : f32
  %all = attn.max %x over %j : f32
  %sum = arith.addf %t, %all : f32
  attn.write @o[%i] = %sum : f32
}
