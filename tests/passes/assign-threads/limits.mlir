// RUN: attndsl opt %s --passes assign-threads

// Before a call reads data, what it knows of its rows is their bound, and of its keys the extent of the tensor in which
// they are places, here shifted by what a program reads. Features count whole, and the largest operation has all three. Few
// rows take longer than their share. A call has all rows and keys of all B sentences.

spec.tensor @q "input" "f32" ["M", "D"]
spec.tensor @k "input" "f32" ["N", "D"]
spec.tensor @first "input" "i32" ["B"]
spec.tensor @rows "input" "i32" ["B"]
spec.tensor @keys "input" "i32" ["B"]
spec.tensor @o "output" "f32" ["B", "M"]
tile.kernel @ragged {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0.0 : f32
  %B = spec.dim "B"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %b = tile.program "b" to %B step %c1
  %count = tile.load @rows[%b] : index
  %rows = arith.minsi %count, %M : index
  %i0 = tile.program "i" to %rows up to %M step %c64
  %i = tile.range "i" from %i0 to %rows size %c64
  %d = tile.range "d" from %c0 to %D size %D
  %q = tile.load @q[%i, %d] : f32
  %first = tile.load @first[%b] : index
  %stop = tile.load @keys[%b] : index
  %none = tile.broadcast %zero over (%i) : f32 to f32
  %sum = tile.loop %j0 = %c0 to %stop step %c256 iter_args(%l = %none) -> (f32) {
    %j = tile.range "j" from %j0 to %stop size %c256
    %at = arith.addi %first, %j : index
    %from = arith.cmpi sle, %c0, %at : index
    %to = arith.cmpi slt, %at, %N : index
    %inside = arith.andi %from, %to : i1
    %k = tile.load @k[%at, %d] where %inside : f32
    %s = tile.dot %q, %k over %d : f32
    %t = tile.sum %s over %j : f32 to f32
    %l1 = arith.addf %l, %t : f32
    tile.yield %l1 : f32
  }
  tile.store @o[%b, %i] = %sum : f32
}

// CHECK-LABEL: tile.kernel @ragged
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %[[size:\S+]] = arith.constant 64 : index
// CHECK-NEXT:    %i_size = arith.minsi %M, %[[size]] : index
// CHECK-NEXT:    %D = spec.dim "D"
// CHECK-NEXT:    %[[N:\S+]] = spec.dim "N"
// CHECK-NEXT:    %[[keys:\S+]] = arith.constant 256 : index
// CHECK-NEXT:    %[[j:\S+]] = arith.minsi %[[N]], %[[keys]] : index
// CHECK-NEXT:    %B = spec.dim "B"
// CHECK-NEXT:    %[[three:\S+]] = arith.constant 3 : index
// CHECK-NEXT:    %[[threefold:\S+]] = arith.muli %i_size, %[[three]] : index
// CHECK-NEXT:    %[[most:\S+]] = arith.constant 24 : index
// CHECK-NEXT:    %[[few:\S+]] = arith.minsi %[[threefold]], %[[most]] : index
// CHECK-NEXT:    %[[i:\S+]] = arith.maxsi %i_size, %[[few]] : index
// CHECK-NEXT:    %[[id:\S+]] = arith.muli %[[i]], %D : index
// CHECK-NEXT:    %step = arith.muli %[[id]], %[[j]] : index
// CHECK-NEXT:    %[[least:\S+]] = arith.constant 786432 : index
// CHECK-NEXT:    %[[large:\S+]] = arith.cmpi sge, %step, %[[least]] : index
// CHECK:         %[[rows:\S+]] = arith.maxsi %M,
// CHECK-NEXT:    %[[row_terms:\S+]] = arith.muli %[[rows]], %D : index
// CHECK-NEXT:    %[[sentence:\S+]] = arith.muli %[[row_terms]], %[[N]] : index
// CHECK-NEXT:    %call = arith.muli %[[sentence]], %B : index
// CHECK-NEXT:    %[[least_call:\S+]] = arith.constant 25165824 : index
// CHECK-NEXT:    %[[large_call:\S+]] = arith.cmpi sge, %call, %[[least_call]] : index
// CHECK-NEXT:    %worth = arith.andi %[[large]], %[[large_call]] : i1
// CHECK-NEXT:    tile.threads share "i" where %worth
