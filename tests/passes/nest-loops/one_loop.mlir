// RUN: attndsl opt %s --passes nest-loops

// Keys of a page share tiles with those of others; and a table says which page is read.
// CHECK-LABEL: attn.kernel @pages
// CHECK-NOT: attn.outer
// CHECK: attn.over "t_i" to
// A mask that rests on the outer index may be an interval of both.
// CHECK-LABEL: attn.kernel @lines
// CHECK-NOT: attn.outer
// CHECK: attn.over "t_i" to
// Few keys fill no tile.
// CHECK-LABEL: attn.kernel @few
// CHECK-NOT: attn.outer
// CHECK: attn.over "t_i" to
// The position among all keys is asked for.
// CHECK-LABEL: attn.kernel @position
// CHECK-NOT: attn.outer
// CHECK: attn.over "t_i" to
spec.tensor @x "input" "f32" ["G", "M"]
spec.tensor @y "input" "f32" ["G", "16"]
spec.tensor @table "input" "i32" ["G"]
spec.tensor @o "output" "f32" ["N"]
spec.tensor @p "output" "f32" ["N"]
spec.tensor @q "output" "f32" ["N"]
spec.tensor @r "output" "i32" ["N"]
attn.kernel @pages {
  %N = spec.dim "N"
  %G = spec.dim "G"
  %M = spec.dim "M"
  %zero = arith.constant 0 : index
  %j = attn.each "j" to %N
  %both = arith.muli %M, %G : index
  %t_i = attn.over "t_i" to %both
  %t_of = arith.floordivsi %t_i, %M : index
  %t = spec.mod %t_of, %G
  %i = spec.mod %t_i, %M
  %page = attn.read @table[%t] : index
  %low = arith.cmpi sle, %zero, %page : index
  %high = arith.cmpi slt, %page, %G : index
  %in = arith.andi %low, %high : i1
  %v = attn.read @x[%page, %i] where %in : f32
  %s = attn.total %v over %t_i where %in : f32
  attn.write @o[%j] = %s : f32
}
attn.kernel @lines {
  %N = spec.dim "N"
  %G = spec.dim "G"
  %M = spec.dim "M"
  %j = attn.each "j" to %N
  %both = arith.muli %M, %G : index
  %t_i = attn.over "t_i" to %both
  %t_of = arith.floordivsi %t_i, %M : index
  %t = spec.mod %t_of, %G
  %i = spec.mod %t_i, %M
  %seen = arith.cmpi sle, %t, %j : index
  %v = attn.read @x[%t, %i] : f32
  %s = attn.total %v over %t_i where %seen : f32
  attn.write @p[%j] = %s : f32
}
attn.kernel @few {
  %N = spec.dim "N"
  %G = spec.dim "G"
  %M = arith.constant 16 : index
  %j = attn.each "j" to %N
  %both = arith.muli %M, %G : index
  %t_i = attn.over "t_i" to %both
  %t = arith.floordivsi %t_i, %M : index
  %i = spec.mod %t_i, %M
  %v = attn.read @y[%t, %i] : f32
  %s = attn.total %v over %t_i : f32
  attn.write @q[%j] = %s : f32
}
attn.kernel @position {
  %N = spec.dim "N"
  %G = spec.dim "G"
  %M = spec.dim "M"
  %j = attn.each "j" to %N
  %both = arith.muli %M, %G : index
  %t_i = attn.over "t_i" to %both
  %t_of = arith.floordivsi %t_i, %M : index
  %t = spec.mod %t_of, %G
  %i = spec.mod %t_i, %M
  %v = attn.read @x[%t, %i] : f32
  %m, %at = attn.argmax %v, %t_i over %t_i : f32
  attn.write @r[%j] = %at : index
}
