// RUN: unmess-opt --pipeline upstream %s | mlir-opt | filecheck %s

// The updates are scalars. The columns of the indices may be in another order than the axes.
// CHECK-LABEL: func.func @numbers
// CHECK:         scf.for %[[I:.*]] = %c0 to %c4 step %c1 iter_args(%[[SO_FAR:.*]] = %{{.*}}) -> (tensor<3x5xf32>)
// CHECK:           %[[COLUMN:.*]] = arith.index_cast
// CHECK:           %[[ROW:.*]] = arith.index_cast
// CHECK:           %[[OLD:.*]] = tensor.extract %[[SO_FAR]][%[[ROW]], %[[COLUMN]]]
// CHECK:           %[[NEW:.*]] = arith.addf %[[OLD]]
// CHECK-NEXT:      tensor.insert %[[NEW]] into %[[SO_FAR]][%[[ROW]], %[[COLUMN]]]
func.func @numbers(%u: tensor<4xf32>, %i: tensor<4x2xi64>, %x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %0 = tm_tensor.scatter {dimension_map = array<i64: 1, 0>} unique_indices(false) ins(%u, %i : tensor<4xf32>, tensor<4x2xi64>) outs(%x : tensor<3x5xf32>) {
  ^bb0(%new: f32, %old: f32):
    %1 = arith.addf %old, %new : f32
    tm_tensor.yield %1 : f32
  } -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}

// The updates are windows. Each window of whole rows is one operation.
// CHECK-LABEL: func.func @rows
// CHECK:         %[[COUNT:.*]] = tensor.dim
// CHECK:         scf.for %[[I:.*]] = %c0 to %[[COUNT]]
// CHECK:           %[[ROW:.*]] = arith.index_cast
// CHECK:           %[[NEW:.*]] = tensor.extract_slice %{{.*}}[%[[I]], 0, 0] [1, 1, 5] [1, 1, 1]
// CHECK-NEXT:      %[[OLD:.*]] = tensor.extract_slice %[[SO_FAR:.*]][%[[ROW]], 0] [1, 5] [1, 1]
// CHECK-NEXT:      %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[NEW]] : tensor<1x5xf32>) outs(%[[OLD]] : tensor<1x5xf32>)
// CHECK:           tensor.insert_slice %[[SUM]] into %[[SO_FAR]][%[[ROW]], 0] [1, 5] [1, 1]
func.func @rows(%u: tensor<?x1x5xf32>, %i: tensor<?x1xi32>, %x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %0 = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(false) ins(%u, %i : tensor<?x1x5xf32>, tensor<?x1xi32>) outs(%x : tensor<3x5xf32>) {
  ^bb0(%new: f32, %old: f32):
    %1 = arith.addf %old, %new : f32
    tm_tensor.yield %1 : f32
  } -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}
