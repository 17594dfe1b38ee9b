// RUN: unmess-opt --pipeline set-size %s | filecheck %s

// The sizes of the casts at the entry reach all operations, concatenations included.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    (%[[X:.*]]: tensor<3x8xf32>, %[[Y:.*]]: tensor<5x8xf32>) -> tensor<8x8xf32>
// CHECK-NOT:     ?
// CHECK:         tensor.concat dim(0) %{{.*}}, %[[Y]] : (tensor<3x8xf32>, tensor<5x8xf32>) -> tensor<8x8xf32>
// CHECK-NOT:     ?
func.func @main(%x: tensor<3x8xf32>, %y: tensor<5x8xf32>) -> tensor<8x8xf32> {
  %c0 = arith.constant 0 : index
  %0 = tensor.cast %x : tensor<3x8xf32> to tensor<?x8xf32>
  %1 = tensor.cast %y : tensor<5x8xf32> to tensor<?x8xf32>
  %size = tensor.dim %0, %c0 : tensor<?x8xf32>
  %2 = tensor.empty(%size) : tensor<?x8xf32>
  %3 = linalg.exp ins(%0 : tensor<?x8xf32>) outs(%2 : tensor<?x8xf32>) -> tensor<?x8xf32>
  %4 = tensor.concat dim(0) %3, %1 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %5 = tensor.cast %4 : tensor<?x8xf32> to tensor<8x8xf32>
  return %5 : tensor<8x8xf32>
}
