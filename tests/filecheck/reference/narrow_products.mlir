// RUN: unmess-opt --pipeline reference-narrow-products %s | filecheck %s

#id = affine_map<(m, n) -> (m, n)>

// CHECK-LABEL: func.func @layer(
// CHECK:         linalg.matmul ins(%arg0, %arg1 : tensor<16x8xbf16>, tensor<8x4xbf16>)
func.func @layer(%x: tensor<16x8xbf16>, %w: tensor<8x4xbf16>, %init: tensor<16x4xf32>) -> tensor<16x4xf32> {
  %0 = tensor.empty() : tensor<16x8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<16x8xbf16>) outs(%0 : tensor<16x8xf32>) {
  ^bb0(%in: bf16, %_: f32):
    %wide = arith.extf %in : bf16 to f32
    linalg.yield %wide : f32
  } -> tensor<16x8xf32>
  %2 = tensor.empty() : tensor<8x4xf32>
  %3 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<8x4xbf16>) outs(%2 : tensor<8x4xf32>) {
  ^bb0(%in: bf16, %_: f32):
    %wide = arith.extf %in : bf16 to f32
    linalg.yield %wide : f32
  } -> tensor<8x4xf32>
  %4 = linalg.matmul ins(%1, %3 : tensor<16x8xf32>, tensor<8x4xf32>) outs(%init : tensor<16x4xf32>) -> tensor<16x4xf32>
  return %4 : tensor<16x4xf32>
}

// One operand is f32, so the product needs f32.
// CHECK-LABEL: func.func @mixed(
// CHECK:         linalg.matmul ins(%arg0, %{{.*}} : tensor<16x8xf32>, tensor<8x4xf32>)
func.func @mixed(%x: tensor<16x8xf32>, %w: tensor<8x4xbf16>, %init: tensor<16x4xf32>) -> tensor<16x4xf32> {
  %2 = tensor.empty() : tensor<8x4xf32>
  %3 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%w : tensor<8x4xbf16>) outs(%2 : tensor<8x4xf32>) {
  ^bb0(%in: bf16, %_: f32):
    %wide = arith.extf %in : bf16 to f32
    linalg.yield %wide : f32
  } -> tensor<8x4xf32>
  %4 = linalg.matmul ins(%x, %3 : tensor<16x8xf32>, tensor<8x4xf32>) outs(%init : tensor<16x4xf32>) -> tensor<16x4xf32>
  return %4 : tensor<16x4xf32>
}
