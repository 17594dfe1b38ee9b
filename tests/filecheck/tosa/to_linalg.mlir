// RUN: unmess-opt --pipeline tosa-to-linalg %s | filecheck %s

// Weights keep their names, the batch stays dynamic, and no TOSA is left. Reshapes become tensor
// operations, and other operations become linalg.

// CHECK-NOT:     tosa.
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %{{[^:]*}}: tensor<?x4xf32> {unmess.input = "x"},
// CHECK-SAME:    %[[W:[^:]*]]: tensor<4x3xf32> {unmess.weight = "w"}) -> tensor<?x3xf32>
// CHECK:         %[[B:.*]] = tensor.expand_shape %[[W]]
// CHECK:         linalg.batch_matmul ins(%{{.*}}, %[[B]] : tensor<1x?x4xf32>, tensor<1x4x3xf32>)
// CHECK:         tensor.collapse_shape {{.*}} : tensor<1x?x3xf32> into tensor<?x3xf32>
// CHECK-NOT:     tosa.
func.func @main(%x: tensor<?x4xf32> {unmess.input = "x"}, %w: tensor<4x3xf32> {unmess.weight = "w"}) -> tensor<?x3xf32> {
  %zero = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %s0 = tosa.const_shape {values = dense<[1, -1, 4]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %s1 = tosa.const_shape {values = dense<[1, 4, 3]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %s2 = tosa.const_shape {values = dense<[-1, 3]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %a = tosa.reshape %x, %s0 : (tensor<?x4xf32>, !tosa.shape<3>) -> tensor<1x?x4xf32>
  %b = tosa.reshape %w, %s1 : (tensor<4x3xf32>, !tosa.shape<3>) -> tensor<1x4x3xf32>
  %c = tosa.matmul %a, %b, %zero, %zero : (tensor<1x?x4xf32>, tensor<1x4x3xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x?x3xf32>
  %d = tosa.reshape %c, %s2 : (tensor<1x?x3xf32>, !tosa.shape<2>) -> tensor<?x3xf32>
  return %d : tensor<?x3xf32>
}
