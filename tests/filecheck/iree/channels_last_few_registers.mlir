// RUN: unmess-opt --pipeline iree-channels-last-few-registers %s | filecheck %s --check-prefixes=CHECK,FEW
// RUN: unmess-opt --pipeline iree-channels-last %s | filecheck %s --check-prefixes=CHECK,MANY

// A weight of 72 KB is large for a CPU with 16 vector registers: the convolution becomes a product.
// CHECK-LABEL: func.func @large(
// FEW:           linalg.batch_matmul {{.*}} -> tensor<1x64x64xf32>
// MANY:          linalg.conv_2d_nhwc_hwcf {{.*}} -> tensor<1x8x8x64xf32>
func.func @large(%x: tensor<1x32x10x10xf32>, %w: tensor<64x32x3x3xf32>, %init: tensor<1x64x8x8xf32>) -> tensor<1x64x8x8xf32> {
  %0 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%x, %w : tensor<1x32x10x10xf32>, tensor<64x32x3x3xf32>) outs(%init : tensor<1x64x8x8xf32>) -> tensor<1x64x8x8xf32>
  return %0 : tensor<1x64x8x8xf32>
}

// The same for a dynamic number of images.
// CHECK-LABEL: func.func @dynamic(
// FEW:           linalg.batch_matmul {{.*}} -> tensor<1x?x64xf32>
// MANY:          linalg.conv_2d_nhwc_hwcf {{.*}} -> tensor<?x8x8x64xf32>
func.func @dynamic(%x: tensor<?x32x10x10xf32>, %w: tensor<64x32x3x3xf32>, %init: tensor<?x64x8x8xf32>) -> tensor<?x64x8x8xf32> {
  %0 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%x, %w : tensor<?x32x10x10xf32>, tensor<64x32x3x3xf32>) outs(%init : tensor<?x64x8x8xf32>) -> tensor<?x64x8x8xf32>
  return %0 : tensor<?x64x8x8xf32>
}

// A weight of 36 KB is small for both.
// CHECK-LABEL: func.func @small(
// CHECK:         linalg.conv_2d_nhwc_hwcf {{.*}} -> tensor<1x8x8x32xf32>
func.func @small(%x: tensor<1x32x10x10xf32>, %w: tensor<32x32x3x3xf32>, %init: tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32> {
  %0 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%x, %w : tensor<1x32x10x10xf32>, tensor<32x32x3x3xf32>) outs(%init : tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32>
  return %0 : tensor<1x32x8x8xf32>
}

// Each plane of a volume's window has a large weight, so each is a product.
// CHECK-LABEL: func.func @volumes(
// FEW-COUNT-2:   linalg.batch_matmul {{.*}} -> tensor<1x128x64xf32>
// MANY-COUNT-2:  linalg.conv_2d_nhwc_hwcf {{.*}} -> tensor<2x8x8x64xf32>
func.func @volumes(%x: tensor<1x32x3x10x10xf32>, %w: tensor<64x32x2x3x3xf32>, %init: tensor<1x64x2x8x8xf32>) -> tensor<1x64x2x8x8xf32> {
  %0 = linalg.conv_3d_ncdhw_fcdhw {dilations = dense<1> : vector<3xi64>, strides = dense<1> : vector<3xi64>} ins(%x, %w : tensor<1x32x3x10x10xf32>, tensor<64x32x2x3x3xf32>) outs(%init : tensor<1x64x2x8x8xf32>) -> tensor<1x64x2x8x8xf32>
  return %0 : tensor<1x64x2x8x8xf32>
}
