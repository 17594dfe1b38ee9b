// RUN: unmess-opt --pipeline tosa-profile %s | filecheck %s

// TOSA has no cast of 64-bit integers to floats. Values that were 32-bit are narrowed first. Others
// may not fit, and are not changed.

// CHECK-LABEL: @positions
// CHECK:         %[[AT:.*]] = tosa.reshape
// CHECK:         %[[NARROW:.*]] = tosa.cast %[[AT]] : (tensor<4x1xi64>) -> tensor<4x1xi32>
// CHECK:         tosa.cast %[[NARROW]] : (tensor<4x1xi32>) -> tensor<4x1xf32>
func.func @positions(%x: tensor<4xi32>) -> tensor<4x1xf32> {
  %shape = tosa.const_shape {values = dense<[4, 1]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %wide = tosa.cast %x : (tensor<4xi32>) -> tensor<4xi64>
  %at = tosa.reshape %wide, %shape : (tensor<4xi64>, !tosa.shape<2>) -> tensor<4x1xi64>
  %0 = tosa.cast %at : (tensor<4x1xi64>) -> tensor<4x1xf32>
  return %0 : tensor<4x1xf32>
}

// CHECK-LABEL: @any_number
// CHECK-NEXT:    tosa.cast %{{.*}} : (tensor<4xi64>) -> tensor<4xf32>
func.func @any_number(%x: tensor<4xi64>) -> tensor<4xf32> {
  %0 = tosa.cast %x : (tensor<4xi64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
