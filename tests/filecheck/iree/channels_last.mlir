// RUN: unmess-opt --pipeline iree-channels-last %s | filecheck %s

// No transposition is left between two convolutions. Operations between them compute in NHWC, too.
// An operand with one value per channel is indexed by the last axis.
// CHECK-LABEL: func.func @between(
// CHECK:         linalg.transpose ins(%arg0 : tensor<1x2x5x6xf32>){{.*}}permutation = [0, 2, 3, 1]
// CHECK:         linalg.conv_2d_nhwc_hwcf
// CHECK-NOT:     linalg.transpose {{.*}}tensor<1x
// CHECK:         linalg.generic {{.*}}ins(%{{.*}}, %arg2 : tensor<1x3x4x4xf32>, tensor<4xf32>)
// CHECK-NOT:     linalg.transpose {{.*}}tensor<1x
// CHECK:         tensor.pad %{{.*}} low[0, 1, 2, 0] high[0, 3, 4, 0]
// CHECK-NOT:     linalg.transpose {{.*}}tensor<1x
// CHECK:         linalg.depthwise_conv_2d_nhwc_hwc
// CHECK:         %[[BACK:.*]] = linalg.transpose {{.*}}permutation = [0, 3, 1, 2]
// CHECK:         return %[[BACK]]
#image = affine_map<(n, c, h, w) -> (n, c, h, w)>
#channel = affine_map<(n, c, h, w) -> (c)>
func.func @between(%x: tensor<1x2x5x6xf32>, %w: tensor<4x2x3x3xf32>, %bias: tensor<4xf32>, %d: tensor<4x3x3xf32>) -> tensor<1x4x5x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x4x3x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x4x3x4xf32>) -> tensor<1x4x3x4xf32>
  %0 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%x, %w : tensor<1x2x5x6xf32>, tensor<4x2x3x3xf32>) outs(%f : tensor<1x4x3x4xf32>) -> tensor<1x4x3x4xf32>
  %1 = linalg.generic {indexing_maps = [#image, #channel, #image], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%0, %bias : tensor<1x4x3x4xf32>, tensor<4xf32>) outs(%e : tensor<1x4x3x4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<1x4x3x4xf32>
  %2 = tensor.pad %1 low[0, 0, 1, 2] high[0, 0, 3, 4] {
  ^bb0(%n: index, %c: index, %h: index, %v: index):
    tensor.yield %zero : f32
  } : tensor<1x4x3x4xf32> to tensor<1x4x7x10xf32>
  %e1 = tensor.empty() : tensor<1x4x5x8xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<1x4x5x8xf32>) -> tensor<1x4x5x8xf32>
  %3 = linalg.depthwise_conv_2d_nchw_chw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%2, %d : tensor<1x4x7x10xf32>, tensor<4x3x3xf32>) outs(%f1 : tensor<1x4x5x8xf32>) -> tensor<1x4x5x8xf32>
  return %3 : tensor<1x4x5x8xf32>
}

// A 1x1 convolution with strides becomes a slice and a convolution without strides. The slice
// reads the image in its own layout. IREE computes it by itself, and folds its transposition.
// CHECK-LABEL: func.func @strided(
// CHECK:         %[[SLICE:.*]] = tensor.extract_slice %arg0[0, 0, 0, 0] [1, 2, 3, 3] [1, 1, 2, 2]
// CHECK:         %[[KEPT:.*]] = "util.optimization_barrier"(%[[SLICE]])
// CHECK:         %[[LAST:.*]] = linalg.transpose ins(%[[KEPT]] :
// CHECK:         %[[FIRST:.*]] = linalg.conv_2d_nhwc_hwcf {{{.*}}strides = dense<1> : {{.*}}} ins(%[[LAST]],
// CHECK:         %[[SECOND:.*]] = tensor.extract_slice %[[FIRST]][0, 0, 0, 0] [1, 2, 2, 4] [1, 2, 2, 1]
// CHECK:         linalg.conv_2d_nhwc_hwcf {{{.*}}strides = dense<1> : {{.*}}} ins(%[[SECOND]],
func.func @strided(%x: tensor<1x2x5x6xf32>, %w: tensor<4x2x1x1xf32>, %init: tensor<1x4x3x3xf32>, %v: tensor<2x4x1x1xf32>, %init2: tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32> {
  %0 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>} ins(%x, %w : tensor<1x2x5x6xf32>, tensor<4x2x1x1xf32>) outs(%init : tensor<1x4x3x3xf32>) -> tensor<1x4x3x3xf32>
  %1 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>} ins(%0, %v : tensor<1x4x3x3xf32>, tensor<2x4x1x1xf32>) outs(%init2 : tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  return %1 : tensor<1x2x2x2xf32>
}

