// RUN: unmess-opt --pipeline linalg-nan-order %s | filecheck %s

#id = affine_map<(d0) -> (d0)>
#one = affine_map<(d0) -> ()>

// In ascending order, NaN is in order as the second neighbor; in descending order, as the first.
// CHECK-LABEL: func.func @sorts
// CHECK:         ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32):
// CHECK-NEXT:      %[[ORDER:.*]] = arith.cmpf ole, %[[A]], %[[B]]
// CHECK-NEXT:      %[[NAN:.*]] = arith.cmpf uno, %[[B]], %[[B]]
// CHECK-NEXT:      %[[STAYS:.*]] = arith.ori %[[ORDER]], %[[NAN]]
// CHECK-NEXT:      tm_tensor.yield %[[STAYS]]
// CHECK:         ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32):
// CHECK-NEXT:      arith.cmpf oge, %[[A]], %[[B]]
// CHECK-NEXT:      arith.cmpf uno, %[[A]], %[[A]]
func.func @sorts(%x: tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
  %0 = tm_tensor.sort dimension(0) outs(%x : tensor<6xf32>) {
  ^bb0(%a: f32, %b: f32):
    %less = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %less : i1
  } -> tensor<6xf32>
  %1 = tm_tensor.sort dimension(0) outs(%x : tensor<6xf32>) {
  ^bb0(%a: f32, %b: f32):
    %more = arith.cmpf oge, %a, %b : f32
    tm_tensor.yield %more : i1
  } -> tensor<6xf32>
  return %0, %1 : tensor<6xf32>, tensor<6xf32>
}

// The index changes only if the extreme value so far is not NaN.
// CHECK-LABEL: func.func @place
// CHECK:         ^bb0(%[[X:.*]]: f32, %[[MOST:.*]]: f32, %[[PLACE:.*]]: i64):
// CHECK:           %[[MORE:.*]] = arith.cmpf ugt, %[[X]], %[[MOST]]
// CHECK-NEXT:      %[[NUMBER:.*]] = arith.cmpf ord, %[[MOST]], %[[MOST]]
// CHECK-NEXT:      %[[BEATS:.*]] = arith.andi %[[MORE]], %[[NUMBER]]
// CHECK-NEXT:      arith.select %[[BEATS]]
func.func @place(%x: tensor<6xf32>, %most: tensor<f32>, %place: tensor<i64>) -> tensor<i64> {
  %0:2 = linalg.generic {indexing_maps = [#id, #one, #one], iterator_types = ["reduction"]} ins(%x : tensor<6xf32>) outs(%most, %place : tensor<f32>, tensor<i64>) {
  ^bb0(%in: f32, %out: f32, %at: i64):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i64
    %1 = arith.maximumf %in, %out : f32
    %2 = arith.cmpf ogt, %in, %out : f32
    %3 = arith.select %2, %j, %at : i64
    linalg.yield %1, %3 : f32, i64
  } -> (tensor<f32>, tensor<i64>)
  return %0#1 : tensor<i64>
}

// A comparison in an elementwise operation is not changed.
// CHECK-LABEL: func.func @sign
// CHECK:         arith.cmpf ogt
// CHECK-NEXT:    arith.select
func.func @sign(%x: tensor<6xf32>, %zero: tensor<f32>, %e: tensor<6xi64>) -> tensor<6xi64> {
  %one = arith.constant 1 : i64
  %none = arith.constant 0 : i64
  %0 = linalg.generic {indexing_maps = [#id, #one, #id], iterator_types = ["parallel"]} ins(%x, %zero : tensor<6xf32>, tensor<f32>) outs(%e : tensor<6xi64>) {
  ^bb0(%in: f32, %z: f32, %out: i64):
    %1 = arith.cmpf ogt, %in, %z : f32
    %2 = arith.select %1, %one, %none : i64
    linalg.yield %2 : i64
  } -> tensor<6xi64>
  return %0 : tensor<6xi64>
}
