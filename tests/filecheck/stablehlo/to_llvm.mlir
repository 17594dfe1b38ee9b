// RUN: unmess-opt --pipeline stablehlo-to-linalg --pipeline reference %s | filecheck %s

// A StableHLO convolution and its kernel lower to LLVM. No operation of the dialects in between
// is left.

// CHECK-LABEL: llvm.func @main(
// CHECK-NOT:     stablehlo.
// CHECK-NOT:     linalg.
// CHECK-NOT:     tensor.
// CHECK:         llvm.fmul
func.func @main(%x: tensor<1x2x4x4xf32> {unmess.input = "x"}, %k: tensor<3x2x2x2xf32> {unmess.weight = "k"}) -> tensor<1x3x3x3xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x4x4xf32>, tensor<3x2x2x2xf32>) -> tensor<1x3x3x3xf32>
  return %0 : tensor<1x3x3x3xf32>
}