// IREE would move the first transposition into the loops of the convolution. A barrier of a tensor
// of dynamic size does not compile.
// CHECK-LABEL: func.func @unpadded(
// CHECK:         %[[LAST:.*]] = linalg.transpose ins(%arg0 :
// CHECK:         %[[KEPT:.*]] = "util.optimization_barrier"(%[[LAST]])
// CHECK:         %[[FIRST:.*]] = linalg.conv_2d_nhwc_hwcf {{.*}} ins(%[[KEPT]],
// CHECK:         linalg.depthwise_conv_2d_nhwc_hwc {{.*}} ins(%[[FIRST]],
// CHECK-LABEL: func.func @unpadded_dynamic(
// CHECK:         %[[LAST:.*]] = linalg.transpose ins(%arg0 :
// CHECK:         linalg.conv_2d_nhwc_hwcf {{.*}} ins(%[[LAST]],
func.func @unpadded(%x: tensor<1x2x6x6xf32>, %w: tensor<4x2x3x3xf32>, %init: tensor<1x4x4x4xf32>, %d: tensor<4x3x3xf32>, %init2: tensor<1x4x2x2xf32>) -> tensor<1x4x2x2xf32> {
  %0 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%x, %w : tensor<1x2x6x6xf32>, tensor<4x2x3x3xf32>) outs(%init : tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  %1 = linalg.depthwise_conv_2d_nchw_chw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%0, %d : tensor<1x4x4x4xf32>, tensor<4x3x3xf32>) outs(%init2 : tensor<1x4x2x2xf32>) -> tensor<1x4x2x2xf32>
  return %1 : tensor<1x4x2x2xf32>
}
func.func @unpadded_dynamic(%x: tensor<?x2x6x6xf32>, %w: tensor<4x2x3x3xf32>, %init: tensor<?x4x4x4xf32>) -> tensor<?x4x4x4xf32> {
  %0 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%x, %w : tensor<?x2x6x6xf32>, tensor<4x2x3x3xf32>) outs(%init : tensor<?x4x4x4xf32>) -> tensor<?x4x4x4xf32>
  return %0 : tensor<?x4x4x4xf32>
}

