// RUN: unmess-opt --pipeline check-indices %s | filecheck %s

// These indices look as if they were in range, but are not proved to be.

#same = affine_map<(d0) -> (d0)>
#other = affine_map<(d0) -> (-d0 + 2)>

// The condition compares another element than the one that is selected.
// CHECK-LABEL: func.func @another_element(
// CHECK:         cf.assert %{{.*}}, "index out of range"
func.func @another_element(%x: tensor<8xf32>, %i: tensor<3x3xi64>) -> tensor<3x3xf32> {
  %zero = arith.constant 0 : i64
  %most = arith.constant 7 : i64
  %0 = tensor.empty() : tensor<3x3xi64>
  %1 = tensor.empty() : tensor<3x3xi1>
  %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%i : tensor<3x3xi64>) outs(%1 : tensor<3x3xi1>) {
  ^bb0(%in: i64, %out: i1):
    %5 = arith.cmpi ult, %in, %most : i64
    linalg.yield %5 : i1
  } -> tensor<3x3xi1>
  %3 = tensor.empty() : tensor<3x3xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%2, %i : tensor<3x3xi1>, tensor<3x3xi64>) outs(%3 : tensor<3x3xf32>) {
  ^bb0(%good: i1, %in: i64, %out: f32):
    %5 = arith.select %good, %in, %zero : i64
    %6 = arith.index_cast %5 : i64 to index
    %7 = tensor.extract %x[%6] : tensor<8xf32>
    linalg.yield %7 : f32
  } -> tensor<3x3xf32>
  return %4 : tensor<3x3xf32>
}

// The dynamic sizes may differ.
// CHECK-LABEL: func.func @other_size(
// CHECK:         cf.assert %{{.*}}, "index out of range"
func.func @other_size(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %0 = linalg.generic {indexing_maps = [#same], iterator_types = ["parallel"]} outs(%y : tensor<?xf32>) {
  ^bb0(%out: f32):
    %1 = linalg.index 0 : index
    %2 = tensor.extract %x[%1] : tensor<?xf32>
    linalg.yield %2 : f32
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// The sum of 64-bit integers may wrap around.
// CHECK-LABEL: func.func @wraps(
// CHECK:         cf.assert %{{.*}}, "index out of range"
func.func @wraps(%x: tensor<8xf32>, %i: i64) -> f32 {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %seven = arith.constant 7 : i64
  %0 = arith.addi %i, %one : i64
  %1 = arith.minsi %0, %seven : i64
  %2 = arith.index_cast %1 : i64 to index
  %3 = tensor.extract %x[%2] : tensor<8xf32>
  return %3 : f32
}

// CHECK-LABEL: func.func @slice(
// CHECK:         cf.assert %[[INSIDE:.*]], "slice out of range"
// CHECK-NEXT:    %[[FROM:.*]] = arith.select %[[INSIDE]], %arg1, %c0
// CHECK-NEXT:    tensor.extract_slice %arg0[%[[FROM]]] [2] [1]
func.func @slice(%x: tensor<8xf32>, %from: index) -> tensor<2xf32> {
  %0 = tensor.extract_slice %x[%from] [2] [1] : tensor<8xf32> to tensor<2xf32>
  return %0 : tensor<2xf32>
}

// Each column of the indices has its own limit, and a window must fit completely.
// CHECK-LABEL: func.func @scatter(
// CHECK:         linalg.generic {{.*}}["reduction", "reduction"]} ins(%arg1 : tensor<2x2xi64>)
// CHECK:         cf.assert %{{.*}}, "index out of range"
// CHECK:         %[[SAFE:.*]] = linalg.generic {{.*}} ins(%arg1 : tensor<2x2xi64>)
// CHECK:         tm_tensor.scatter {{.*}}ins(%arg2, %[[SAFE]] :
func.func @scatter(%x: tensor<8x4xf32>, %i: tensor<2x2xi64>, %updates: tensor<2xf32>) -> tensor<8x4xf32> {
  %0 = tm_tensor.scatter {dimension_map = array<i64: 0, 1>} unique_indices(true) ins(%updates, %i : tensor<2xf32>, tensor<2x2xi64>) outs(%x : tensor<8x4xf32>) {
  ^bb0(%new: f32, %old: f32):
    tm_tensor.yield %new : f32
  } -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
