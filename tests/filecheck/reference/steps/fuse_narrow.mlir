// RUN: unmess-opt --pipeline reference-fuse %s | filecheck %s

// The matrix is read in bf16, in place. The left operand is converted to f32 before the product,
// because each of its elements is used for a whole vector.

// CHECK-LABEL: func.func @main(
// CHECK:         %[[WIDE:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<4x8xbf16>)
// CHECK:         linalg.generic {{.*}} ins(%[[WIDE]], %arg1 : tensor<4x8xf32>, tensor<16x8xbf16>)
// CHECK:           arith.extf %{{.*}} : bf16 to f32
// CHECK:           arith.mulf
func.func @main(%x: tensor<4x8xbf16>, %w: tensor<16x8xbf16>, %out: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %a = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4x8xbf16>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%in: bf16, %o: f32):
    %0 = arith.extf %in : bf16 to f32
    linalg.yield %0 : f32
  } -> tensor<4x8xf32>
  %f = tensor.empty() : tensor<8x16xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<16x8xbf16>) outs(%f : tensor<8x16xf32>) {
  ^bb0(%in: bf16, %o: f32):
    %0 = arith.extf %in : bf16 to f32
    linalg.yield %0 : f32
  } -> tensor<8x16xf32>
  %1 = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x16xf32>) outs(%out : tensor<4x16xf32>) -> tensor<4x16xf32>
  return %1 : tensor<4x16xf32>
}
