// RUN: attndsl opt %s --passes stream-products

// Products of rows by keys, and by values, are streamed where memory holds these so, as is what leaves keys out. Keys of 8
// bits are as memory holds them; values of 8 bits, which something else takes too, are widened. Rows that a table places are
// read when they are multiplied, where one product takes them that leaves no key out; where two do they are gathered once.
// No stream is a product with integers of 32 bits, with what a function makes, of what both vary by row, with a vector, and
// one of 64 bits.

spec.tensor @q "input" "f32" ["M", "D"]
spec.tensor @k "input" "i8" ["N", "D"]
spec.tensor @v "input" "u8" ["N", "D"]
spec.tensor @u "input" "i32" ["N", "D"]
spec.tensor @z "input" "f32" ["N", "D"]
spec.tensor @table "input" "i32" ["N"]
spec.tensor @w "input" "f32" ["D"]
spec.tensor @x "input" "f64" ["N", "D"]
spec.tensor @y "input" "f64" ["M", "D"]
spec.tensor @o "output" "f32" ["M", "D"]
spec.tensor @r "output" "f32" ["M"]
spec.tensor @t "output" "f64" ["M", "N"]
tile.kernel @streams {
  %zero = arith.constant 0 : index
  %rows = arith.constant 8 : index
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %d = tile.range "d" from %zero to %D size %D
  %e = tile.range "e" from %zero to %D size %D
  %q = tile.load @q[%i, %d] : f32
  %w = tile.load @w[%d] : f32
  %none = arith.constant 0.0 : f32
  %start = tile.broadcast %none over (%i, %e) : f32 to f32
  %sum = tile.loop %j0 = %zero to %N step %rows iter_args(%acc = %start) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %rows
    %seen = arith.cmpi sle, %j, %i : index
    %k_int = tile.load @k[%j, %d] : index
    %k = spec.to_float %k_int : f32
    %score = tile.dot %q, %k over %d : f32
    %shown = arith.select %seen, %score, %none : f32
    %v_int = tile.load @v[%j, %e] : index
    %v = spec.to_float %v_int : f32
    %u_int = tile.load @u[%j, %e] : index
    %u = spec.to_float %u_int : f32
    %near = math.tanh %v : f32
    %part = tile.dot %score, %v over %j : f32
    %absent = tile.dot %shown, %v over %j where %seen : f32
    %wide = tile.dot %score, %u over %j : f32
    %entry = tile.load @table[%j] : index
    %place = spec.mod %entry, %N
    %row = tile.load @z[%place, %e] : f32
    %placed = tile.dot %score, %row over %j : f32
    %again = tile.dot %shown, %row over %j where %seen : f32
    %twice = tile.load @z[%place, %d] : f32
    %first = tile.dot %q, %twice over %d : f32
    %other = arith.mulf %q, %q : f32
    %second = tile.dot %other, %twice over %d : f32
    %both = arith.addf %first, %second : f32
    %last = tile.dot %both, %v over %j : f32
    %curved = tile.dot %score, %near over %j : f32
    %some = arith.addf %part, %absent : f32
    %more = arith.addf %some, %wide : f32
    %most = arith.addf %more, %placed : f32
    %rest = arith.addf %again, %last : f32
    %whole = arith.addf %most, %rest : f32
    %all = arith.addf %whole, %curved : f32
    %next = arith.addf %acc, %all : f32
    tile.kept %k_int, %v_int, %u_int : index, index, index
    tile.yield %next : f32
  }
  %span = tile.range "j" from %zero to %N size %N
  %y = tile.load @y[%i, %d] : f64
  %x = tile.load @x[%span, %d] : f64
  %long = tile.dot %y, %x over %d : f64
  %batch = tile.dot %q, %q over %d : f32
  %vector = tile.dot %q, %w over %d : f32
  %two = arith.addf %batch, %vector : f32
  tile.store @o[%i, %e] = %sum : f32
  tile.store @r[%i] = %two : f32
  tile.store @t[%i, %span] = %long : f64
}

// CHECK:      %score = tile.dot %q, %k over %d streamed from 1048576 : f32
// CHECK:      %part = tile.dot %score, %v over %j streamed from 1048576 : f32
// CHECK-NEXT: %absent = tile.dot %shown, %v over %j where %seen streamed from 1048576 : f32
// CHECK-NEXT: %wide = tile.dot %score, %u over %j : f32
// CHECK:      %placed = tile.dot %score, %row over %j streamed from 1048576 : f32
// CHECK-NEXT: %again = tile.dot %shown, %row over %j where %seen streamed from 1048576 : f32
// CHECK:      %first = tile.dot %q, %twice over %d : f32
// CHECK:      %second = tile.dot %other, %twice over %d : f32
// CHECK:      %curved = tile.dot %score, %near over %j : f32
// CHECK:      tile.kept %k_int, %k, %v_int, %u_int : index, f32, index, index
// CHECK-NEXT: tile.deferred %row : f32
// CHECK:      %long = tile.dot %y, %x over %d : f64
// CHECK-NEXT: %batch = tile.dot %q, %q over %d : f32
// CHECK-NEXT: %vector = tile.dot %q, %w over %d : f32
