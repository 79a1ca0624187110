// RUN: attndsl opt %s --passes 'choose-keys{least=4 most=16 products=256 few=2 longer=96}'

// A tile of up to two rows has 96 keys, be these a slice that is shifted, or bytes with a scale each. It has no more than
// others where a table places keys, where they are widened, and where they are computed with, feature by feature.

spec.tensor @q "input" "f32" ["M", "D"]
spec.tensor @k "input" "f32" ["N", "D"]
spec.tensor @bytes "input" "i8" ["N", "D"]
spec.tensor @halves "input" "f16" ["N", "D"]
spec.tensor @scale "input" "f32" ["N"]
spec.tensor @table "input" "i32" ["N"]
spec.tensor @o "output" "f32" ["M"]

// CHECK-LABEL: tile.kernel @slice
// CHECK:         %keys = arith.muli
// CHECK:         %[[rows:\S+]] = arith.maxsi %{{\S+}}, %[[one:\S+]] : index
// CHECK-NEXT:    %[[often:\S+]] = arith.floordivsi %{{.*}}, %[[rows]] : index
// CHECK-NEXT:    %[[few:\S+]] = arith.minsi %[[often]], %[[one]] : index
// CHECK-NEXT:    %[[longer:\S+]] = arith.constant 96 : index
// CHECK-NEXT:    %[[keys:\S+]] = arith.muli %[[few]], %[[longer]] : index
// CHECK-NEXT:    %keys{{.*}} = arith.maxsi %keys, %[[keys]] : index
tile.kernel @slice {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %keys = spec.choice "KEYS"
  %zero = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %i0 = tile.program "i" to %M step %c4
  %i = tile.range "i" from %i0 to %M size %c4
  %d = tile.range "d" from %c0 to %D size %D
  %q = tile.load @q[%i, %d] : f32
  %none = tile.broadcast %zero over (%i) : f32 to f32
  %sum = tile.loop %j0 = %c0 to %N step %keys iter_args(%l = %none) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %keys
    %next = arith.addi %j, %c0 : index
    %k = tile.load @k[%next, %d] : f32
    %s = tile.dot %q, %k over %d : f32
    %t = tile.sum %s over %j : f32 to f32
    %l1 = arith.addf %l, %t : f32
    tile.yield %l1 : f32
  }
  tile.store @o[%i] = %sum : f32
}

// CHECK-LABEL: tile.kernel @bytes
// CHECK:         %keys{{.*}} = arith.maxsi %keys
tile.kernel @bytes {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %keys = spec.choice "KEYS"
  %zero = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %i0 = tile.program "i" to %M step %c4
  %i = tile.range "i" from %i0 to %M size %c4
  %d = tile.range "d" from %c0 to %D size %D
  %q = tile.load @q[%i, %d] : f32
  %none = tile.broadcast %zero over (%i) : f32 to f32
  %sum = tile.loop %j0 = %c0 to %N step %keys iter_args(%l = %none) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %keys
    %int = tile.load @bytes[%j, %d] : index
    %float = spec.to_float %int : f32
    %scale = tile.load @scale[%j] : f32
    %k = arith.mulf %float, %scale : f32
    %s = tile.dot %q, %k over %d : f32
    %t = tile.sum %s over %j : f32 to f32
    %l1 = arith.addf %l, %t : f32
    tile.yield %l1 : f32
  }
  tile.store @o[%i] = %sum : f32
}

// CHECK-LABEL: tile.kernel @placed
// CHECK-NOT:     arith.constant 96 : index
// CHECK:         tile.loop
tile.kernel @placed {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %keys = spec.choice "KEYS"
  %zero = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %i0 = tile.program "i" to %M step %c4
  %i = tile.range "i" from %i0 to %M size %c4
  %d = tile.range "d" from %c0 to %D size %D
  %q = tile.load @q[%i, %d] : f32
  %none = tile.broadcast %zero over (%i) : f32 to f32
  %sum = tile.loop %j0 = %c0 to %N step %keys iter_args(%l = %none) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %keys
    %place = tile.load @table[%j] : index
    %from = arith.cmpi sle, %c0, %place : index
    %upto = arith.cmpi slt, %place, %N : index
    %there = arith.andi %from, %upto : i1
    %k = tile.load @k[%place, %d] where %there : f32
    %s = tile.dot %q, %k over %d : f32
    %t = tile.sum %s over %j : f32 to f32
    %l1 = arith.addf %l, %t : f32
    tile.yield %l1 : f32
  }
  tile.store @o[%i] = %sum : f32
}

// CHECK-LABEL: tile.kernel @widened
// CHECK-NOT:     arith.constant 96 : index
// CHECK:         tile.loop
tile.kernel @widened {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %keys = spec.choice "KEYS"
  %zero = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %i0 = tile.program "i" to %M step %c4
  %i = tile.range "i" from %i0 to %M size %c4
  %d = tile.range "d" from %c0 to %D size %D
  %q = tile.load @q[%i, %d] : f32
  %none = tile.broadcast %zero over (%i) : f32 to f32
  %sum = tile.loop %j0 = %c0 to %N step %keys iter_args(%l = %none) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %keys
    %k = tile.load @halves[%j, %d] : f32
    %s = tile.dot %q, %k over %d : f32
    %t = tile.sum %s over %j : f32 to f32
    %l1 = arith.addf %l, %t : f32
    tile.yield %l1 : f32
  }
  tile.store @o[%i] = %sum : f32
}

// CHECK-LABEL: tile.kernel @computed
// CHECK-NOT:     arith.constant 96 : index
// CHECK:         tile.loop
tile.kernel @computed {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %keys = spec.choice "KEYS"
  %zero = arith.constant 0.0 : f32
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %i0 = tile.program "i" to %M step %c4
  %i = tile.range "i" from %i0 to %M size %c4
  %d = tile.range "d" from %c0 to %D size %D
  %q = tile.load @q[%i, %d] : f32
  %none = tile.broadcast %zero over (%i) : f32 to f32
  %sum = tile.loop %j0 = %c0 to %N step %keys iter_args(%l = %none) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %keys
    %read = tile.load @k[%j, %d] : f32
    %k = math.tanh %read : f32
    %s = tile.dot %q, %k over %d : f32
    %t = tile.sum %s over %j : f32 to f32
    %l1 = arith.addf %l, %t : f32
    tile.yield %l1 : f32
  }
  tile.store @o[%i] = %sum : f32
}
