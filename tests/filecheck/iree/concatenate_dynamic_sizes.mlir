// RUN: unmess-opt --pipeline iree-concatenate-dynamic-sizes %s | filecheck %s

// CHECK-LABEL: func.func @main
// CHECK:         %[[JOINED:.*]] = tensor.concat dim(0) %{{.*}}, %{{.*}} : (tensor<?x2xf32>, tensor<1x2xf32>) -> tensor<?x2xf32>
// CHECK:         %[[KNOWN:.*]] = tensor.cast %[[JOINED]] : tensor<?x2xf32> to tensor<4x2xf32>
// CHECK:         return %[[KNOWN]]
func.func @main(%x: tensor<?x2xf32>, %y: tensor<1x2xf32>) -> tensor<4x2xf32> {
  %0 = tensor.concat dim(0) %x, %y : (tensor<?x2xf32>, tensor<1x2xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}

// Another axis is dynamic, or the result is.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     tensor.cast
func.func @others(%x: tensor<2x?xf32>, %y: tensor<2x?xf32>) -> (tensor<4x?xf32>, tensor<2x?xf32>) {
  %0 = tensor.concat dim(0) %x, %y : (tensor<2x?xf32>, tensor<2x?xf32>) -> tensor<4x?xf32>
  %1 = tensor.concat dim(1) %x, %y : (tensor<2x?xf32>, tensor<2x?xf32>) -> tensor<2x?xf32>
  return %0, %1 : tensor<4x?xf32>, tensor<2x?xf32>
}
