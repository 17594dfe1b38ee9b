// RUN: not unmess-opt --pipeline stablehlo-random %s 2>&1 | filecheck %s

// CHECK:      linalg: stablehlo.rng of dynamic sizes has no lowering that draws
// CHECK-NEXT:   at: user.py:4
func.func @main(%low: tensor<f32>, %high: tensor<f32>, %shape: tensor<1xi64>) -> tensor<?xf32> {
  %0 = stablehlo.rng %low, %high, %shape, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<?xf32> loc("user.py":4:0)
  return %0 : tensor<?xf32>
}
