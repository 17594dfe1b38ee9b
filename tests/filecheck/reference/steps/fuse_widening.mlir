// RUN: unmess-opt --pipeline reference-fuse %s | filecheck %s

#id = affine_map<(d0) -> (d0)>
#scalar = affine_map<(d0) -> ()>

// Both sums read the f32 tensor.
// CHECK-LABEL: func.func @main(
// CHECK-NOT:     tensor<64xf64>
// CHECK-COUNT-2: linalg.generic {{.*}}"reduction"{{.*}} ins(%arg0 : tensor<64xf32>)
// CHECK-NOT:     tensor<64xf64>
// CHECK:         return
func.func @main(%x: tensor<64xf32>, %sum: tensor<f64>) -> (tensor<f64>, tensor<f64>) {
  %e = tensor.empty() : tensor<64xf64>
  %wide = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<64xf32>) outs(%e : tensor<64xf64>) {
  ^bb0(%in: f32, %o: f64):
    %0 = arith.extf %in : f32 to f64
    linalg.yield %0 : f64
  } -> tensor<64xf64>
  %first = linalg.generic {indexing_maps = [#id, #scalar], iterator_types = ["reduction"]} ins(%wide : tensor<64xf64>) outs(%sum : tensor<f64>) {
  ^bb0(%in: f64, %acc: f64):
    %0 = arith.addf %in, %acc : f64
    linalg.yield %0 : f64
  } -> tensor<f64>
  %second = linalg.generic {indexing_maps = [#id, #scalar], iterator_types = ["reduction"]} ins(%wide : tensor<64xf64>) outs(%sum : tensor<f64>) {
  ^bb0(%in: f64, %acc: f64):
    %0 = arith.mulf %in, %in : f64
    %1 = arith.addf %0, %acc : f64
    linalg.yield %1 : f64
  } -> tensor<f64>
  return %first, %second : tensor<f64>, tensor<f64>
}
