// RUN: unmess-opt --pipeline reference-fuse %s | filecheck %s

// A broadcast is not fused into a sum over its new axis, because no other operand has the size of
// that axis.

#vector = affine_map<(d0, d1) -> (d1)>
#matrix = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @main(
// CHECK:         %[[COPY:.*]] = linalg.generic
// CHECK:         -> tensor<8x4xf32>
// CHECK:         linalg.generic {{.*}}"reduction"{{.*}} ins(%[[COPY]] :
func.func @main(%x: tensor<4xf32>, %out: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<8x4xf32>
  %0 = linalg.broadcast ins(%x : tensor<4xf32>) outs(%e : tensor<8x4xf32>) dimensions = [0]
  %1 = linalg.generic {indexing_maps = [#matrix, #vector], iterator_types = ["reduction", "parallel"]} ins(%0 : tensor<8x4xf32>) outs(%out : tensor<4xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %2 = arith.addf %in, %acc : f32
    linalg.yield %2 : f32
  } -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
