// RUN: unmess-opt --pipeline tosa-to-linalg %s | filecheck %s

// A scatter becomes loops, before the pass that lowers all other operations.

// CHECK-LABEL: @main
// CHECK-NOT:     tosa.
// CHECK:         scf.for
// CHECK:         tensor.insert_slice
// CHECK:         linalg.generic
func.func @main(%x: tensor<1x4x3xf32>, %at: tensor<1x2xi32>, %new: tensor<1x2x3xf32>) -> tensor<1x4x3xf32> {
  %0 = tosa.scatter %x, %at, %new : (tensor<1x4x3xf32>, tensor<1x2xi32>, tensor<1x2x3xf32>) -> tensor<1x4x3xf32>
  %1 = tosa.tanh %0 : (tensor<1x4x3xf32>) -> tensor<1x4x3xf32>
  return %1 : tensor<1x4x3xf32>
}
