// RUN: unmess-opt --pipeline stablehlo-to-linalg %s | filecheck %s

// The comparator works on scalars instead of tensors. Two neighbors are in order if the first is
// less, or the second is not. The order of NaN is that of the comparator in the file.

// CHECK-LABEL: func.func public @main
// CHECK:         tm_tensor.sort dimension(0)
// CHECK-NEXT:    ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32):
// CHECK-NEXT:      %[[LESS:.*]] = arith.cmpf olt, %[[A]], %[[B]]
// CHECK-NEXT:      %[[MORE:.*]] = arith.cmpf olt, %[[B]], %[[A]]
// CHECK-NEXT:      %[[NOT:.*]] = arith.xori %[[MORE]]
// CHECK-NEXT:      %[[STAYS:.*]] = arith.ori %[[LESS]], %[[NOT]]
// CHECK-NEXT:      tm_tensor.yield %[[STAYS]]
func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
