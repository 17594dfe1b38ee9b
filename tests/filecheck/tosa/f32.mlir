// RUN: unmess-opt --pipeline tosa-f32 %s | filecheck %s

// Constants, attributes and results become f32. The casts between f32 and f64 are removed.

// CHECK-LABEL: @variance
// CHECK-NOT:     f64
// CHECK-NOT:     tosa.cast
// CHECK:         %[[SCALE:.*]] = "tosa.const"() <{values = dense<2.500000e-01> : tensor<1x1xf32>}>
// CHECK:         %[[SUM:.*]] = tosa.reduce_sum %arg0 {axis = 1 : i32} : (tensor<2x4xf32>) -> tensor<2x1xf32>
// CHECK:         %[[MEAN:.*]] = tosa.mul %[[SUM]], %[[SCALE]]
// CHECK:         %[[LIMITED:.*]] = tosa.clamp %[[MEAN]] {max_val = 1.000000e+00 : f32, min_val = 0.000000e+00 : f32}
// CHECK:         return %[[LIMITED]] : tensor<2x1xf32>
func.func @variance(%x: tensor<2x4xf32>) -> tensor<2x1xf32> {
  %shift = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %scale = "tosa.const"() <{values = dense<2.5e-01> : tensor<1x1xf64>}> : () -> tensor<1x1xf64>
  %wide = tosa.cast %x : (tensor<2x4xf32>) -> tensor<2x4xf64>
  %sum = tosa.reduce_sum %wide {axis = 1 : i32} : (tensor<2x4xf64>) -> tensor<2x1xf64>
  %mean = tosa.mul %sum, %scale, %shift : (tensor<2x1xf64>, tensor<1x1xf64>, tensor<1xi8>) -> tensor<2x1xf64>
  %limited = tosa.clamp %mean {min_val = 0.0 : f64, max_val = 1.0 : f64} : (tensor<2x1xf64>) -> tensor<2x1xf64>
  %narrow = tosa.cast %limited : (tensor<2x1xf64>) -> tensor<2x1xf32>
  return %narrow : tensor<2x1xf32>
}
