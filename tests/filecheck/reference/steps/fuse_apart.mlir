// RUN: unmess-opt --pipeline reference-fuse %s | filecheck %s

// The activation is computed once, before the product that reads it. The transposed matrix is read
// in place.

#matrix = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG:   #[[LHS:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG:   #[[RHS:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-LABEL: func.func @main(
// CHECK:         %[[ACTIVATION:.*]] = linalg.generic
// CHECK:           math.sin
// CHECK:         linalg.generic {indexing_maps = [#[[LHS]], #[[RHS]], {{.*}} ins(%[[ACTIVATION]], %arg1
// CHECK-NOT:       math.sin
// CHECK:         return
func.func @main(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>, %out: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.generic {indexing_maps = [#matrix, #matrix], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%in: f32, %ignored: f32):
    %2 = math.sin %in : f32
    linalg.yield %2 : f32
  } -> tensor<4x8xf32>
  %f = tensor.empty() : tensor<8x16xf32>
  %t = linalg.transpose ins(%w : tensor<16x8xf32>) outs(%f : tensor<8x16xf32>) permutation = [1, 0]
  %1 = linalg.matmul ins(%0, %t : tensor<4x8xf32>, tensor<8x16xf32>) outs(%out : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %1 : tensor<4x16xf32>
}