// A sum over the image loops in NHWC. The collapse of the image gets its operand in NCHW.
// CHECK-LABEL: func.func @sums(
// CHECK:         %[[POOLED:.*]] = linalg.pooling_nhwc_max
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "reduction", "reduction", "parallel"]} ins(%[[POOLED]]
// CHECK:         %[[BACK:.*]] = linalg.transpose {{.*}}tensor<1x1x1x2xf32>{{.*}}permutation = [0, 3, 1, 2]
// CHECK:         tensor.collapse_shape %[[BACK]]
#kept = affine_map<(n, c, h, w) -> (n, c, 0, 0)>
func.func @sums(%x: tensor<1x2x4x4xf32>) -> tensor<1x2xf32> {
  %zero = arith.constant 0.0 : f32
  %window = tensor.empty() : tensor<2x2xf32>
  %e = tensor.empty() : tensor<1x2x3x3xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %0 = linalg.pooling_nchw_max {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%x, %window : tensor<1x2x4x4xf32>, tensor<2x2xf32>) outs(%f : tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %e1 = tensor.empty() : tensor<1x2x1x1xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<1x2x1x1xf32>) -> tensor<1x2x1x1xf32>
  %1 = linalg.generic {indexing_maps = [#image, #kept], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%0 : tensor<1x2x3x3xf32>) outs(%f1 : tensor<1x2x1x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<1x2x1x1xf32>
  %2 = tensor.collapse_shape %1 [[0], [1, 2, 3]] : tensor<1x2x1x1xf32> into tensor<1x2xf32>
  return %2 : tensor<1x2xf32>
}

// Images are concatenated along the channels, which are the last axis. Slices use that axis, too.
// CHECK-LABEL: func.func @joined(
// CHECK:         tensor.concat dim(3) {{.*}} -> tensor<1x3x3x4xf32>
// CHECK:         tensor.extract_slice %{{.*}}[0, 0, 0, 1] [1, 3, 3, 2] [1, 1, 1, 1]
func.func @joined(%x: tensor<1x2x4x4xf32>, %y: tensor<1x2x3x3xf32>, %init: tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32> {
  %window = tensor.empty() : tensor<2x2xf32>
  %0 = linalg.pooling_nchw_max {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%x, %window : tensor<1x2x4x4xf32>, tensor<2x2xf32>) outs(%init : tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %1 = tensor.concat dim(1) %0, %y : (tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>) -> tensor<1x4x3x3xf32>
  %2 = tensor.extract_slice %1[0, 1, 0, 0] [1, 2, 3, 3] [1, 1, 1, 1] : tensor<1x4x3x3xf32> to tensor<1x2x3x3xf32>
  return %2 : tensor<1x2x3x3xf32>
}

// The model's own transposition to NHWC is folded. The one back to NCHW is not needed.
// CHECK-LABEL: func.func @own(
// CHECK:         %[[POOLED:.*]] = linalg.pooling_nhwc_max
// CHECK:         %[[TWICE:.*]] = linalg.generic {{.*}} ins(%[[POOLED]] :
// CHECK-NOT:     linalg.transpose ins(%[[TWICE]]
// CHECK:         linalg.pooling_nhwc_max {{.*}} ins(%[[TWICE]],
func.func @own(%x: tensor<1x2x4x4xf32>, %init: tensor<1x2x3x3xf32>, %init2: tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32> {
  %window = tensor.empty() : tensor<2x2xf32>
  %0 = linalg.pooling_nchw_max {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%x, %window : tensor<1x2x4x4xf32>, tensor<2x2xf32>) outs(%init : tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %e = tensor.empty() : tensor<1x3x3x2xf32>
  %1 = linalg.transpose ins(%0 : tensor<1x2x3x3xf32>) outs(%e : tensor<1x3x3x2xf32>) permutation = [0, 2, 3, 1]
  %2 = linalg.generic {indexing_maps = [#image, #image], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%1 : tensor<1x3x3x2xf32>) outs(%e : tensor<1x3x3x2xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<1x3x3x2xf32>
  %e1 = tensor.empty() : tensor<1x2x3x3xf32>
  %3 = linalg.transpose ins(%2 : tensor<1x3x3x2xf32>) outs(%e1 : tensor<1x2x3x3xf32>) permutation = [0, 3, 1, 2]
  %4 = linalg.pooling_nchw_max {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%3, %window : tensor<1x2x3x3xf32>, tensor<2x2xf32>) outs(%init2 : tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  return %4 : tensor<1x2x2x2xf32>
}

// A body with `linalg.index` and images of dynamic height stay in NCHW.
// CHECK-LABEL: func.func @index(
// CHECK:         %[[BACK:.*]] = linalg.transpose {{.*}}permutation = [0, 3, 1, 2]
// CHECK:         linalg.generic {{.*}} ins(%[[BACK]] :
// CHECK:           linalg.index 1
// CHECK-LABEL: func.func @dynamic_height(
// CHECK:         linalg.pooling_nchw_max
func.func @index(%x: tensor<1x2x4x4xi64>, %init: tensor<1x2x3x3xi64>) -> tensor<1x2x3x3xi64> {
  %window = tensor.empty() : tensor<2x2xi64>
  %0 = linalg.pooling_nchw_max {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%x, %window : tensor<1x2x4x4xi64>, tensor<2x2xi64>) outs(%init : tensor<1x2x3x3xi64>) -> tensor<1x2x3x3xi64>
  %e = tensor.empty() : tensor<1x2x3x3xi64>
  %1 = linalg.generic {indexing_maps = [#image, #image], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%0 : tensor<1x2x3x3xi64>) outs(%e : tensor<1x2x3x3xi64>) {
  ^bb0(%a: i64, %o: i64):
    %c = linalg.index 1 : index
    %i = arith.index_cast %c : index to i64
    %s = arith.addi %a, %i : i64
    linalg.yield %s : i64
  } -> tensor<1x2x3x3xi64>
  return %1 : tensor<1x2x3x3xi64>
}
func.func @dynamic_height(%x: tensor<1x2x?x4xf32>, %init: tensor<1x2x?x3xf32>) -> tensor<1x2x?x3xf32> {
  %window = tensor.empty() : tensor<2x2xf32>
  %0 = linalg.pooling_nchw_max {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%x, %window : tensor<1x2x?x4xf32>, tensor<2x2xf32>) outs(%init : tensor<1x2x?x3xf32>) -> tensor<1x2x?x3xf32>
  return %0 : tensor<1x2x?x3xf32>
}

// The number of images may be dynamic.
// CHECK-LABEL: func.func @dynamic_number(
// CHECK:         linalg.transpose ins(%arg0 : tensor<?x2x5x5xf32>) outs(%{{.*}} : tensor<?x5x5x2xf32>)
// CHECK:         linalg.pooling_nhwc_max {{.*}}tensor<?x4x4x2xf32>
// CHECK:         tensor.extract_slice %{{.*}}[0, 0, 0, 0] [%{{.*}}, 4, 3, 2] [1, 1, 1, 1] : tensor<?x4x4x2xf32> to tensor<?x4x3x2xf32>
// CHECK:         %[[LEFT:.*]] = tensor.collapse_shape %{{.*}} : tensor<1x?x1x1x3x3x2xf32> into tensor<1x?x18xf32>
// CHECK:         linalg.batch_matmul ins(%[[LEFT]], %{{.*}} : tensor<1x?x18xf32>, tensor<1x18x4xf32>)
// CHECK:         %[[LAST:.*]] = tensor.collapse_shape %{{.*}} into tensor<?x1x1x4xf32>
// CHECK:         linalg.transpose ins(%[[LAST]]
func.func @dynamic_number(%x: tensor<?x2x5x5xf32>, %w: tensor<4x2x3x3xf32>) -> tensor<?x4x1x1xf32> {
  %zero = arith.constant 0.0 : f32
  %first = arith.constant 0 : index
  %n = tensor.dim %x, %first : tensor<?x2x5x5xf32>
  %window = tensor.empty() : tensor<2x2xf32>
  %e = tensor.empty(%n) : tensor<?x2x4x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x2x4x4xf32>) -> tensor<?x2x4x4xf32>
  %0 = linalg.pooling_nchw_max {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%x, %window : tensor<?x2x5x5xf32>, tensor<2x2xf32>) outs(%f : tensor<?x2x4x4xf32>) -> tensor<?x2x4x4xf32>
  %1 = tensor.extract_slice %0[0, 0, 0, 0] [%n, 2, 4, 3] [1, 1, 1, 1] : tensor<?x2x4x4xf32> to tensor<?x2x4x3xf32>
  %e1 = tensor.empty(%n) : tensor<?x4x1x1xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<?x4x1x1xf32>) -> tensor<?x4x1x1xf32>
  %2 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>} ins(%1, %w : tensor<?x2x4x3xf32>, tensor<4x2x3x3xf32>) outs(%f1 : tensor<?x4x1x1xf32>) -> tensor<?x4x1x1xf32>
  return %2 : tensor<?x4x1x1xf32>
}

// A grouped convolution becomes one matrix product per group, of image windows and weights.
// CHECK-LABEL: func.func @grouped(
// CHECK:         %[[GROUPS:.*]] = tensor.expand_shape %{{.*}} {{\[\[}}0], [1], [2], [3, 4]] {{.*}} into tensor<1x5x6x2x3xf32>
// CHECK:         %[[WINDOWS:.*]] = linalg.generic {{.*}} ins(%[[GROUPS]] : {{.*}}) outs(%{{.*}} : tensor<2x1x2x4x3x3x3xf32>)
// CHECK:         %[[LEFT:.*]] = tensor.collapse_shape %[[WINDOWS]] {{.*}} into tensor<2x8x27xf32>
// CHECK:         linalg.batch_matmul ins(%[[LEFT]], %{{.*}} : tensor<2x8x27xf32>, tensor<2x27x4xf32>)
// CHECK:         %[[LAST:.*]] = tensor.collapse_shape %{{.*}} : tensor<1x2x4x2x4xf32> into tensor<1x2x4x8xf32>
// CHECK:         linalg.transpose ins(%[[LAST]]
func.func @grouped(%x: tensor<1x6x5x6xf32>, %w: tensor<2x4x3x3x3xf32>) -> tensor<1x8x2x4xf32> {
  %zero = arith.constant 0.0 : f32
  %image = tensor.expand_shape %x [[0], [1, 2], [3], [4]] output_shape [1, 2, 3, 5, 6] : tensor<1x6x5x6xf32> into tensor<1x2x3x5x6xf32>
  %e = tensor.empty() : tensor<1x2x4x2x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x2x4x2x4xf32>) -> tensor<1x2x4x2x4xf32>
  %0 = linalg.conv_2d_ngchw_gfchw {dilations = dense<1> : vector<2xi64>, strides = dense<[2, 1]> : vector<2xi64>} ins(%image, %w : tensor<1x2x3x5x6xf32>, tensor<2x4x3x3x3xf32>) outs(%f : tensor<1x2x4x2x4xf32>) -> tensor<1x2x4x2x4xf32>
  %1 = tensor.collapse_shape %0 [[0], [1, 2], [3], [4]] : tensor<1x2x4x2x4xf32> into tensor<1x8x2x4xf32>
  return %1 : tensor<1x8x2x4xf32>
}

// A grouped 1-D convolution is one of images of height 1. The reshapes of the groups and of the
// height are one operation on each side.
// CHECK-LABEL: func.func @grouped_lines(
// CHECK:         tensor.expand_shape %arg0 {{\[\[}}0], [1, 2], [3]] {{.*}} into tensor<1x6x1x6xf32>
// CHECK:         linalg.batch_matmul ins(%{{.*}}, %{{.*}} : tensor<2x4x9xf32>, tensor<2x9x4xf32>)
// CHECK:         %[[IMAGE:.*]] = linalg.transpose {{.*}} outs(%{{.*}} : tensor<1x8x1x4xf32>)
// CHECK:         tensor.collapse_shape %[[IMAGE]] {{\[\[}}0], [1, 2], [3]] : tensor<1x8x1x4xf32> into tensor<1x8x4xf32>
func.func @grouped_lines(%x: tensor<1x6x6xf32>, %w: tensor<2x4x3x1x3xf32>) -> tensor<1x8x4xf32> {
  %zero = arith.constant 0.0 : f32
  %image = tensor.expand_shape %x [[0], [1, 2, 3], [4]] output_shape [1, 2, 3, 1, 6] : tensor<1x6x6xf32> into tensor<1x2x3x1x6xf32>
  %e = tensor.empty() : tensor<1x2x4x1x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x2x4x1x4xf32>) -> tensor<1x2x4x1x4xf32>
  %0 = linalg.conv_2d_ngchw_gfchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%image, %w : tensor<1x2x3x1x6xf32>, tensor<2x4x3x1x3xf32>) outs(%f : tensor<1x2x4x1x4xf32>) -> tensor<1x2x4x1x4xf32>
  %1 = tensor.collapse_shape %0 [[0], [1, 2, 3], [4]] : tensor<1x2x4x1x4xf32> into tensor<1x8x4xf32>
  return %1 : tensor<1x8x4xf32>
}

// Convolutions with more than 1 MB of weights become matrix products. The f16 weights have less.
// CHECK-LABEL: func.func @large(
// CHECK:         linalg.conv_2d_nhwc_hwcf
// CHECK:         linalg.batch_matmul ins(%{{.*}} : tensor<1x16x2304xf32>, tensor<1x2304x128xf32>)
func.func @large(%x: tensor<1x256x6x6xf16>, %w: tensor<128x256x3x3xf16>, %init: tensor<1x128x4x4xf16>, %y: tensor<1x256x6x6xf32>, %v: tensor<128x256x3x3xf32>, %init2: tensor<1x128x4x4xf32>) -> (tensor<1x128x4x4xf16>, tensor<1x128x4x4xf32>) {
  %0 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%x, %w : tensor<1x256x6x6xf16>, tensor<128x256x3x3xf16>) outs(%init : tensor<1x128x4x4xf16>) -> tensor<1x128x4x4xf16>
  %1 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%y, %v : tensor<1x256x6x6xf32>, tensor<128x256x3x3xf32>) outs(%init2 : tensor<1x128x4x4xf32>) -> tensor<1x128x4x4xf32>
  return %0, %1 : tensor<1x128x4x4xf16>, tensor<1x128x4x4xf32>
}

// The window is larger than the result, as in the gradient of a weight.
// CHECK-LABEL: func.func @small_result(
// CHECK:         linalg.batch_matmul ins(%{{.*}} : tensor<1x36x392xf32>, tensor<1x392x16xf32>)
func.func @small_result(%x: tensor<4x8x9x9xf32>, %w: tensor<16x8x7x7xf32>, %init: tensor<4x16x3x3xf32>) -> tensor<4x16x3x3xf32> {
  %0 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%x, %w : tensor<4x8x9x9xf32>, tensor<16x8x7x7xf32>) outs(%init : tensor<4x16x3x3xf32>) -> tensor<4x16x3x3xf32>
  return %0 : tensor<4x16x3x3xf32>
}

// With a dynamic number of images, the product would have no tiles. IREE's convolution is faster.
// CHECK-LABEL: func.func @large_of_dynamic_number(
// CHECK-NOT:     linalg.batch_matmul
// CHECK:         linalg.conv_2d_nhwc_hwcf
func.func @large_of_dynamic_number(%y: tensor<?x256x6x6xf32>, %v: tensor<128x256x3x3xf32>, %init: tensor<?x128x4x4xf32>) -> tensor<?x128x4x4xf32> {
  %0 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%y, %v : tensor<?x256x6x6xf32>, tensor<128x256x3x3xf32>) outs(%init : tensor<?x128x4x4xf32>) -> tensor<?x128x4x4xf32>
  return %0 : tensor<?x128x4x4xf32>
}

// A convolution of integers keeps its zero points.

// CHECK-LABEL: func.func @integers
// CHECK:         linalg.conv_2d_nhwc_hwcf_q {{.*}} ins({{.*}}, {{.*}}, %[[X:.*]], %[[W:.*]] : tensor<?x6x6x4xi8>, tensor<3x3x4x8xi8>, i32, i32) outs({{.*}} : tensor<?x4x4x8xi32>)
func.func @integers(%x: tensor<?x4x6x6xi8>, %weight: tensor<8x4x3x3xi8>, %init: tensor<?x8x4x4xi32>) -> tensor<?x8x4x4xi32> {
  %zx = arith.constant 3 : i32
  %zw = arith.constant -2 : i32
  %0 = linalg.conv_2d_nchw_fchw_q {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x, %weight, %zx, %zw : tensor<?x4x6x6xi8>, tensor<8x4x3x3xi8>, i32, i32) outs(%init : tensor<?x8x4x4xi32>) -> tensor<?x8x4x4xi32>
  return %0 : tensor<?x8x4x4xi32>
}

// With static sizes, it becomes a product of the image's windows and the weights, with the same zero
// points. The windows are written to memory before they are packed. 1×1 convolutions are products
// already.
// CHECK-LABEL: func.func @static_integers
// CHECK:         %[[WINDOWS:.*]] = tensor.collapse_shape {{.*}} : tensor<1x1x4x4x3x3x4xi8> into tensor<1x16x36xi8>
// CHECK:         %[[KEPT:.*]] = "util.optimization_barrier"(%[[WINDOWS]])
// CHECK:         linalg.quantized_batch_matmul ins(%[[KEPT]], %{{.*}}, %{{.*}}, %{{.*}} : tensor<1x16x36xi8>, tensor<1x36x8xi8>, i32, i32)
// CHECK:         arith.addi
// CHECK:         linalg.conv_2d_nhwc_hwcf_q {{.*}} tensor<1x1x8x8xi8>
func.func @static_integers(%x: tensor<1x4x6x6xi8>, %weight: tensor<8x4x3x3xi8>, %init: tensor<1x8x4x4xi32>, %y: tensor<1x8x4x4xi8>, %points: tensor<8x8x1x1xi8>) -> (tensor<1x8x4x4xi32>, tensor<1x8x4x4xi32>) {
  %zx = arith.constant 3 : i32
  %zw = arith.constant -2 : i32
  %0 = linalg.conv_2d_nchw_fchw_q {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x, %weight, %zx, %zw : tensor<1x4x6x6xi8>, tensor<8x4x3x3xi8>, i32, i32) outs(%init : tensor<1x8x4x4xi32>) -> tensor<1x8x4x4xi32>
  %1 = linalg.conv_2d_nchw_fchw_q {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%y, %points, %zx, %zw : tensor<1x8x4x4xi8>, tensor<8x8x1x1xi8>, i32, i32) outs(%init : tensor<1x8x4x4xi32>) -> tensor<1x8x4x4xi32>
  return %0, %1 : tensor<1x8x4x4xi32>, tensor<1x8x4x4xi32>
}

// A 3-D convolution becomes a sum of 2-D convolutions, one for each plane of its window.
// CHECK-LABEL: func.func @volumes(
// CHECK:         %[[LAST:.*]] = linalg.transpose ins(%arg0 : {{.*}}permutation = [0, 2, 3, 4, 1]
// CHECK:         %[[KEPT:.*]] = "util.optimization_barrier"(%[[LAST]])
// CHECK:         tensor.extract_slice %[[KEPT]][0, 0, 0, 0, 0] [1, 2, 6, 6, 2] [1, 2, 1, 1, 1]
// CHECK:         %[[FIRST:.*]] = linalg.conv_2d_nhwc_hwcf
// CHECK:         tensor.extract_slice %[[KEPT]][0, 1, 0, 0, 0] [1, 2, 6, 6, 2] [1, 2, 1, 1, 1]
// CHECK:         %[[SECOND:.*]] = linalg.conv_2d_nhwc_hwcf {{.*}}outs(%[[FIRST]] :
// CHECK:         tensor.expand_shape %[[SECOND]]
func.func @volumes(%x: tensor<1x2x4x6x6xf32>, %w: tensor<3x2x2x3x3xf32>, %init: tensor<1x3x2x4x4xf32>) -> tensor<1x3x2x4x4xf32> {
  %0 = linalg.conv_3d_ncdhw_fcdhw {dilations = dense<1> : vector<3xi64>, strides = dense<[2, 1, 1]> : vector<3xi64>} ins(%x, %w : tensor<1x2x4x6x6xf32>, tensor<3x2x2x3x3xf32>) outs(%init : tensor<1x3x2x4x4xf32>) -> tensor<1x3x2x4x4xf32>
  return %0 : tensor<1x3x2x4x4xf32>
}

// The image is transposed before it is padded.
// CHECK-LABEL: func.func @padded_volumes(
// CHECK:         %[[LAST:.*]] = linalg.transpose ins(%arg0 :
// CHECK:         %[[PADDED:.*]] = tensor.pad %[[LAST]] low[0, 0, 1, 1, 0] high[0, 0, 1, 1, 0]
// CHECK:         %[[READ:.*]] = tensor.extract_slice %[[PADDED]]
// CHECK:         %[[PLANES:.*]] = tensor.collapse_shape %[[READ]] {{.*}} into tensor<4x8x8x2xf32>
// CHECK:         linalg.conv_2d_nhwc_hwcf {{.*}} ins(%[[PLANES]],
func.func @padded_volumes(%x: tensor<1x2x4x6x6xf32>, %w: tensor<3x2x1x3x3xf32>, %init: tensor<1x3x4x6x6xf32>) -> tensor<1x3x4x6x6xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, 0, 0, 1, 1] high[0, 0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index, %e: index):
    tensor.yield %zero : f32
  } : tensor<1x2x4x6x6xf32> to tensor<1x2x4x8x8xf32>
  %0 = linalg.conv_3d_ncdhw_fcdhw {dilations = dense<1> : vector<3xi64>, strides = dense<1> : vector<3xi64>} ins(%p, %w : tensor<1x2x4x8x8xf32>, tensor<3x2x1x3x3xf32>) outs(%init : tensor<1x3x4x6x6xf32>) -> tensor<1x3x4x6x6xf32>
  return %0 : tensor<1x3x4x6x6xf32>
}

