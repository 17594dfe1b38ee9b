// RUN: unmess-opt --pipeline iree-cut-to-reach %s | filecheck %s

// There is one window of 3 elements along an axis of 5. It does not read the last two elements.
// CHECK-LABEL: func.func @one_window(
// CHECK:         %[[PART:.*]] = tensor.extract_slice %arg0[0, 0, 0] [1, 2, 3] [1, 1, 1]
// CHECK:         linalg.pooling_ncw_max {{.*}}ins(%[[PART]],
func.func @one_window(%x: tensor<1x2x5xf32>, %w: tensor<3xf32>, %o: tensor<1x2x1xf32>) -> tensor<1x2x1xf32> {
  %0 = linalg.pooling_ncw_max {dilations = dense<1> : vector<1xi64>, strides = dense<2> : vector<1xi64>} ins(%x, %w : tensor<1x2x5xf32>, tensor<3xf32>) outs(%o : tensor<1x2x1xf32>) -> tensor<1x2x1xf32>
  return %0 : tensor<1x2x1xf32>
}

// Axes with several windows and axes of dynamic size are not cut. With dilation, a window reads
// further elements: 1 + 2 * (2 - 1).
// CHECK-LABEL: func.func @some_axes(
// CHECK:         %[[PART:.*]] = tensor.extract_slice %arg0[0, 0, 0, 0] [%{{.*}}, 2, 6, 3] [1, 1, 1, 1]
// CHECK:         linalg.pooling_nchw_sum {{.*}}ins(%[[PART]],
func.func @some_axes(%x: tensor<?x2x6x6xf32>, %w: tensor<2x2xf32>, %o: tensor<?x2x2x1xf32>) -> tensor<?x2x2x1xf32> {
  %0 = linalg.pooling_nchw_sum {dilations = dense<2> : vector<2xi64>, strides = dense<2> : vector<2xi64>} ins(%x, %w : tensor<?x2x6x6xf32>, tensor<2x2xf32>) outs(%o : tensor<?x2x2x1xf32>) -> tensor<?x2x2x1xf32>
  return %0 : tensor<?x2x2x1xf32>
}

// The window reads the whole image.
// CHECK-LABEL: func.func @all_of_it(
// CHECK-NOT:     tensor.extract_slice
// CHECK:         return
func.func @all_of_it(%x: tensor<1x2x3xf32>, %w: tensor<3xf32>, %o: tensor<1x2x1xf32>) -> tensor<1x2x1xf32> {
  %0 = linalg.pooling_ncw_max {dilations = dense<1> : vector<1xi64>, strides = dense<2> : vector<1xi64>} ins(%x, %w : tensor<1x2x3xf32>, tensor<3xf32>) outs(%o : tensor<1x2x1xf32>) -> tensor<1x2x1xf32>
  return %0 : tensor<1x2x1xf32>
}
