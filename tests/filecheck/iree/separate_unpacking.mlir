// RUN: unmess-opt --pipeline iree-separate-unpacking %s | filecheck %s

#id = affine_map<(m, n) -> (m, n)>

// Two results depend on a product of depth 8: the kernel of the product would unpack both. One of them
// is reshaped.
// CHECK-LABEL: func.func @two_results(
// CHECK:         %[[PRODUCT:.*]] = linalg.matmul
// CHECK:         %[[KEPT:.*]] = "util.optimization_barrier"(%[[PRODUCT]])
// CHECK:         linalg.generic {{.*}} ins(%[[KEPT]], %arg2 :
func.func @two_results(%x: tensor<512x8xf32>, %y: tensor<8x512xf32>, %c: tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<2x256x512xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<512x512xf32>) -> tensor<512x512xf32>
  %0 = linalg.matmul ins(%x, %y : tensor<512x8xf32>, tensor<8x512xf32>) outs(%f : tensor<512x512xf32>) -> tensor<512x512xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%0, %c : tensor<512x512xf32>, tensor<512x512xf32>) outs(%e : tensor<512x512xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<512x512xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%1 : tensor<512x512xf32>) outs(%e : tensor<512x512xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.negf %a : f32
    linalg.yield %s : f32
  } -> tensor<512x512xf32>
  %3 = tensor.expand_shape %2 [[0, 1], [2]] output_shape [2, 256, 512] : tensor<512x512xf32> into tensor<2x256x512xf32>
  return %1, %3 : tensor<512x512xf32>, tensor<2x256x512xf32>
}

// One result, behind a reshape; and two results of a deep product, which compiles.
// CHECK-LABEL: func.func @others(
// CHECK-NOT:     optimization_barrier
func.func @others(%x: tensor<512x8xf32>, %y: tensor<8x512xf32>, %v: tensor<512x512xf32>, %w: tensor<512x512xf32>) -> (tensor<2x256x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<512x512xf32>) -> tensor<512x512xf32>
  %0 = linalg.matmul ins(%x, %y : tensor<512x8xf32>, tensor<8x512xf32>) outs(%f : tensor<512x512xf32>) -> tensor<512x512xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<512x512xf32>) outs(%e : tensor<512x512xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.negf %a : f32
    linalg.yield %s : f32
  } -> tensor<512x512xf32>
  %2 = tensor.expand_shape %1 [[0, 1], [2]] output_shape [2, 256, 512] : tensor<512x512xf32> into tensor<2x256x512xf32>
  %3 = linalg.matmul ins(%v, %w : tensor<512x512xf32>, tensor<512x512xf32>) outs(%f : tensor<512x512xf32>) -> tensor<512x512xf32>
  %4 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%3 : tensor<512x512xf32>) outs(%e : tensor<512x512xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.negf %a : f32
    linalg.yield %s : f32
  } -> tensor<512x512xf32>
  %5 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%4 : tensor<512x512xf32>) outs(%e : tensor<512x512xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = math.exp %a : f32
    linalg.yield %s : f32
  } -> tensor<512x512xf32>
  return %2, %4, %5 : tensor<2x256x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>
}
