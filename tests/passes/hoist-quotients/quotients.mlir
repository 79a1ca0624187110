// RUN: attndsl opt %s --passes hoist-quotients

// Launched are quotients and remainders of dims, parameters and choices, in a loop too, where a program computes them:
// not that of a program's number, nor one that says how many programs there are.

spec.tensor @x "input" "f32" ["N"]
spec.tensor @o "output" "f32" ["M"]
spec.parameter @window index = 3 : index
tile.kernel @divides {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %M = spec.dim "M"
  %N = spec.dim "N"
  %window = spec.param "window" : index
  %keys = spec.choice "KEYS"
  %pairs = arith.floordivsi %M, %two : index
  %i = tile.program "i" to %pairs step %one
  %half = arith.floordivsi %i, %two : index
  %rest = spec.mod %window, %keys
  %none = arith.constant 0.0 : f32
  %sum = tile.loop %n = %zero to %half step %one iter_args(%a = %none) -> (f32) {
    %third = arith.floordivsi %N, %keys : index
    %near = arith.addi %third, %rest : index
    %low = arith.maxsi %near, %zero : index
    %inside = arith.cmpi slt, %low, %N : index
    %x = tile.load @x[%low] where %inside : f32
    %next = arith.addf %a, %x : f32
    tile.yield %next : f32
  }
  tile.store @o[%i] = %sum : f32
}

// CHECK-LABEL: tile.kernel @divides
// CHECK:         %next = arith.addf
// CHECK-NEXT:    tile.launched %third : index
// CHECK-NEXT:    tile.yield
// CHECK:         tile.store
// CHECK-NEXT:    tile.launched %rest : index
// CHECK-NEXT:  }
