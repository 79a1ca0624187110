// RUN: attndsl opt %s --passes 'choose-keys{least=16 most=64 products=256 beside=1024 streamed=8}'

// Heads that lie beside each other behind each key have 4096 numbers of keys in a turn together, those of them that will be
// computed together: one in four programs. Keys come in twos. They have 1024 where they are widened, or where a table places
// them and rows are more than 8. Programs of more rows than 16, and such as read keys of a head one behind another, have the
// keys of any others.

spec.tensor @q "input" "f32" ["H", "M", "D"]
spec.tensor @k "input" "f32" ["N", "H", "D"]
spec.tensor @halves "input" "f16" ["N", "H", "D"]
spec.tensor @table "input" "i32" ["N"]
spec.tensor @apart "input" "f32" ["H", "N", "D"]
spec.tensor @bias "input" "f32" ["N", "H"]
spec.tensor @o "output" "f32" ["H", "M"]

// CHECK-LABEL: tile.kernel @lying
// CHECK:         %keys = arith.muli
// CHECK:         %programs = arith.muli %H
// CHECK:         %[[four:\S+]] = arith.constant 4 : index
// CHECK-NEXT:    %[[share:\S+]] = arith.floordivsi %programs, %[[four]] : index
// CHECK-NEXT:    %[[least:\S+]] = arith.maxsi %[[share]], %[[one:\S+]] : index
// CHECK-NEXT:    %[[together:\S+]] = arith.minsi %H{{\S*}}, %[[least]] : index
// CHECK-NEXT:    %[[D:\S+]] = spec.dim "D"
// CHECK-NEXT:    %[[each:\S+]] = arith.muli %[[together]], %[[D]] : index
// CHECK-NEXT:    %[[once:\S+]] = arith.constant 1 : index
// CHECK-NEXT:    %[[most:\S+]] = arith.constant 16 : index
// CHECK-NEXT:    %[[rows:\S+]] = arith.maxsi %i_size{{\S*}}, %[[once]] : index
// CHECK-NEXT:    %[[often:\S+]] = arith.floordivsi %[[most]], %[[rows]] : index
// CHECK-NEXT:    %[[few:\S+]] = arith.minsi %[[often]], %[[once]] : index
// CHECK-NEXT:    %[[counted:\S+]] = arith.muli %[[each]], %[[few]] : index
// CHECK-NEXT:    %[[all:\S+]] = arith.constant 2048 : index
// CHECK-NEXT:    %[[divisor:\S+]] = arith.maxsi %[[counted]], %[[one]] : index
// CHECK-NEXT:    %[[times:\S+]] = arith.floordivsi %[[all]], %[[divisor]] : index
// CHECK-NEXT:    %[[whole:\S+]] = arith.maxsi %[[times]], %[[one]] : index
// CHECK-NEXT:    %[[two:\S+]] = arith.constant 2 : index
// CHECK-NEXT:    %[[limit:\S+]] = arith.muli %[[whole]], %[[two]] : index
// CHECK-NEXT:    %keys{{\S*}} = arith.minsi %keys, %[[limit]] : index
tile.kernel @lying {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 32 : index
  %keys = spec.choice "KEYS"
  %least = arith.constant 0xff800000 : f32
  %H = spec.dim "H"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %h = tile.program "h" to %H step %c1
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %d = tile.range "d" from %c0 to %D size %D
  %q = tile.load @q[%h, %i, %d] : f32
  %none = tile.broadcast %least over (%i) : f32 to f32
  %most = tile.loop %j0 = %c0 to %N step %keys iter_args(%l = %none) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %keys
    %k = tile.load @k[%j, %h, %d] : f32
    %s = tile.dot %q, %k over %d : f32
    %t = tile.max %s over %j : f32 to f32
    %l1 = arith.maximumf %l, %t : f32
    tile.yield %l1 : f32
  }
  tile.store @o[%h, %i] = %most : f32
}

