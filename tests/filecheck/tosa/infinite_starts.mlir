// RUN: unmess-opt --pipeline tosa-infinite-starts %s | filecheck %s

// The start of the maximum and the padding of the pooling become -inf. The padding of the program,
// and the same number elsewhere, do not.
// CHECK-LABEL: func.func @main(
// CHECK-SAME:      %[[X:.*]]: tensor<2x3xf32>
// CHECK:         %[[LOWEST:.*]] = arith.constant -3.40282347E+38 : f32
// CHECK:         %[[OWN:.*]] = tosa.pad
// CHECK:         %[[INFINITY:.*]] = arith.constant 0xFF800000 : f32
// CHECK:         %[[START:.*]] = linalg.fill ins(%[[INFINITY]] : f32)
// CHECK:         linalg.reduce { arith.maximumf } ins(%{{.*}}) outs(%[[START]] :
// CHECK:         %[[PADDING:.*]] = arith.constant 0xFF800000 : f32
// CHECK:         tensor.pad %{{.*}}
// CHECK:           tensor.yield %[[PADDING]] : f32
// CHECK:         linalg.pooling_nhwc_max
// CHECK:         return %{{.*}}, %{{.*}}, %[[LOWEST]] :
func.func @main(%x: tensor<2x3xf32>, %image: tensor<1x2x2x1xf32>) -> (tensor<2xf32>, tensor<1x3x3x1xf32>, f32) {
  %lowest = arith.constant -3.40282347E+38 : f32
  %value = "tosa.const"() {values = dense<-3.40282347E+38> : tensor<1xf32>} : () -> tensor<1xf32>
  %widths = tosa.const_shape {values = dense<[0, 0, 0, 1]> : tensor<4xindex>} : () -> !tosa.shape<4>
  %own = tosa.pad %x, %widths, %value : (tensor<2x3xf32>, !tosa.shape<4>, tensor<1xf32>) -> tensor<2x4xf32>
  %0 = tensor.empty() : tensor<2xf32>
  %1 = linalg.fill ins(%lowest : f32) outs(%0 : tensor<2xf32>) -> tensor<2xf32>
  %2 = linalg.reduce {arith.maximumf} ins(%own : tensor<2x4xf32>) outs(%1 : tensor<2xf32>) dimensions = [1]
  %3 = tensor.pad %image low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %lowest : f32
  } : tensor<1x2x2x1xf32> to tensor<1x4x4x1xf32>
  %4 = tensor.empty() : tensor<1x3x3x1xf32>
  %5 = linalg.fill ins(%lowest : f32) outs(%4 : tensor<1x3x3x1xf32>) -> tensor<1x3x3x1xf32>
  %6 = tensor.empty() : tensor<2x2xf32>
  %7 = linalg.pooling_nhwc_max {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%3, %6 : tensor<1x4x4x1xf32>, tensor<2x2xf32>) outs(%5 : tensor<1x3x3x1xf32>) -> tensor<1x3x3x1xf32>
  return %2, %7, %lowest : tensor<2xf32>, tensor<1x3x3x1xf32>, f32
}
