// RUN: attndsl opt %s --passes canonicalize,pad-axes,canonicalize,cse
// Axes of every kind are filled up; loads, stores and reductions are guarded by what they vary along. A range that is
// said of a value need not hold in what is filled up.

spec.tensor @x "input" "f32" ["M", "N"]
spec.tensor @y "input" "f32" ["N", "E"]
spec.tensor @o "output" "f32" ["M", "E"]

// CHECK-LABEL: tile.kernel @product {
// CHECK-NEXT:    %zero = arith.constant 0 : index
// CHECK-NEXT:    %rows = arith.constant 64 : index
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %E = spec.dim "E"
// CHECK-NEXT:    %i0 = tile.program "i" to %M step %rows
// CHECK-NEXT:    %i_end = arith.addi %i0, %rows : index
// CHECK-NEXT:    %i = tile.range "i" from %i0 to %i_end size %rows
// CHECK-NEXT:    %i_in = arith.cmpi slt, %i, %M : index
// CHECK-NEXT:    %N_PAD = tile.padded %N
// CHECK-NEXT:    %j = tile.range "j" from %zero to %N_PAD size %N_PAD
// CHECK-NEXT:    %j_in = arith.cmpi slt, %j, %N : index
// CHECK-NEXT:    %E_PAD = tile.padded %E
// CHECK-NEXT:    %e = tile.range "e" from %zero to %E_PAD size %E_PAD
// CHECK-NEXT:    %e_in = arith.cmpi slt, %e, %E : index
// CHECK-NEXT:    [[V0:%\d+]] = arith.andi %i_in, %j_in : i1
// CHECK-NEXT:    %x = tile.load @x[%i, %j] where [[V0]] : f32
// CHECK-NEXT:    [[V1:%\d+]] = arith.andi %j_in, %e_in : i1
// CHECK-NEXT:    %y = tile.load @y[%j, %e] where [[V1]] : f32
// CHECK-NEXT:    %p = tile.dot %x, %y over %j : f32
// CHECK-NEXT:    [[V2:%\d+]] = arith.andi %i_in, %e_in : i1
// CHECK-NEXT:    tile.store @o[%i, %e] = %p where [[V2]] : f32
// CHECK-NEXT:  }
tile.kernel @product {
  %zero = arith.constant 0 : index
  %rows = arith.constant 64 : index
  %M = spec.dim "M"
  %N = spec.dim "N"
  %E = spec.dim "E"
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %j = tile.range "j" from %zero to %N size %N
  %e = tile.range "e" from %zero to %E size %E
  %x = tile.load @x[%i, %j] : f32
  %y = tile.load @y[%j, %e] : f32
  tile.within %x from -1000.0 to 1000.0 : f32
  %p = tile.dot %x, %y over %j : f32
  tile.store @o[%i, %e] = %p : f32
}

// CHECK-LABEL: tile.kernel @exponentials {
// CHECK-NEXT:    %zero = arith.constant 0 : index
// CHECK-NEXT:    %rows = arith.constant 64 : index
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %i0 = tile.program "i" to %M step %rows
// CHECK-NEXT:    %i_end = arith.addi %i0, %rows : index
// CHECK-NEXT:    %i = tile.range "i" from %i0 to %i_end size %rows
// CHECK-NEXT:    %i_in = arith.cmpi slt, %i, %M : index
// CHECK-NEXT:    %N_PAD = tile.padded %N
// CHECK-NEXT:    %j = tile.range "j" from %zero to %N_PAD size %N_PAD
// CHECK-NEXT:    %j_in = arith.cmpi slt, %j, %N : index
// CHECK-NEXT:    [[V0:%\d+]] = arith.andi %i_in, %j_in : i1
// CHECK-NEXT:    %x = tile.load @x[%i, %j] where [[V0]] : f32
// CHECK-NEXT:    %y = math.exp2 %x : f32
// CHECK-NEXT:    [[V1:%\d+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:    %y_1 = arith.select %j_in, %y, [[V1]] : f32
// CHECK-NEXT:    %s = tile.sum %y_1 over %j : f32 to f32
// CHECK-NEXT:    tile.store @o[%i, %zero] = %s where %i_in : f32
// CHECK-NEXT:  }
tile.kernel @exponentials {
  %zero = arith.constant 0 : index
  %rows = arith.constant 64 : index
  %M = spec.dim "M"
  %N = spec.dim "N"
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %j = tile.range "j" from %zero to %N size %N
  %x = tile.load @x[%i, %j] : f32
  %y = math.exp2 %x : f32
  %s = tile.sum %y over %j : f32 to f32
  tile.store @o[%i, %zero] = %s : f32
}
