// RUN: unmess-opt --pipeline stablehlo-dynamic-convolutions %s | filecheck %s
// RUN: unmess-opt --pipeline stablehlo-to-linalg %s | filecheck %s --check-prefix LINALG

// Two groups: the channels are two axes. The padding is between the elements, too.
// CHECK-DAG:   #[[IMAGE:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1 * 2 + d4, d2, d5)>
// CHECK-DAG:   #[[KERNEL:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d5, d2, d3)>
// CHECK-LABEL: func.func @groups(
// CHECK:         stablehlo.pad %{{.*}}, %{{.*}}, low = [0, 1, 0], high = [0, 1, 0], interior = [0, 2, 0] : (tensor<?x5x4xf32>, tensor<f32>) -> tensor<?x15x4xf32>
// CHECK:         tensor.expand_shape %{{.*}} {{\[\[}}0], [1], [2, 3]] {{.*}} into tensor<?x15x2x2xf32>
// CHECK:         tensor.expand_shape %{{.*}} {{\[\[}}0], [1], [2, 3]] {{.*}} into tensor<3x2x2x3xf32>
// CHECK:         linalg.fill {{.*}} tensor<?x7x2x3xf32>
// CHECK:         linalg.generic {indexing_maps = [#[[IMAGE]], #[[KERNEL]],
// CHECK:         tensor.collapse_shape %{{.*}} {{\[\[}}0], [1], [2, 3]] : tensor<?x7x2x3xf32> into tensor<?x7x6xf32>
// LINALG-LABEL: func.func @groups(
// LINALG-NOT:     stablehlo
func.func @groups(%x: tensor<?x5x4xf32>, %w: tensor<3x2x6xf32>) -> tensor<?x7x6xf32> {
  %0 = stablehlo.convolution(%x, %w)
    dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
    window = {stride = [2], pad = [[1, 1]], lhs_dilate = [3], rhs_dilate = [1]}
    {batch_group_count = 1 : i64, feature_group_count = 2 : i64}
    : (tensor<?x5x4xf32>, tensor<3x2x6xf32>) -> tensor<?x7x6xf32>
  return %0 : tensor<?x7x6xf32>
}

// The height is dynamic, and integers of 8 bits are summed in 32 bits.
// CHECK-LABEL: func.func @height(
// CHECK:         stablehlo.convert %{{.*}} : (tensor<2x?x4xi8>) -> tensor<2x?x4xi32>
// CHECK:         tensor.dim
// CHECK:         arith.divsi
// CHECK:         linalg.generic
// CHECK:           arith.muli
// LINALG-LABEL: func.func @height(
// LINALG-NOT:     stablehlo
func.func @height(%x: tensor<2x?x4xi8>, %w: tensor<3x4x6xi8>) -> tensor<2x?x6xi32> {
  %0 = stablehlo.convolution(%x, %w)
    dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
    window = {stride = [2]}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<2x?x4xi8>, tensor<3x4x6xi8>) -> tensor<2x?x6xi32>
  return %0 : tensor<2x?x6xi32>
}

// Upstream lowers a dynamic batch without groups.
// CHECK-LABEL: func.func @batch(
// CHECK-NEXT:    stablehlo.convolution
func.func @batch(%x: tensor<?x5x4xf32>, %w: tensor<3x4x6xf32>) -> tensor<?x3x6xf32> {
  %0 = stablehlo.convolution(%x, %w)
    dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
    window = {}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<?x5x4xf32>, tensor<3x4x6xf32>) -> tensor<?x3x6xf32>
  return %0 : tensor<?x3x6xf32>
}
