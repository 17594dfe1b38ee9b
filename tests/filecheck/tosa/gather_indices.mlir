// RUN: unmess-opt --pipeline tosa-profile %s | filecheck %s

// TOSA has no gather of 64-bit integers with 32-bit indices. A gather of floats is not changed.

// CHECK-LABEL: @integers
// CHECK:         %[[WIDE:.*]] = tosa.cast %arg1 : (tensor<1x2xi32>) -> tensor<1x2xi64>
// CHECK:         tosa.gather %arg0, %[[WIDE]] : (tensor<1x4x3xi64>, tensor<1x2xi64>) -> tensor<1x2x3xi64>
func.func @integers(%values: tensor<1x4x3xi64>, %at: tensor<1x2xi32>) -> tensor<1x2x3xi64> {
  %0 = tosa.gather %values, %at : (tensor<1x4x3xi64>, tensor<1x2xi32>) -> tensor<1x2x3xi64>
  return %0 : tensor<1x2x3xi64>
}

// CHECK-LABEL: @floats
// CHECK-NEXT:    tosa.gather %arg0, %arg1 : (tensor<1x4x3xf32>, tensor<1x2xi32>)
func.func @floats(%values: tensor<1x4x3xf32>, %at: tensor<1x2xi32>) -> tensor<1x2x3xf32> {
  %0 = tosa.gather %values, %at : (tensor<1x4x3xf32>, tensor<1x2xi32>) -> tensor<1x2x3xf32>
  return %0 : tensor<1x2x3xf32>
}
