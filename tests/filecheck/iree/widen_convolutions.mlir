// RUN: unmess-opt --pipeline iree-widen-convolutions %s | filecheck %s

// CHECK-LABEL: func.func @images(
// CHECK-DAG:     %[[IMAGE:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<1x4x8x8xbf16>) outs(%{{.*}} : tensor<1x4x8x8xf32>)
// CHECK-DAG:     %[[WEIGHT:.*]] = linalg.generic {{.*}} ins(%arg1 : tensor<4x4x3x3xbf16>) outs(%{{.*}} : tensor<4x4x3x3xf32>)
// CHECK:         linalg.conv_2d_nchw_fchw
// CHECK-SAME:      ins(%[[IMAGE]], %[[WEIGHT]] : tensor<1x4x8x8xf32>, tensor<4x4x3x3xf32>)
func.func @images(%image: tensor<1x4x8x8xbf16>, %weight: tensor<4x4x3x3xbf16>, %init: tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32> {
  %0 = linalg.conv_2d_nchw_fchw ins(%image, %weight : tensor<1x4x8x8xbf16>, tensor<4x4x3x3xbf16>) outs(%init : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  return %0 : tensor<1x4x6x6xf32>
}

// A dynamic number of volumes. The operands are widened before they are reshaped.
// CHECK-LABEL: func.func @reshaped(
// CHECK:         %[[WIDE:.*]] = linalg.generic {{.*}} ins(%arg0 : tensor<?x64xf16>) outs(%{{.*}} : tensor<?x64xf32>)
// CHECK:         %[[VOLUME:.*]] = tensor.expand_shape %[[WIDE]] {{.*}} : tensor<?x64xf32> into tensor<?x1x4x4x4xf32>
// CHECK:         linalg.conv_3d_ncdhw_fcdhw
// CHECK-SAME:      ins(%[[VOLUME]], %{{.*}} : tensor<?x1x4x4x4xf32>, tensor<2x1x1x1x2xf32>)
func.func @reshaped(%lines: tensor<?x64xf16>, %count: index, %weight: tensor<2x1x1x1x2xf16>, %init: tensor<?x2x4x4x3xf32>) -> tensor<?x2x4x4x3xf32> {
  %volume = tensor.expand_shape %lines [[0], [1, 2, 3, 4]] output_shape [%count, 1, 4, 4, 4] : tensor<?x64xf16> into tensor<?x1x4x4x4xf16>
  %0 = linalg.conv_3d_ncdhw_fcdhw ins(%volume, %weight : tensor<?x1x4x4x4xf16>, tensor<2x1x1x1x2xf16>) outs(%init : tensor<?x2x4x4x3xf32>) -> tensor<?x2x4x4x3xf32>
  return %0 : tensor<?x2x4x4x3xf32>
}

// Windows of one element, depthwise convolutions, sums in f16, and other types do not change.
// CHECK-LABEL: func.func @others(
// CHECK-NOT:     arith.extf
// CHECK:         return
func.func @others(%image: tensor<1x4x8x8xbf16>, %weight: tensor<4x4x1x1xbf16>, %init: tensor<1x4x8x8xf32>,
                  %depthwise: tensor<4x3x3xbf16>, %smaller: tensor<1x4x6x6xf32>,
                  %half: tensor<1x4x8x8xf16>, %half_weight: tensor<4x4x3x3xf16>, %half_init: tensor<1x4x6x6xf16>,
                  %wide: tensor<1x4x8x8xf32>, %wide_weight: tensor<4x4x3x3xf32>)
    -> (tensor<1x4x8x8xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6x6xf16>, tensor<1x4x6x6xf32>) {
  %0 = linalg.conv_2d_nchw_fchw ins(%image, %weight : tensor<1x4x8x8xbf16>, tensor<4x4x1x1xbf16>) outs(%init : tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %1 = linalg.depthwise_conv_2d_nchw_chw ins(%image, %depthwise : tensor<1x4x8x8xbf16>, tensor<4x3x3xbf16>) outs(%smaller : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %2 = linalg.conv_2d_nchw_fchw ins(%half, %half_weight : tensor<1x4x8x8xf16>, tensor<4x4x3x3xf16>) outs(%half_init : tensor<1x4x6x6xf16>) -> tensor<1x4x6x6xf16>
  %3 = linalg.conv_2d_nchw_fchw ins(%wide, %wide_weight : tensor<1x4x8x8xf32>, tensor<4x4x3x3xf32>) outs(%smaller : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  return %0, %1, %2, %3 : tensor<1x4x8x8xf32>, tensor<1x4x6x6xf32>, tensor<1x4x6x6xf16>, tensor<1x4x6x6xf32>
}
