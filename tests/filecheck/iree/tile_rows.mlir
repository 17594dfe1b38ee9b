// RUN: unmess-opt --pipeline iree-tile-rows %s | filecheck %s

// The rows are padded to tiles of 8. The product of tiles is a dispatch with a schedule.
// CHECK-LABEL: func.func @linear
// CHECK-SAME:    %[[X:.*]]: tensor<?x24xf32>, %[[W:.*]]: tensor<24x96xf32>, %[[B:.*]]: tensor<?x96xf32>
// CHECK:         %[[ROWS:.*]] = tensor.dim %[[X]]
// CHECK:         %[[COUNT:.*]] = arith.ceildivui %[[ROWS]]
// CHECK:         tensor.pad %[[X]] low[0, 0] high[%{{.*}}, 0]
// CHECK:         tensor.expand_shape %{{.*}} output_shape [%[[COUNT]], 8, 24]
// CHECK:         "flow.dispatch.region"(%[[COUNT]])
// CHECK:           linalg.generic {{.*}} "reduction"]
// CHECK-SAME:      distribution = [8, 0, 32, 0], vector_common_parallel = [1, 8, 32, 0], vector_reduction = [0, 0, 0, 1]
// CHECK:         tensor.collapse_shape
// CHECK:         %[[RESULT:.*]] = tensor.extract_slice %{{.*}}[0, 0] [%[[ROWS]], 96] [1, 1]
// CHECK:         linalg.generic {{.*}} ins(%[[RESULT]], %[[B]] :
// CHECK-NOT:     linalg.matmul
func.func @linear(%x: tensor<?x24xf32>, %w: tensor<24x96xf32>, %b: tensor<?x96xf32>) -> tensor<?x96xf32> {
  %0 = linalg.matmul ins(%x, %w : tensor<?x24xf32>, tensor<24x96xf32>) outs(%b : tensor<?x96xf32>) -> tensor<?x96xf32>
  return %0 : tensor<?x96xf32>
}

// Other products do not change: of static sizes, of f64, of columns that fill no vector, and of a
// transposed matrix.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-4: linalg.matmul
// CHECK-NOT:     flow.dispatch.region
func.func @others(%x: tensor<4x8xf32>, %y: tensor<?x8xf32>, %z: tensor<?x8xf64>, %w: tensor<8x16xf32>, %v: tensor<8x16xf64>, %u: tensor<8x10xf32>, %t: tensor<16x8xf32>, %a: tensor<4x16xf32>, %b: tensor<?x16xf64>, %c: tensor<?x10xf32>, %d: tensor<?x16xf32>) -> (tensor<4x16xf32>, tensor<?x16xf64>, tensor<?x10xf32>, tensor<?x16xf32>) {
  %0 = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x16xf32>) outs(%a : tensor<4x16xf32>) -> tensor<4x16xf32>
  %1 = linalg.matmul ins(%z, %v : tensor<?x8xf64>, tensor<8x16xf64>) outs(%b : tensor<?x16xf64>) -> tensor<?x16xf64>
  %2 = linalg.matmul ins(%y, %u : tensor<?x8xf32>, tensor<8x10xf32>) outs(%c : tensor<?x10xf32>) -> tensor<?x10xf32>
  %3 = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] ins(%y, %t : tensor<?x8xf32>, tensor<16x8xf32>) outs(%d : tensor<?x16xf32>) -> tensor<?x16xf32>
  return %0, %1, %2, %3 : tensor<4x16xf32>, tensor<?x16xf64>, tensor<?x10xf32>, tensor<?x16xf32>
}
