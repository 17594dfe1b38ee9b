// RUN: unmess-opt --pipeline iree-keep-inputs %s | filecheck %s

// If an operation updates an argument in place, a use of it after that makes IREE copy it first.
// State may change in place, unless the function also returns its old value.

// CHECK-LABEL: func.func @accumulated(
// CHECK:         %[[SUM:.*]] = linalg.matmul ins(%arg0, %arg1 {{.*}} outs(%arg2
// CHECK-NEXT:    "util.optimization_barrier"(%arg2)
// CHECK-NEXT:    return %[[SUM]]
func.func @accumulated(%a: tensor<2x2xf32>, %b: tensor<2x2xf32>, %c: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %0 = linalg.matmul ins(%a, %b : tensor<2x2xf32>, tensor<2x2xf32>) outs(%c : tensor<2x2xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// The inserted row is only read, and `tensor.dim` reads only its size. Neither needs a barrier.
// CHECK-LABEL: func.func @state(
// CHECK-NOT:     util.optimization_barrier
func.func @state(%row: tensor<1x?xf32>, %cache: tensor<4x?xf32> {unmess.state = "cache"}) -> tensor<4x?xf32> {
  %one = arith.constant 1 : index
  %n = tensor.dim %row, %one : tensor<1x?xf32>
  %0 = tensor.insert_slice %row into %cache[1, 0] [1, %n] [1, 1] : tensor<1x?xf32> into tensor<4x?xf32>
  return %0 : tensor<4x?xf32>
}

// CHECK-LABEL: func.func @state_as_it_was(
// CHECK:         %[[NEW:.*]] = tensor.insert_slice
// CHECK:         %[[OLD:.*]] = "util.optimization_barrier"(%arg1)
// CHECK-NEXT:    return %[[NEW]], %[[OLD]]
func.func @state_as_it_was(%row: tensor<1x4xf32>, %cache: tensor<4x4xf32> {unmess.state = "cache"}) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = tensor.insert_slice %row into %cache[1, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<4x4xf32>
  return %0, %cache : tensor<4x4xf32>, tensor<4x4xf32>
}

// The update goes through a view of a view.
// CHECK-LABEL: func.func @viewed(
// CHECK:         "util.optimization_barrier"(%arg0)
func.func @viewed(%x: tensor<2x2xf32>, %y: f32) -> tensor<?xf32> {
  %zero = arith.constant 0 : index
  %0 = tensor.collapse_shape %x [[0, 1]] : tensor<2x2xf32> into tensor<4xf32>
  %1 = tensor.cast %0 : tensor<4xf32> to tensor<?xf32>
  %2 = tensor.insert %y into %1[%zero] : tensor<?xf32>
  return %2 : tensor<?xf32>
}

// Private functions are called by entry functions, which already have the barriers.
// CHECK-LABEL: func.func private @helper(
// CHECK-NOT:     util.optimization_barrier
func.func private @helper(%c: tensor<2xf32>, %y: f32) -> tensor<2xf32> {
  %0 = linalg.fill ins(%y : f32) outs(%c : tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
