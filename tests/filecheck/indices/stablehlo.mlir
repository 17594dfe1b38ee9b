// RUN: unmess-opt --pipeline check-stablehlo-indices %s | filecheck %s

// CHECK-LABEL: func.func @gather(
// CHECK:         cf.assert %{{.*}}, "index out of range"
// CHECK:         %[[SAFE:.*]] = linalg.generic {{.*}} ins(%arg1 : tensor<2x1xi64>)
// CHECK:         "stablehlo.gather"(%arg0, %[[SAFE]])
func.func @gather(%x: tensor<8x4xf32> {unmess.input = "x"}, %i: tensor<2x1xi64> {unmess.input = "i"}) -> tensor<2x4xf32> {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<8x4xf32>, tensor<2x1xi64>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// An update of 3 rows can start at rows 0 to 5.
// CHECK-LABEL: func.func @scatter(
// CHECK:         %[[PLACES:.*]] = arith.constant 6 : i64
// CHECK:         arith.cmpi ult, %in, %[[PLACES]] : i64
// CHECK:         cf.assert %{{.*}}, "index out of range"
func.func @scatter(%x: tensor<8x4xf32> {unmess.input = "x"}, %i: tensor<1xi64> {unmess.input = "i"}, %updates: tensor<3x4xf32> {unmess.input = "u"}) -> tensor<8x4xf32> {
  %0 = "stablehlo.scatter"(%x, %i, %updates) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], scatter_dims_to_operand_dims = [0], index_vector_dim = 0>, unique_indices = false}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    stablehlo.return %new : tensor<f32>
  }) : (tensor<8x4xf32>, tensor<1xi64>, tensor<3x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// IR from other tools keeps the semantics of StableHLO, which needs no check.
// CHECK-LABEL: func.func @own(
// CHECK-NOT:     cf.assert
func.func @own(%x: tensor<8x4xf32>, %i: tensor<2x1xi64>) -> tensor<2x4xf32> {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}> : (tensor<8x4xf32>, tensor<2x1xi64>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
