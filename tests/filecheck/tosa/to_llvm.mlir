// RUN: unmess-opt --pipeline tosa-to-linalg --pipeline reference %s | filecheck %s

// TOSA lowers to LLVM, and a clamp keeps its limits.

// CHECK-LABEL: llvm.func @main(
// CHECK-NOT:     tosa.
// CHECK:         llvm.mlir.constant(6.000000e+00 : f32)
func.func @main(%x: tensor<2x3xf32> {unmess.input = "x"}) -> tensor<2x3xf32> {
  %0 = tosa.clamp %x {max_val = 6.0 : f32, min_val = 0.0 : f32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
