// RUN: unmess-opt --pipeline stablehlo-canonical-layout %s | filecheck %s

// A convolution in NCHW with a dynamic batch is converted to NHWC, which linalg supports.

// CHECK-LABEL: @nchw
// CHECK:         %[[X:.*]] = stablehlo.transpose %arg0, dims = [0, 2, 3, 1] : (tensor<?x3x8x8xf32>) -> tensor<?x8x8x3xf32>
// CHECK:         %[[K:.*]] = stablehlo.transpose %arg1, dims = [2, 3, 1, 0] : (tensor<4x3x5x5xf32>) -> tensor<5x5x3x4xf32>
// CHECK:         %[[Y:.*]] = stablehlo.convolution(%[[X]], %[[K]]) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]
// CHECK:         %[[R:.*]] = stablehlo.transpose %[[Y]], dims = [0, 3, 1, 2] : (tensor<?x4x4x4xf32>) -> tensor<?x4x4x4xf32>
// CHECK:         return %[[R]]
func.func @nchw(%x: tensor<?x3x8x8xf32>, %k: tensor<4x3x5x5xf32>) -> tensor<?x4x4x4xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {stride = [1, 1], pad = [[0, 0], [0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<?x3x8x8xf32>, tensor<4x3x5x5xf32>) -> tensor<?x4x4x4xf32>
  return %0 : tensor<?x4x4x4xf32>
}

// CHECK-LABEL: @nhwc
// CHECK-NOT:     stablehlo.transpose
func.func @nhwc(%x: tensor<?x8x8x3xf32>, %k: tensor<5x5x3x4xf32>) -> tensor<?x4x4x4xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<?x8x8x3xf32>, tensor<5x5x3x4xf32>) -> tensor<?x4x4x4xf32>
  return %0 : tensor<?x4x4x4xf32>
}
