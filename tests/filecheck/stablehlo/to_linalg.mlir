// RUN: unmess-opt --pipeline stablehlo-to-linalg %s | filecheck %s

// Computations of shapes become arith and tensor. No StableHLO and no shape dialect is left.

// CHECK-NOT:     stablehlo.
// CHECK-NOT:     shape.{{shape_of|broadcast|const_shape}}
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    tensor<?x4xf32> {unmess.input = "x"}, %{{.*}}: tensor<4xf32> {unmess.weight = "w"}) -> tensor<?x4xf32>
// CHECK:         tensor.dim %{{.*}}, %{{.*}} : tensor<?x4xf32>
// CHECK:         linalg.generic
// CHECK:           arith.mulf
// CHECK-NOT:     stablehlo.
func.func @main(%x: tensor<?x4xf32> {unmess.input = "x"}, %w: tensor<4xf32> {unmess.weight = "w"}) -> tensor<?x4xf32> {
  %own = shape.const_shape [4] : tensor<1xindex>
  %0 = shape.shape_of %x : tensor<?x4xf32> -> tensor<2xindex>
  %1 = shape.broadcast %0, %own : tensor<2xindex>, tensor<1xindex> -> tensor<2xindex>
  %2 = stablehlo.dynamic_broadcast_in_dim %x, %1, dims = [0, 1] {known_nonexpanding_dimensions = array<i64: 0>} : (tensor<?x4xf32>, tensor<2xindex>) -> tensor<?x4xf32>
  %3 = stablehlo.dynamic_broadcast_in_dim %w, %1, dims = [1] : (tensor<4xf32>, tensor<2xindex>) -> tensor<?x4xf32>
  %4 = stablehlo.multiply %2, %3 : tensor<?x4xf32>
  return %4 : tensor<?x4xf32>
}