// With windows of one column, planes become the rows of an image. Only the elements that are read
// are kept.
// CHECK-LABEL: func.func @points(
// CHECK:         %[[READ:.*]] = tensor.extract_slice %arg0[0, 0, 0, 0, 0] [1, 2, 4, 3, 3] [1, 1, 1, 2, 2]
// CHECK:         %[[ROWS:.*]] = tensor.collapse_shape %[[READ]] {{.*}} into tensor<1x2x4x9xf32>
// CHECK:         %[[PLANES:.*]] = tensor.extract_slice %[[ROWS]][0, 0, 0, 0] [1, 2, 2, 9] [1, 1, 2, 1]
// CHECK:         linalg.conv_2d_nhwc_hwcf {{{.*}}strides = dense<1>
// CHECK:         tensor.expand_shape {{.*}} into tensor<1x3x2x3x3xf32>
func.func @points(%x: tensor<1x2x4x6x6xf32>, %w: tensor<3x2x1x1x1xf32>, %init: tensor<1x3x2x3x3xf32>) -> tensor<1x3x2x3x3xf32> {
  %0 = linalg.conv_3d_ncdhw_fcdhw {dilations = dense<1> : vector<3xi64>, strides = dense<2> : vector<3xi64>} ins(%x, %w : tensor<1x2x4x6x6xf32>, tensor<3x2x1x1x1xf32>) outs(%init : tensor<1x3x2x3x3xf32>) -> tensor<1x3x2x3x3xf32>
  return %0 : tensor<1x3x2x3x3xf32>
}

