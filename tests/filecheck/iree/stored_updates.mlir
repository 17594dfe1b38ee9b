// RUN: unmess-opt --pipeline iree-store-updates %s | filecheck %s

// The updates are a slice of the tensor, in another shape.
// CHECK-LABEL: func.func @of_itself(
// CHECK-SAME:    %[[X:.*]]: tensor<8x3xf32>
// CHECK:         %[[PART:.*]] = tensor.extract_slice
// CHECK:         %[[VIEW:.*]] = tensor.collapse_shape %[[PART]]
// CHECK:         %[[KEPT:.*]] = "util.optimization_barrier"(%[[VIEW]])
// CHECK:         tm_tensor.scatter {{.*}} ins(%[[KEPT]],
func.func @of_itself(%x: tensor<8x3xf32>, %i: tensor<6x2xi32>) -> tensor<8x3xf32> {
  %part = tensor.extract_slice %x[1, 0] [2, 3] [1, 1] : tensor<8x3xf32> to tensor<2x3xf32>
  %line = tensor.collapse_shape %part [[0, 1]] : tensor<2x3xf32> into tensor<6xf32>
  %0 = tm_tensor.scatter {dimension_map = array<i64: 0, 1>} unique_indices(false) ins(%line, %i : tensor<6xf32>, tensor<6x2xi32>) outs(%x : tensor<8x3xf32>) {
  ^bb0(%new: f32, %old: f32):
    tm_tensor.yield %new : f32
  } -> tensor<8x3xf32>
  return %0 : tensor<8x3xf32>
}

// The updates are widened.
// CHECK-LABEL: func.func @widened(
// CHECK:         %[[WIDE:.*]] = linalg.generic
// CHECK:         %[[KEPT:.*]] = "util.optimization_barrier"(%[[WIDE]])
// CHECK:         tm_tensor.scatter {{.*}} ins(%[[KEPT]],
func.func @widened(%x: tensor<8x3xf32>, %y: tensor<6xf16>, %i: tensor<6x2xi32>) -> tensor<8x3xf32> {
  %place = tensor.empty() : tensor<6xf32>
  %wide = linalg.generic {
    indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
    iterator_types = ["parallel"]} ins(%y : tensor<6xf16>) outs(%place : tensor<6xf32>) {
  ^bb0(%a: f16, %b: f32):
    %1 = arith.extf %a : f16 to f32
    linalg.yield %1 : f32
  } -> tensor<6xf32>
  %0 = tm_tensor.scatter {dimension_map = array<i64: 0, 1>} unique_indices(false) ins(%wide, %i : tensor<6xf32>, tensor<6x2xi32>) outs(%x : tensor<8x3xf32>) {
  ^bb0(%new: f32, %old: f32):
    tm_tensor.yield %new : f32
  } -> tensor<8x3xf32>
  return %0 : tensor<8x3xf32>
}

// The updates are another tensor.
// CHECK-LABEL: func.func @of_another(
// CHECK-NOT:     barrier
// CHECK:         return
func.func @of_another(%x: tensor<8x3xf32>, %y: tensor<6xf32>, %i: tensor<6x2xi32>) -> tensor<8x3xf32> {
  %0 = tm_tensor.scatter {dimension_map = array<i64: 0, 1>} unique_indices(false) ins(%y, %i : tensor<6xf32>, tensor<6x2xi32>) outs(%x : tensor<8x3xf32>) {
  ^bb0(%new: f32, %old: f32):
    tm_tensor.yield %new : f32
  } -> tensor<8x3xf32>
  return %0 : tensor<8x3xf32>
}

