// RUN: not unmess-opt --pipeline stablehlo-random %s 2>&1 | filecheck %s

// CHECK:      linalg: stablehlo.rng of the normal distribution has no lowering that draws
// CHECK-NEXT:   at: user.py:4
func.func @main(%mean: tensor<f32>, %deviation: tensor<f32>) -> tensor<3xf32> {
  %shape = stablehlo.constant dense<3> : tensor<1xi64>
  %0 = stablehlo.rng %mean, %deviation, %shape, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<3xf32> loc("user.py":4:0)
  return %0 : tensor<3xf32>
}
