// RUN: attndsl opt %s --passes simplify-indices,canonicalize,cse
// Quotients and remainders fold back to what they are made of, where the divisor is positive.

spec.tensor @x "input" "f32" ["G"]
spec.tensor @y "input" "f32" ["H"]
spec.tensor @o "output" "f32" ["H"]

// CHECK-LABEL: attn.kernel @groups_of_heads {
// CHECK-NEXT:    %H = spec.dim "H"
// CHECK-NEXT:    %G = spec.dim "G"
// CHECK-NEXT:    %zero = arith.constant 0 : index
// CHECK-NEXT:    %some = arith.cmpi ne, %G, %zero : index
// CHECK-NEXT:    spec.assume %some
// CHECK-NEXT:    %rest = spec.mod %H, %G
// CHECK-NEXT:    %exact = arith.cmpi eq, %rest, %zero : index
// CHECK-NEXT:    spec.assume %exact
// CHECK-NEXT:    %size = arith.floordivsi %H, %G : index
// CHECK-NEXT:    %full = arith.cmpi ne, %size, %zero : index
// CHECK-NEXT:    spec.assume %full
// CHECK-NEXT:    %h = attn.each "h" to %H
// CHECK-NEXT:    %g = arith.floordivsi %h, %size : index
// CHECK-NEXT:    %x = attn.read @x[%g] : f32
// CHECK-NEXT:    attn.write @o[%h] = %x : f32
// CHECK-NEXT:  }
attn.kernel @groups_of_heads {
  %H = spec.dim "H"
  %G = spec.dim "G"
  %zero = arith.constant 0 : index
  %some = arith.cmpi ne, %G, %zero : index
  spec.assume %some
  %rest = spec.mod %H, %G
  %exact = arith.cmpi eq, %rest, %zero : index
  spec.assume %exact
  %size = arith.floordivsi %H, %G : index
  %full = arith.cmpi ne, %size, %zero : index
  spec.assume %full
  %h = attn.each "h" to %H
  %g = arith.floordivsi %h, %size : index
  %below = arith.cmpi slt, %g, %G : index
  %x = attn.read @x[%g] where %below : f32
  attn.write @o[%h] = %x : f32
}

// CHECK-LABEL: attn.kernel @not_exact {
// CHECK-NEXT:    %H = spec.dim "H"
// CHECK-NEXT:    %G = spec.dim "G"
// CHECK-NEXT:    %zero = arith.constant 0 : index
// CHECK-NEXT:    %some = arith.cmpi ne, %G, %zero : index
// CHECK-NEXT:    spec.assume %some
// CHECK-NEXT:    %size = arith.floordivsi %H, %G : index
// CHECK-NEXT:    %full = arith.cmpi ne, %size, %zero : index
// CHECK-NEXT:    spec.assume %full
// CHECK-NEXT:    %h = attn.each "h" to %H
// CHECK-NEXT:    %g = arith.floordivsi %h, %size : index
// CHECK-NEXT:    %below = arith.cmpi slt, %g, %G : index
// CHECK-NEXT:    %x = attn.read @x[%g] where %below : f32
// CHECK-NEXT:    attn.write @o[%h] = %x : f32
// CHECK-NEXT:  }
attn.kernel @not_exact {
  %H = spec.dim "H"
  %G = spec.dim "G"
  %zero = arith.constant 0 : index
  %some = arith.cmpi ne, %G, %zero : index
  spec.assume %some
  %size = arith.floordivsi %H, %G : index
  %full = arith.cmpi ne, %size, %zero : index
  spec.assume %full
  %h = attn.each "h" to %H
  %g = arith.floordivsi %h, %size : index
  %below = arith.cmpi slt, %g, %G : index
  %x = attn.read @x[%g] where %below : f32
  attn.write @o[%h] = %x : f32
}

// CHECK-LABEL: attn.kernel @parts_of_a_packed_index {
// CHECK-NEXT:    %G = spec.dim "G"
// CHECK-NEXT:    %H = spec.dim "H"
// CHECK-NEXT:    %four = arith.constant 4 : index
// CHECK-NEXT:    %g = attn.grid "g" to %G
// CHECK-NEXT:    %r = attn.row "r" to %four
// CHECK-NEXT:    %start = arith.muli %g, %four : index
// CHECK-NEXT:    %h = arith.addi %start, %r : index
// CHECK-NEXT:    %inside = arith.cmpi slt, %h, %H : index
// CHECK-NEXT:    %x = attn.read @x[%g] : f32
// CHECK-NEXT:    %y = attn.read @y[%r] : f32
// CHECK-NEXT:    %sum = arith.addf %x, %y : f32
// CHECK-NEXT:    attn.write @o[%h] = %sum where %inside : f32
// CHECK-NEXT:  }
attn.kernel @parts_of_a_packed_index {
  %G = spec.dim "G"
  %H = spec.dim "H"
  %four = arith.constant 4 : index
  %g = attn.grid "g" to %G
  %r = attn.row "r" to %four
  %start = arith.muli %g, %four : index
  %h = arith.addi %start, %r : index
  %quotient = arith.floordivsi %h, %four : index
  %rest = spec.mod %h, %four
  %inside = arith.cmpi slt, %h, %H : index
  %x = attn.read @x[%quotient] : f32
  %y = attn.read @y[%rest] : f32
  %sum = arith.addf %x, %y : f32
  attn.write @o[%h] = %sum where %inside : f32
}

// CHECK-LABEL: attn.kernel @a_divisor_that_may_be_negative {
// CHECK-NEXT:    %H = spec.dim "H"
// CHECK-NEXT:    %G = spec.dim "G"
// CHECK-NEXT:    %h = attn.each "h" to %H
// CHECK-NEXT:    %divisor = arith.subi %H, %G : index
// CHECK-NEXT:    %product = arith.muli %h, %divisor : index
// CHECK-NEXT:    %quotient = arith.floordivsi %product, %divisor : index
// CHECK-NEXT:    %zero = arith.constant 0 : index
// CHECK-NEXT:    %low = arith.cmpi sle, %zero, %quotient : index
// CHECK-NEXT:    %y = attn.read @y[%quotient] where %low : f32
// CHECK-NEXT:    attn.write @o[%h] = %y : f32
// CHECK-NEXT:  }
attn.kernel @a_divisor_that_may_be_negative {
  %H = spec.dim "H"
  %G = spec.dim "G"
  %h = attn.each "h" to %H
  %divisor = arith.subi %H, %G : index
  %product = arith.muli %h, %divisor : index
  %quotient = arith.floordivsi %product, %divisor : index
  %zero = arith.constant 0 : index
  %low = arith.cmpi sle, %zero, %quotient : index
  %y = attn.read @y[%quotient] where %low : f32
  attn.write @o[%h] = %y : f32
}
