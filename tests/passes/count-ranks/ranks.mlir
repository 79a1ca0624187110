// RUN: attndsl opt %s --passes count-ranks
// What becomes a row of its own, whatever the scores depend on; what ranks nothing stays as it is.

spec.tensor @s "input" "f64" ["N"]
spec.tensor @x "input" "f32" ["M", "N"]
spec.tensor @n "input" "i32" ["M"]
spec.tensor @o "output" "i32" ["M", "K"]
spec.tensor @p "output" "i64" ["M", "5"]
spec.tensor @q "output" "f64" ["M"]

// The ranks are the same for all rows, and counted in f64.
// CHECK: spec.tensor @same_ranks "workspace" "f64" ["N"]
// CHECK-LABEL: attn.kernel @same_ranks {
// CHECK: attn.each "n" to %N
// CHECK: attn.write @same_ranks[%n] = %ranked : f64
// CHECK-LABEL: attn.kernel @same {
// CHECK: %i = attn.grid "i" to %M
// CHECK: %t = attn.each "t" to %K
// CHECK: attn.read @same_ranks[%n] : f64
// CHECK-NOT: attn.top
attn.kernel @same {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %K = spec.dim "K"
  %i = attn.each "i" to %M
  %n = attn.axis "n" to %N
  %t = attn.axis "t" to %K
  %s = attn.read @s[%n] : f64
  %low = arith.constant -0.5 : f64
  %seen = arith.cmpf ogt, %s, %low : f64
  %top = attn.top %s where %seen over %n at %t : f64
  attn.write @o[%i, %t] = %top : index
}

// What is computed of a key is computed of the other one too; a bound of the rows stays.
// CHECK-LABEL: attn.kernel @masked_ranks {
// CHECK: attn.grid "i" to %M up to %M
// CHECK: %other = attn.over "other" to %N
// CHECK: %seen = arith.cmpi slt, %n, %length : index
// CHECK: %seen_1 = arith.cmpi slt, %other, %length : index
// CHECK-LABEL: attn.kernel @masked {
attn.kernel @masked {
  %M = spec.dim "M"
  %N = spec.dim "N"
  %five = arith.constant 5 : index
  %i = attn.each "i" to %M up to %M
  %n = attn.axis "n" to %N
  %t = attn.axis "t" to %five
  %x = attn.read @x[%i, %n] : f32
  %length = attn.read @n[%i] : index
  %seen = arith.cmpi slt, %n, %length : index
  %top = attn.top %x where %seen over %n at %t : f32
  attn.write @p[%i, %t] = %top : index
}

// CHECK-LABEL: attn.kernel @ranks_nothing {
// CHECK-NEXT: %M = spec.dim "M"
// CHECK-NEXT: %i = attn.each "i" to %M
attn.kernel @ranks_nothing {
  %M = spec.dim "M"
  %i = attn.each "i" to %M
  %one = arith.constant 1.0 : f64
  attn.write @q[%i] = %one : f64
}
