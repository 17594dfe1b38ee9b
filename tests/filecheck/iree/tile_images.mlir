// RUN: unmess-opt --pipeline iree-tile-images %s | filecheck %s

// A 3×3 window: tiles of 8 columns read 10. The 20 filters are padded to 32.
// CHECK-LABEL: func.func @image
// CHECK-SAME:    %[[X:.*]]: tensor<1x4x?x?xf32>
// CHECK:         tensor.pad %{{.*}} low[0, 0, 0, 0] high[12, 0, 0, 0]
// CHECK:         linalg.transpose ins(%[[X]]
// CHECK:         tensor.pad %{{.*}} low[0, 0, 0, 0] high[0, 0, %{{.*}}, 0]
// CHECK:         linalg.generic {{.*}} outs(%{{.*}} : tensor<1x?x?x10x4xf32>)
// CHECK:         tensor.collapse_shape %{{.*}} : tensor<1x?x?x10x4xf32> into tensor<?x?x10x4xf32>
// CHECK:         "flow.dispatch.region"
// CHECK:           linalg.conv_2d_nhwc_hwcf
// CHECK-SAME:      distribution = [1, 8, 0, 32, 0, 0, 0], vector_common_parallel = [1, 1, 8, 16, 0, 0, 0], vector_reduction = [0, 0, 0, 0, 1, 1, 4]
// CHECK-SAME:      ins(%{{.*}}, %{{.*}} : tensor<?x?x10x4xf32>, tensor<3x3x4x32xf32>)
// CHECK:         tensor.extract_slice %{{.*}} : tensor<1x32x?x?xf32> to tensor<1x20x?x?xf32>
func.func @image(%x: tensor<1x4x?x?xf32>, %w: tensor<20x4x3x3xf32>, %h: index, %v: index) -> tensor<1x20x?x?xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%h, %v) : tensor<1x20x?x?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x20x?x?xf32>) -> tensor<1x20x?x?xf32>
  %0 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%x, %w : tensor<1x4x?x?xf32>, tensor<20x4x3x3xf32>) outs(%f : tensor<1x20x?x?xf32>) -> tensor<1x20x?x?xf32>
  return %0 : tensor<1x20x?x?xf32>
}

// A window of 11 elements that are 5 apart reaches 50 columns: tiles of 64 columns read 114. The
// tiles are the rows of an image. The initial values are added.
// CHECK-LABEL: func.func @line
// CHECK:         linalg.conv_2d_nhwc_hwcf {{{.*}}dilations = dense<[1, 5]>
// CHECK-SAME:      ins(%{{.*}}, %{{.*}} : tensor<2x?x114x4xf32>, tensor<1x11x4x16xf32>)
// CHECK:         linalg.generic
// CHECK:           arith.addf
func.func @line(%x: tensor<2x4x?xf32>, %w: tensor<16x4x11xf32>, %b: tensor<2x16x?xf32>) -> tensor<2x16x?xf32> {
  %0 = linalg.conv_1d_ncw_fcw {dilations = dense<5> : vector<1xi64>, strides = dense<1> : vector<1xi64>} ins(%x, %w : tensor<2x4x?xf32>, tensor<16x4x11xf32>) outs(%b : tensor<2x16x?xf32>) -> tensor<2x16x?xf32>
  return %0 : tensor<2x16x?xf32>
}

// A window of one element: a product of tiles of rows.
// CHECK-LABEL: func.func @points
// CHECK-NOT:     conv
// CHECK:         tensor.expand_shape %{{.*}} output_shape [%{{.*}}, 8, 4]
// CHECK:         "flow.dispatch.region"
func.func @points(%x: tensor<1x4x?x?xf32>, %w: tensor<16x4x1x1xf32>, %b: tensor<1x16x?x?xf32>) -> tensor<1x16x?x?xf32> {
  %0 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>} ins(%x, %w : tensor<1x4x?x?xf32>, tensor<16x4x1x1xf32>) outs(%b : tensor<1x16x?x?xf32>) -> tensor<1x16x?x?xf32>
  return %0 : tensor<1x16x?x?xf32>
}

// Images of static height and width do not change.
// CHECK-LABEL: func.func @static
// CHECK:         linalg.conv_2d_nchw_fchw
func.func @static(%x: tensor<?x4x8x8xf32>, %w: tensor<16x4x3x3xf32>, %b: tensor<?x16x6x6xf32>) -> tensor<?x16x6x6xf32> {
  %0 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%x, %w : tensor<?x4x8x8xf32>, tensor<16x4x3x3xf32>) outs(%b : tensor<?x16x6x6xf32>) -> tensor<?x16x6x6xf32>
  return %0 : tensor<?x16x6x6xf32>
}
