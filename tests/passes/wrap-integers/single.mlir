// RUN: attndsl opt %s --passes wrap-integers

// The square of a parameter, of 2^40 here, leaves 64 bits, and so may its sum with another, a difference that goes only
// into a product, a shift and a quotient. A sum that goes only into sums that wrap is not named, one that is compared
// too is. Numbers of a tile are NumPy's, which wrap by themselves; sums of dims and a bounded parameter fit.

spec.tensor @x "input" "f32" ["N"]
spec.tensor @o "output" "f32" ["M"]
spec.parameter @a index = 1099511627776 : index
tile.kernel @wraps {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %M = spec.dim "M"
  %N = spec.dim "N"
  %a = spec.param "a" : index
  %sum = arith.addi %a, %N : index
  %square = arith.muli %a, %a : index
  %more = arith.addi %square, %sum : index
  %most = arith.subi %more, %M : index
  %compared = arith.muli %a, %sum : index
  %both = arith.addi %compared, %most : index
  %shifted = arith.shli %both, %four : index
  %minus = arith.subi %zero, %one : index
  %quotient = arith.floordivsi %shifted, %minus : index
  %i0 = tile.program "i" to %M step %four
  %i_end = arith.addi %i0, %four : index
  %i = tile.range "i" from %i0 to %i_end size %four
  %i_in = arith.cmpi slt, %i, %M : index
  %large = arith.cmpi slt, %compared, %quotient : index
  %there = arith.andi %i_in, %large : i1
  %far = arith.muli %i, %both : index
  %near = spec.mod %far, %N
  %x = tile.load @x[%near] where %there : f32
  %loaded = tile.loop %j = %zero to %N step %four iter_args(%least = %zero) -> (index) {
    %next = arith.muli %j, %both : index
    %new = arith.minsi %least, %next : index
    tile.yield %new : index
  }
  %any = arith.cmpi sle, %loaded, %zero : index
  %all = arith.andi %i_in, %any : i1
  tile.store @o[%i] = %x where %all : f32
}

// CHECK:       tile.loop
// CHECK:         %new = arith.minsi
// CHECK-NEXT:    tile.wraps %next : index
// CHECK-NEXT:    tile.yield
// CHECK:       tile.store
// CHECK-NEXT:  tile.wraps %compared, %both, %shifted, %quotient : index, index, index, index
// CHECK-NEXT:  }
