// RUN: attndsl opt %s --passes 'assign-threads{least=1000 least_call=5000}'

// Where no call knows how many rows or keys there are, tiles count as full: 8 rows, which take the time of
// 24, leave 42 keys of 1000 elements, and 8 rows of 4 keys, which is all that is known, are never worth it.

spec.tensor @x "input" "f32" ["2 * N"]
spec.tensor @rows "input" "i32" ["B"]
spec.tensor @o "output" "f32" ["B", "N"]
tile.kernel @open {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %B = spec.dim "B"
  %N = spec.dim "N"
  %b = tile.program "b" to %B step %c1
  %count = tile.load @rows[%b] : index
  %rows = arith.minsi %count, %N : index
  %i0 = tile.program "i" to %rows step %c8
  %i = tile.range "i" from %i0 to %rows size %c8
  %n = tile.range "n" from %c0 to %N size %N
  %x = tile.load @x[%n] : f32
  %y = tile.load @x[%i] : f32
  %z = arith.mulf %x, %y : f32
  %t = tile.sum %z over %n : f32 to f32
  tile.store @o[%b, %i] = %t : f32
}

tile.kernel @known {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %B = spec.dim "B"
  %N = spec.dim "N"
  %b = tile.program "b" to %B step %c1
  %count = tile.load @rows[%b] : index
  %rows = arith.minsi %count, %N : index
  %stop = arith.maxsi %rows, %c1 : index
  %i0 = tile.program "i" to %rows step %c8
  %i = tile.range "i" from %i0 to %rows size %c8
  %none = tile.broadcast %zero over (%i) : f32 to f32
  %sum = tile.loop %j0 = %c0 to %stop step %c4 iter_args(%l = %none) -> (f32) {
    %j = tile.range "j" from %j0 to %stop size %c4
    %at = arith.addi %i, %j : index
    %x = tile.load @x[%at] : f32
    %t = tile.sum %x over %j : f32 to f32
    %l1 = arith.addf %l, %t : f32
    tile.yield %l1 : f32
  }
  tile.store @o[%b, %i] = %sum : f32
}

// CHECK-LABEL: tile.kernel @open
// CHECK-NEXT:    %N = spec.dim "N"
// CHECK-NEXT:    %B = spec.dim "B"
// CHECK-NEXT:    %[[least:\S+]] = arith.constant 42 : index
// CHECK-NEXT:    %[[large:\S+]] = arith.cmpi sge, %N, %[[least]] : index
// CHECK-NEXT:    %call = arith.muli %N, %B : index
// CHECK-NEXT:    %[[least_call:\S+]] = arith.constant 209 : index
// CHECK-NEXT:    %[[large_call:\S+]] = arith.cmpi sge, %call, %[[least_call]] : index
// CHECK-NEXT:    %worth = arith.andi %[[large]], %[[large_call]] : i1
// CHECK-NEXT:    tile.threads share "i" where %worth
// CHECK-LABEL: tile.kernel @known
// CHECK-NEXT:    %B = spec.dim "B"
// CHECK-NEXT:    %[[one:\S+]] = arith.constant 1 : index
// CHECK-NEXT:    %[[least:\S+]] = arith.constant 11 : index
// CHECK-NEXT:    %[[large:\S+]] = arith.cmpi sge, %[[one]], %[[least]] : index
// CHECK-NEXT:    %[[least_call:\S+]] = arith.constant 53 : index
// CHECK-NEXT:    %[[large_call:\S+]] = arith.cmpi sge, %B, %[[least_call]] : index
// CHECK-NEXT:    %worth = arith.andi %[[large]], %[[large_call]] : i1
// CHECK-NEXT:    tile.threads share "i" where %worth