// The padding of planes becomes one of rows, so that it is transposed before it is padded. The bias
// is broadcast to the 2-D result.
// CHECK-LABEL: func.func @columns(
// CHECK:         %[[ROWS:.*]] = tensor.collapse_shape %arg0 {{.*}} into tensor<1x2x4x9xf32>
// CHECK:         linalg.broadcast ins(%arg2 : tensor<3xf32>) outs(%{{.*}} : tensor<1x4x9x3xf32>)
// CHECK:         %[[LAST:.*]] = linalg.transpose ins(%[[ROWS]] :
// CHECK:         %[[PADDED:.*]] = tensor.pad %[[LAST]] low[0, 1, 0, 0] high[0, 1, 0, 0]
// CHECK:         linalg.generic {{.*}} ins(%{{.*}} : tensor<1x6x9x1x2xf32>) outs(%{{.*}} : tensor<1x1x4x9x3x1x2xf32>)
// CHECK:         linalg.batch_matmul ins(%{{.*}}, %{{.*}} : tensor<1x36x6xf32>, tensor<1x6x3xf32>)
func.func @columns(%x: tensor<1x2x4x3x3xf32>, %w: tensor<3x2x3x1x1xf32>, %bias: tensor<3xf32>) -> tensor<1x3x4x3x3xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, 0, 1, 0, 0] high[0, 0, 1, 0, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index, %e: index):
    tensor.yield %zero : f32
  } : tensor<1x2x4x3x3xf32> to tensor<1x2x6x3x3xf32>
  %empty = tensor.empty() : tensor<1x3x4x3x3xf32>
  %init = linalg.broadcast ins(%bias : tensor<3xf32>) outs(%empty : tensor<1x3x4x3x3xf32>) dimensions = [0, 2, 3, 4]
  %0 = linalg.conv_3d_ncdhw_fcdhw {dilations = dense<1> : vector<3xi64>, strides = dense<1> : vector<3xi64>} ins(%p, %w : tensor<1x2x6x3x3xf32>, tensor<3x2x3x1x1xf32>) outs(%init : tensor<1x3x4x3x3xf32>) -> tensor<1x3x4x3x3xf32>
  return %0 : tensor<1x3x4x3x3xf32>
}

