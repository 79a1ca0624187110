// RUN: attndsl opt %s --passes 'choose-keys{least=4 most=16 products=256}'

// A tile has the keys with which the largest product has 256 multiplications, in fours, and 16 at most. Of rows whose
// number only data tell, and of a tile that is full, what is known counts: 8 rows of 3 features leave 10 keys, so 8.

spec.tensor @q "input" "f32" ["M", "D"]
spec.tensor @k "input" "f32" ["N", "D"]
spec.tensor @o "output" "f32" ["M"]
tile.kernel @asked {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %keys = spec.choice "KEYS"
  %zero = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %i0 = tile.program "i" to %M step %c8
  %i = tile.range "i" from %i0 to %M size %c8
  %d = tile.range "d" from %c0 to %D size %D
  %q = tile.load @q[%i, %d] : f32
  %none = tile.broadcast %zero over (%i) : f32 to f32
  %sum = tile.loop %j0 = %c0 to %N step %keys iter_args(%l = %none) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %keys
    %k = tile.load @k[%j, %d] : f32
    %s = tile.dot %q, %k over %d : f32
    %t = tile.sum %s over %j : f32 to f32
    %l1 = arith.addf %l, %t : f32
    tile.yield %l1 : f32
  }
  tile.store @o[%i] = %sum : f32
}

// CHECK-LABEL: tile.kernel @asked
// CHECK-NEXT:    %M = spec.dim "M"
// CHECK-NEXT:    %[[size:\S+]] = arith.constant 8 : index
// CHECK-NEXT:    %i_size = arith.minsi %M, %[[size]] : index
// CHECK-NEXT:    %D = spec.dim "D"
// CHECK-NEXT:    %per_key = arith.muli %i_size, %D : index
// CHECK-NEXT:    %[[few:\S+]] = arith.constant 16 : index
// CHECK-NEXT:    %[[divisor:\S+]] = arith.maxsi %per_key, %[[few]] : index
// CHECK-NEXT:    %[[many:\S+]] = arith.constant 64 : index
// CHECK-NEXT:    %[[quotient:\S+]] = arith.floordivsi %[[many]], %[[divisor]] : index
// CHECK-NEXT:    %[[one:\S+]] = arith.constant 1 : index
// CHECK-NEXT:    %[[whole:\S+]] = arith.maxsi %[[quotient]], %[[one]] : index
// CHECK-NEXT:    %[[least:\S+]] = arith.constant 4 : index
// CHECK-NEXT:    %keys = arith.muli %[[whole]], %[[least]] : index

// CHECK-LABEL: tile.kernel @known
// CHECK-NEXT:    %keys = arith.constant 8 : index
tile.kernel @known {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c8 = arith.constant 8 : index
  %keys = spec.choice "KEYS"
  %zero = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %n = tile.load @k[%c0, %c0] : f32
  %some = arith.cmpf ogt, %n, %zero : f32
  %rows = arith.select %some, %M, %M : index
  %i0 = tile.program "i" to %rows step %c8
  %i = tile.range "i" from %i0 to %rows size %c8
  %d = tile.range "d" from %c0 to %c3 size %c3
  %q = tile.load @q[%i, %d] : f32
  %none = tile.broadcast %zero over (%i) : f32 to f32
  %sum = tile.loop %j0 = %c0 to %N step %keys iter_args(%l = %none) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %keys
    %k = tile.load @k[%j, %d] : f32
    %s = tile.dot %q, %k over %d : f32
    %t = tile.sum %s over %j : f32 to f32
    %l1 = arith.addf %l, %t : f32
    tile.yield %l1 : f32
  }
  tile.store @o[%i] = %sum : f32
}

// CHECK-LABEL: tile.kernel @single
// CHECK-NEXT:    %keys = arith.constant 16 : index
// CHECK:    tile.loop %[[j0:\S+]] = %{{.*}} to %N step %keys
tile.kernel @single {
  %c0 = arith.constant 0 : index
  %keys = spec.choice "KEYS"
  %zero = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %one = arith.constant 1 : index
  %i = tile.program "i" to %M step %one
  %sum = tile.loop %j0 = %c0 to %N step %keys iter_args(%l = %zero) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %keys
    %k = tile.load @k[%j, %c0] : f32
    %t = tile.sum %k over %j : f32 to f32
    %l1 = arith.addf %l, %t : f32
    tile.yield %l1 : f32
  }
  tile.store @o[%i] = %sum : f32
}