// CHECK-LABEL: tile.kernel @widened
// CHECK:         arith.constant 512 : index
// CHECK:         %keys{{\S*}} = arith.minsi %keys
tile.kernel @widened {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 32 : index
  %keys = spec.choice "KEYS"
  %least = arith.constant 0xff800000 : f32
  %H = spec.dim "H"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %h = tile.program "h" to %H step %c1
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %d = tile.range "d" from %c0 to %D size %D
  %q = tile.load @q[%h, %i, %d] : f32
  %none = tile.broadcast %least over (%i) : f32 to f32
  %most = tile.loop %j0 = %c0 to %N step %keys iter_args(%l = %none) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %keys
    %k = tile.load @halves[%j, %h, %d] : f32
    %s = tile.dot %q, %k over %d : f32
    %t = tile.max %s over %j : f32 to f32
    %l1 = arith.maximumf %l, %t : f32
    tile.yield %l1 : f32
  }
  tile.store @o[%h, %i] = %most : f32
}

// CHECK-LABEL: tile.kernel @placed
// CHECK:         %[[numbers:\S+]] = arith.constant 512 : index
// CHECK:         %[[most:\S+]] = arith.constant 8 : index
// CHECK-NEXT:    %[[rows:\S+]] = arith.maxsi %i_size{{\S*}}, %[[one:\S+]] : index
// CHECK-NEXT:    %[[often:\S+]] = arith.floordivsi %[[most]], %[[rows]] : index
// CHECK-NEXT:    %[[few:\S+]] = arith.minsi %[[often]], %[[one]] : index
// CHECK-NEXT:    %[[four:\S+]] = arith.constant 4 : index
// CHECK-NEXT:    %[[more:\S+]] = arith.muli %[[few]], %[[four]] : index
// CHECK-NEXT:    %[[times:\S+]] = arith.maxsi %[[more]], %{{\S+}} : index
// CHECK-NEXT:    arith.muli %[[times]], %[[numbers]] : index
// CHECK:         %keys{{\S*}} = arith.minsi %keys
tile.kernel @placed {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 32 : index
  %keys = spec.choice "KEYS"
  %least = arith.constant 0xff800000 : f32
  %H = spec.dim "H"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %h = tile.program "h" to %H step %c1
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %d = tile.range "d" from %c0 to %D size %D
  %q = tile.load @q[%h, %i, %d] : f32
  %none = tile.broadcast %least over (%i) : f32 to f32
  %most = tile.loop %j0 = %c0 to %N step %keys iter_args(%l = %none) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %keys
    %entry = tile.load @table[%j] : index
    %at = spec.mod %entry, %N
    %k = tile.load @k[%at, %h, %d] : f32
    %s = tile.dot %q, %k over %d : f32
    %t = tile.max %s over %j : f32 to f32
    %l1 = arith.maximumf %l, %t : f32
    tile.yield %l1 : f32
  }
  tile.store @o[%h, %i] = %most : f32
}

// CHECK-LABEL: tile.kernel @apart
// CHECK:         %keys = arith.muli
// CHECK-NOT:     %keys_1
tile.kernel @apart {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 32 : index
  %keys = spec.choice "KEYS"
  %least = arith.constant 0xff800000 : f32
  %H = spec.dim "H"
  %M = spec.dim "M"
  %N = spec.dim "N"
  %D = spec.dim "D"
  %h = tile.program "h" to %H step %c1
  %i0 = tile.program "i" to %M step %rows
  %i = tile.range "i" from %i0 to %M size %rows
  %d = tile.range "d" from %c0 to %D size %D
  %q = tile.load @q[%h, %i, %d] : f32
  %none = tile.broadcast %least over (%i) : f32 to f32
  %most = tile.loop %j0 = %c0 to %N step %keys iter_args(%l = %none) -> (f32) {
    %j = tile.range "j" from %j0 to %N size %keys
    %k = tile.load @apart[%h, %j, %d] : f32
    %s = tile.dot %q, %k over %d : f32
    %bias = tile.load @bias[%j, %h] : f32
    %y = arith.addf %s, %bias : f32
    %t = tile.max %y over %j : f32 to f32
    %l1 = arith.maximumf %l, %t : f32
    tile.yield %l1 : f32
  }
  tile.store @o[%h, %i] = %most : f32
}
