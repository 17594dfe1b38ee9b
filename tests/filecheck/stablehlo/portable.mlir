// RUN: unmess-opt --pipeline portable-stablehlo %s | filecheck %s

// Sizes of a reshape become StableHLO. Nothing of arith, shape or tensor is left.

// CHECK-LABEL: @flatten
// CHECK-NOT:     arith.
// CHECK-NOT:     shape.
// CHECK-NOT:     tensor.
// CHECK:         %[[N:.*]] = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x4x6xf32>) -> tensor<i32>
// CHECK:         stablehlo.divide
// CHECK:         %[[SHAPE:.*]] = stablehlo.concatenate {{.*}}, dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
// CHECK:         stablehlo.dynamic_reshape %arg0, %[[SHAPE]]
func.func @flatten(%x: tensor<?x4x6xf32>) -> tensor<?x24xf32> {
  %columns = arith.constant 24 : i64
  %shape = shape.shape_of %x : tensor<?x4x6xf32> -> tensor<3xindex>
  %number = shape.num_elements %shape : tensor<3xindex> -> index
  %all = arith.index_cast %number : index to i64
  %rows = arith.divui %all, %columns : i64
  %sizes = tensor.from_elements %rows, %columns : tensor<2xi64>
  %0 = stablehlo.dynamic_reshape %x, %sizes : (tensor<?x4x6xf32>, tensor<2xi64>) -> tensor<?x24xf32>
  return %0 : tensor<?x24xf32>
}

// CHECK-LABEL: @constant
// CHECK:         stablehlo.constant dense<2.000000e+00> : tensor<3xf32>
func.func @constant(%x: tensor<3xf32>) -> tensor<3xf32> {
  %two = arith.constant dense<2.0> : tensor<3xf32>
  %0 = stablehlo.multiply %x, %two : tensor<3xf32>
  return %0 : tensor<3xf32>
}
