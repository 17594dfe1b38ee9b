// RUN: unmess-opt --pipeline iree-keep-sums-of-products %s | filecheck %s

#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
#none = affine_map<(d0, d1) -> ()>

// The products are elements of a tensor.
// CHECK-LABEL: func.func @of_a_tensor
// CHECK:         arith.mulf
// CHECK:         iterator_types = ["reduction", "reduction"]
// CHECK:         ^bb0(%[[TERM:.*]]: f32, %[[SUM:.*]]: f32):
// CHECK:           %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK:           %[[KEPT:.*]] = arith.addf %[[TERM]], %[[ZERO]]
// CHECK:           arith.addf %[[KEPT]], %[[SUM]]
func.func @of_a_tensor(%x: tensor<3x5xf32>, %y: tensor<5xf32>, %o: tensor<3x5xf32>, %s: tensor<f32>) -> tensor<f32> {
  %0 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%x, %y : tensor<3x5xf32>, tensor<5xf32>) outs(%o : tensor<3x5xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %2 = arith.mulf %a, %b : f32
    linalg.yield %2 : f32
  } -> tensor<3x5xf32>
  %1 = linalg.generic {indexing_maps = [#all, #none], iterator_types = ["reduction", "reduction"]} ins(%0 : tensor<3x5xf32>) outs(%s : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %2 = arith.addf %a, %b : f32
    linalg.yield %2 : f32
  } -> tensor<f32>
  return %1 : tensor<f32>
}

// The products are computed in the sum.
// CHECK-LABEL: func.func @in_the_sum
// CHECK:         %[[TERM:.*]] = arith.mulf
// CHECK:         %[[KEPT:.*]] = arith.addf %[[TERM]], %{{.*}}
// CHECK:         arith.addf %{{.*}}, %[[KEPT]]
func.func @in_the_sum(%x: tensor<3x5xf32>, %y: tensor<5xf32>, %s: tensor<f32>) -> tensor<f32> {
  %0 = linalg.generic {indexing_maps = [#all, #row, #none], iterator_types = ["reduction", "reduction"]} ins(%x, %y : tensor<3x5xf32>, tensor<5xf32>) outs(%s : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %1 = arith.mulf %a, %b : f32
    %2 = arith.addf %c, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// A sum over one axis, and a sum of other terms, stay.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     arith.constant
// CHECK:         return
func.func @others(%x: tensor<3x5xf32>, %y: tensor<5xf32>, %r: tensor<5xf32>, %s: tensor<f32>) -> (tensor<5xf32>, tensor<f32>) {
  %0 = linalg.generic {indexing_maps = [#all, #row, #row], iterator_types = ["reduction", "parallel"]} ins(%x, %y : tensor<3x5xf32>, tensor<5xf32>) outs(%r : tensor<5xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %2 = arith.mulf %a, %b : f32
    %3 = arith.addf %2, %c : f32
    linalg.yield %3 : f32
  } -> tensor<5xf32>
  %1 = linalg.generic {indexing_maps = [#all, #none], iterator_types = ["reduction", "reduction"]} ins(%x : tensor<3x5xf32>) outs(%s : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %2 = arith.addf %a, %b : f32
    linalg.yield %2 : f32
  } -> tensor<f32>
  return %0, %1 : tensor<5xf32>, tensor<f32>
}