// A 1-D convolution becomes a 2-D one of images of width 1, with a static or dynamic number.
// CHECK-LABEL: func.func @lines(
// CHECK:         %[[IMAGES:.*]] = tensor.expand_shape %arg0 {{.*}} : tensor<?x2x9xf32> into tensor<?x2x9x1xf32>
// CHECK:         linalg.generic {{.*}} outs(%{{.*}} : tensor<1x?x2x1x3x1x2xf32>)
// CHECK:         linalg.batch_matmul {{.*}} tensor<1x6x4xf32>
// CHECK:         tensor.collapse_shape {{.*}} : tensor<?x4x2x1xf32> into tensor<?x4x2xf32>
func.func @lines(%x: tensor<?x2x9xf32>, %w: tensor<4x2x3xf32>, %init: tensor<?x4x2xf32>) -> tensor<?x4x2xf32> {
  %0 = linalg.conv_1d_ncw_fcw {dilations = dense<3> : vector<1xi64>, strides = dense<2> : vector<1xi64>} ins(%x, %w : tensor<?x2x9xf32>, tensor<4x2x3xf32>) outs(%init : tensor<?x4x2xf32>) -> tensor<?x4x2xf32>
  return %0 : tensor<?x4x2xf32>
}

// A convolution with more than 128 filters stays only if the filters fill the last tile of 16.
// CHECK-LABEL: func.func @odd_filters(
// CHECK:         linalg.conv_2d_nhwc_hwcf {{.*}} -> tensor<1x4x4x144xf32>
// CHECK:         linalg.batch_matmul {{.*}} -> tensor<1x16x136xf32>
func.func @odd_filters(%x: tensor<1x2x6x6xf32>, %w: tensor<144x2x3x3xf32>, %init: tensor<1x144x4x4xf32>, %v: tensor<136x2x3x3xf32>, %init2: tensor<1x136x4x4xf32>) -> (tensor<1x144x4x4xf32>, tensor<1x136x4x4xf32>) {
  %0 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%x, %w : tensor<1x2x6x6xf32>, tensor<144x2x3x3xf32>) outs(%init : tensor<1x144x4x4xf32>) -> tensor<1x144x4x4xf32>
  %1 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%x, %v : tensor<1x2x6x6xf32>, tensor<136x2x3x3xf32>) outs(%init2 : tensor<1x136x4x4xf32>) -> tensor<1x136x4x4xf32>
  return %0, %1 : tensor<1x144x4x4xf32>, tensor<1x136x4x4xf32>
}

