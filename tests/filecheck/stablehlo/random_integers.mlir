// RUN: not unmess-opt --pipeline stablehlo-to-linalg %s 2>&1 | filecheck %s

// In IR from other tools, the available lowering would use the same seed for each call.

// CHECK:      linalg: stablehlo.rng of i32 has no lowering that draws new numbers at each call
// CHECK-NEXT:   at: user.py:4
// CHECK-NEXT:   hint: the StableHLO is valid for other tools
func.func @main(%low: tensor<i32>, %high: tensor<i32>) -> tensor<3xi32> {
  %shape = stablehlo.constant dense<3> : tensor<1xi64>
  %0 = stablehlo.rng %low, %high, %shape, distribution = UNIFORM : (tensor<i32>, tensor<i32>, tensor<1xi64>) -> tensor<3xi32> loc("user.py":4:0)
  return %0 : tensor<3xi32>
}
