// RUN: unmess-opt --pipeline reference-attention-weights %s | filecheck %s

#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (m, 0)>

// Only a product reads the weights. A numerator below 2**-126 of the sum becomes zero.
// CHECK-LABEL: func.func @attention(
// CHECK:         ^bb0(%[[EXP:.*]]: f32, %[[SUM:.*]]: f32, %{{.*}}: f32):
// CHECK-DAG:       %[[LEAST:.*]] = arith.constant 1.17549435E-38 : f32
// CHECK-DAG:       %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK:           %[[LIMIT:.*]] = arith.mulf %[[SUM]], %[[LEAST]] : f32
// CHECK:           %[[SMALL:.*]] = arith.cmpf olt, %[[EXP]], %[[LIMIT]] : f32
// CHECK:           %[[CLEARED:.*]] = arith.select %[[SMALL]], %[[ZERO]], %[[EXP]] : f32
// CHECK:           arith.divf %[[CLEARED]], %[[SUM]] : f32
func.func @attention(%scores: tensor<4x6xf32>, %values: tensor<6x8xf32>, %sums: tensor<4x1xf32>, %init: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %empty = tensor.empty() : tensor<4x6xf32>
  %exp = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%scores : tensor<4x6xf32>) outs(%empty : tensor<4x6xf32>) {
  ^bb0(%in: f32, %_: f32):
    %0 = math.exp %in : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%exp : tensor<4x6xf32>) outs(%sums : tensor<4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<4x1xf32>
  %weights = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%exp, %sum : tensor<4x6xf32>, tensor<4x1xf32>) outs(%empty : tensor<4x6xf32>) {
  ^bb0(%in: f32, %total: f32, %_: f32):
    %0 = arith.divf %in, %total : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %result = linalg.matmul ins(%weights, %values : tensor<4x6xf32>, tensor<6x8xf32>) outs(%init : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %result : tensor<4x8xf32>
}

// The program returns the weights, so they stay as they are.
// CHECK-LABEL: func.func @returned(
// CHECK-NOT:     arith.select
func.func @returned(%scores: tensor<4x6xf32>, %values: tensor<6x8xf32>, %sums: tensor<4x1xf32>, %init: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x6xf32>) {
  %empty = tensor.empty() : tensor<4x6xf32>
  %exp = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%scores : tensor<4x6xf32>) outs(%empty : tensor<4x6xf32>) {
  ^bb0(%in: f32, %_: f32):
    %0 = math.exp %in : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%exp : tensor<4x6xf32>) outs(%sums : tensor<4x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  } -> tensor<4x1xf32>
  %weights = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%exp, %sum : tensor<4x6xf32>, tensor<4x1xf32>) outs(%empty : tensor<4x6xf32>) {
  ^bb0(%in: f32, %total: f32, %_: f32):
    %0 = arith.divf %in, %total : f32
    linalg.yield %0 : f32
  } -> tensor<4x6xf32>
  %result = linalg.matmul ins(%weights, %values : tensor<4x6xf32>, tensor<6x8xf32>) outs(%init : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %result, %weights : tensor<4x8xf32>, tensor<4x6xf32>
}
