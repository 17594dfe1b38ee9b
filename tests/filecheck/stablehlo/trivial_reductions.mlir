// RUN: unmess-opt --pipeline stablehlo-trivial-reductions %s | filecheck %s
// RUN: unmess-opt --pipeline stablehlo-to-linalg %s | filecheck %s --check-prefix LINALG

// LINALG-NOT:  stablehlo

// CHECK-LABEL: func.func @of_a_number(
// CHECK-SAME:    %[[X:.*]]: tensor<f32>, %[[START:.*]]: tensor<f32>
// CHECK:         %[[FIRST:.*]] = stablehlo.broadcast_in_dim %[[START]], dims = []
// CHECK:         "stablehlo.map"(%[[FIRST]], %[[X]])
// CHECK:           stablehlo.add
func.func @of_a_number(%x: tensor<f32>, %start: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.reduce(%x init: %start) applies stablehlo.add across dimensions = [] : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @without_elements(
// CHECK:         %[[ONE:.*]] = stablehlo.constant dense<1.000000e+00>
// CHECK:         %[[FILLED:.*]] = stablehlo.broadcast_in_dim %[[ONE]], dims = [] : (tensor<f32>) -> tensor<3xf32>
// CHECK:         return %[[FILLED]]
func.func @without_elements(%x: tensor<3x0xf32>) -> tensor<3xf32> {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %one) applies stablehlo.multiply across dimensions = [1] : (tensor<3x0xf32>, tensor<f32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// CHECK-LABEL: func.func @of_elements(
// CHECK:         stablehlo.reduce
func.func @of_elements(%x: tensor<3x2xf32>, %start: tensor<f32>) -> tensor<3xf32> {
  %0 = stablehlo.reduce(%x init: %start) applies stablehlo.add across dimensions = [1] : (tensor<3x2xf32>, tensor<f32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
