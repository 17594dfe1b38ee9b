// RUN: unmess-opt --pipeline inline-float8-casts %s | filecheck %s

// Casts become integer arithmetic. No function is left, and other operations stay.
// CHECK-LABEL: func.func @main(
// CHECK:         linalg.generic
// CHECK:         ^bb0(%[[IN:.*]]: f8E4M3FN, %{{.*}}: f16):
// CHECK:           arith.bitcast %[[IN]] : f8E4M3FN to i8
// CHECK-NOT:       call
// CHECK:           %[[HALF:.*]] = arith.truncf %{{.*}} : f32 to f16
// CHECK:           linalg.yield %[[HALF]]
// CHECK-NOT:     func.func private
func.func @main(%x: tensor<4xf8E4M3FN>) -> tensor<4xf16> {
  %empty = tensor.empty() : tensor<4xf16>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : tensor<4xf8E4M3FN>) outs(%empty : tensor<4xf16>) {
  ^bb0(%in: f8E4M3FN, %out: f16):
    %wide = arith.extf %in : f8E4M3FN to f16
    linalg.yield %wide : f16
  } -> tensor<4xf16>
  return %0 : tensor<4xf16>
}
