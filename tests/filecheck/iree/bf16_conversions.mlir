// RUN: unmess-opt --pipeline iree-convert-through-f32 %s | filecheck %s

// CHECK-LABEL: func.func @of_integers(
// CHECK:         arith.sitofp %{{.*}} : i64 to f32
// CHECK:         arith.uitofp %{{.*}} : i1 to f32
// CHECK:         arith.bitcast %{{.*}} : i16 to bf16
// CHECK-NOT:     {{[su]}}itofp
// CHECK:         return
func.func @of_integers(%x: tensor<3xi64>, %bit: i1) -> (tensor<3xbf16>, bf16) {
  %empty = tensor.empty() : tensor<3xbf16>
  %0 = linalg.map ins(%x : tensor<3xi64>) outs(%empty : tensor<3xbf16>) (%each: i64, %_: bf16) {
    %converted = arith.sitofp %each : i64 to bf16
    linalg.yield %converted : bf16
  }
  %1 = arith.uitofp %bit : i1 to bf16
  return %0, %1 : tensor<3xbf16>, bf16
}

// CHECK-LABEL: func.func @others(
// CHECK:         arith.truncf %{{.*}} : f32 to bf16
// CHECK:         arith.sitofp %{{.*}} : i64 to f16
func.func @others(%x: f32, %y: i64) -> (bf16, f16) {
  %0 = arith.truncf %x : f32 to bf16
  %1 = arith.sitofp %y : i64 to f16
  return %0, %1 : bf16, f16
}
