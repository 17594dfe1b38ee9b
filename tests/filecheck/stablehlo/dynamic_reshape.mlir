// RUN: unmess-opt --pipeline stablehlo-dynamic-reshapes %s | filecheck %s

// All dimensions are collapsed to one, which is expanded to the computed sizes.
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[X:.*]]: tensor<?x4xf32>, %[[SIZES:.*]]: tensor<3xi64>)
// CHECK:         %[[LINE:.*]] = tensor.collapse_shape %[[X]] {{\[\[}}0, 1]] : tensor<?x4xf32> into tensor<?xf32>
// CHECK:         %[[SIZE:.*]] = tensor.extract %[[SIZES]]
// CHECK:         %[[N:.*]] = arith.index_cast %[[SIZE]] : i64 to index
// CHECK:         tensor.expand_shape %[[LINE]] {{\[\[}}0, 1, 2]] output_shape [%[[N]], 2, 2]
func.func @main(%x: tensor<?x4xf32>, %sizes: tensor<3xi64>) -> tensor<?x2x2xf32> {
  %r = stablehlo.dynamic_reshape %x, %sizes : (tensor<?x4xf32>, tensor<3xi64>) -> tensor<?x2x2xf32>
  return %r : tensor<?x2x2xf32>
}

// A tensor of rank 1 is not changed.
// CHECK-LABEL: func.func @line(
// CHECK-NEXT:    return %arg0
func.func @line(%x: tensor<?xf32>, %sizes: tensor<1xindex>) -> tensor<?xf32> {
  %r = stablehlo.dynamic_reshape %x, %sizes : (tensor<?xf32>, tensor<1xindex>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// The number of elements becomes a product of sizes.
// CHECK-LABEL: func.func @number(
// CHECK:         %[[N:.*]] = tensor.dim %arg0
// CHECK:         arith.muli %{{.*}}, %[[N]]
// CHECK-NOT:     shape.num_elements
func.func @number(%x: tensor<?x4xf32>) -> index {
  %shape = shape.shape_of %x : tensor<?x4xf32> -> tensor<2xindex>
  %n = shape.num_elements %shape : tensor<2xindex> -> index
  return %n : index
}