// The channels of the result are split, as by pixel shuffling. IREE would split them in the loops of
// the convolution.
// CHECK-LABEL: func.func @split_channels(
// CHECK:         %[[OWN:.*]] = linalg.conv_2d_nhwc_hwcf
// CHECK:         %[[KEPT:.*]] = "util.optimization_barrier"(%[[OWN]])
// CHECK:         linalg.transpose ins(%[[KEPT]]
// CHECK:         tensor.expand_shape
func.func @split_channels(%x: tensor<1x16x9x9xf32>, %w: tensor<32x16x3x3xf32>) -> tensor<1x8x4x7x7xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x32x7x7xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x32x7x7xf32>) -> tensor<1x32x7x7xf32>
  %y = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%x, %w : tensor<1x16x9x9xf32>, tensor<32x16x3x3xf32>) outs(%z : tensor<1x32x7x7xf32>) -> tensor<1x32x7x7xf32>
  %s = tensor.expand_shape %y [[0], [1, 2], [3], [4]] output_shape [1, 8, 4, 7, 7] : tensor<1x32x7x7xf32> into tensor<1x8x4x7x7xf32>
  return %s : tensor<1x8x4x7x7xf32>
}

// IREE transposes a constant when it loads the program. It would move the transposition of another
// tensor into the loops of the convolution. A 1x1 convolution is a product, whose packing includes the
// transposition.
// CHECK-LABEL: func.func @weights(
// CHECK:         %[[LOADED:.*]] = linalg.transpose ins(%{{cst.*}} :
// CHECK:         linalg.conv_2d_nhwc_hwcf {{.*}} ins(%{{.*}}, %[[LOADED]] :
// CHECK:         %[[GIVEN:.*]] = linalg.transpose ins(%arg1 :
// CHECK:         %[[KEPT:.*]] = "util.optimization_barrier"(%[[GIVEN]])
// CHECK:         linalg.conv_2d_nhwc_hwcf {{.*}} ins(%{{.*}}, %[[KEPT]] :
// CHECK:         %[[POINTS:.*]] = linalg.transpose ins(%arg2 :
// CHECK:         linalg.conv_2d_nhwc_hwcf {{.*}} ins(%{{.*}}, %[[POINTS]] :
func.func @weights(%x: tensor<1x4x8x8xf32>, %given: tensor<4x4x3x3xf32>, %points: tensor<4x4x1x1xf32>) -> tensor<1x4x4x4xf32> {
  %w = arith.constant dense<0.5> : tensor<4x4x3x3xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x4x6x6xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %0 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%x, %w : tensor<1x4x8x8xf32>, tensor<4x4x3x3xf32>) outs(%z : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %e1 = tensor.empty() : tensor<1x4x4x4xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  %1 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%0, %given : tensor<1x4x6x6xf32>, tensor<4x4x3x3xf32>) outs(%z1 : tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  %2 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%1, %points : tensor<1x4x4x4xf32>, tensor<4x4x1x1xf32>) outs(%z1 : tensor<1x4x4x4xf32>) -> tensor<1x4x4x4xf32>
  return %2 : tensor<1x4x4x4xf32>
}