// The updated tensor is a row of another one.
// CHECK-LABEL: func.func @of_a_slice(
// CHECK:         %[[ROW:.*]] = tensor.extract_slice
// CHECK:         %[[ZERO:.*]] = "util.optimization_barrier"(%{{.*}}) : (tensor<f32>) -> tensor<f32>
// CHECK:         %[[COPY:.*]] = linalg.generic {{.*}} ins(%[[ROW]], %[[ZERO]] :
// CHECK:         tm_tensor.scatter {{.*}} outs(%[[COPY]] :
func.func @of_a_slice(%x: tensor<8x3xf32>, %y: tensor<2xf32>, %i: tensor<2x1xi32>) -> tensor<3xf32> {
  %row = tensor.extract_slice %x[1, 0] [1, 3] [1, 1] : tensor<8x3xf32> to tensor<3xf32>
  %0 = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(false) ins(%y, %i : tensor<2xf32>, tensor<2x1xi32>) outs(%row : tensor<3xf32>) {
  ^bb0(%new: f32, %old: f32):
    tm_tensor.yield %new : f32
  } -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// The updated tensor is another shape of a whole one.
// CHECK-LABEL: func.func @of_a_reshape(
// CHECK-NOT:     barrier
// CHECK:         return
func.func @of_a_reshape(%x: tensor<8x3xf32>, %y: tensor<2xf32>, %i: tensor<2x1xi32>) -> tensor<24xf32> {
  %line = tensor.collapse_shape %x [[0, 1]] : tensor<8x3xf32> into tensor<24xf32>
  %0 = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(false) ins(%y, %i : tensor<2xf32>, tensor<2x1xi32>) outs(%line : tensor<24xf32>) {
  ^bb0(%new: f32, %old: f32):
    tm_tensor.yield %new : f32
  } -> tensor<24xf32>
  return %0 : tensor<24xf32>
}

// The updates are one number. The generic operation also computes the indices.
// CHECK-LABEL: func.func @of_a_number(
// CHECK:         %[[ONES:.*]]:2 = linalg.generic
// CHECK:         %[[KEPT:.*]] = "util.optimization_barrier"(%[[ONES]]#1)
// CHECK:         tm_tensor.scatter {{.*}} ins(%[[KEPT]], %[[ONES]]#0
func.func @of_a_number(%x: tensor<8xi64>, %i: tensor<6xi32>) -> tensor<8xi64> {
  %one = arith.constant 1 : i64
  %indices = tensor.empty() : tensor<6x1xi32>
  %numbers = tensor.empty() : tensor<6xi64>
  %0:2 = linalg.generic {
    indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0, 0)>, affine_map<(d0) -> (d0)>],
    iterator_types = ["parallel"]} ins(%i : tensor<6xi32>) outs(%indices, %numbers : tensor<6x1xi32>, tensor<6xi64>) {
  ^bb0(%a: i32, %b: i32, %c: i64):
    linalg.yield %a, %one : i32, i64
  } -> (tensor<6x1xi32>, tensor<6xi64>)
  %1 = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(false) ins(%0#1, %0#0 : tensor<6xi64>, tensor<6x1xi32>) outs(%x : tensor<8xi64>) {
  ^bb0(%new: i64, %old: i64):
    %2 = arith.addi %old, %new : i64
    tm_tensor.yield %2 : i64
  } -> tensor<8xi64>
  return %1 : tensor<8xi64>
}

// CHECK-LABEL: func.func @filled(
// CHECK:         %[[ONES:.*]] = linalg.fill
// CHECK:         %[[KEPT:.*]] = "util.optimization_barrier"(%[[ONES]])
// CHECK:         tm_tensor.scatter {{.*}} ins(%[[KEPT]],
func.func @filled(%x: tensor<8xi64>, %i: tensor<6x1xi32>) -> tensor<8xi64> {
  %one = arith.constant 1 : i64
  %empty = tensor.empty() : tensor<6xi64>
  %0 = linalg.fill ins(%one : i64) outs(%empty : tensor<6xi64>) -> tensor<6xi64>
  %1 = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(false) ins(%0, %i : tensor<6xi64>, tensor<6x1xi32>) outs(%x : tensor<8xi64>) {
  ^bb0(%new: i64, %old: i64):
    %2 = arith.addi %old, %new : i64
    tm_tensor.yield %2 : i64
  } -> tensor<8xi64>
  return %1 : tensor<8xi64>
}
