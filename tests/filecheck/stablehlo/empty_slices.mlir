// RUN: unmess-opt --pipeline stablehlo-empty-slices %s | filecheck %s

// The first end is computed, and may be 0. A selection by another condition stays.
// CHECK-LABEL: func.func @main(
// CHECK-SAME:      %[[X:.*]]: tensor<?x4xf32>, %[[END:.*]]: i64, %[[FLAG:.*]]: i1)
// CHECK:         %[[OTHER:.*]] = arith.select %[[FLAG]], %{{.*}}, %[[END]]
// CHECK:         tensor.from_elements %[[END]], %[[OTHER]] : tensor<2xi64>
func.func @main(%x: tensor<?x4xf32>, %end: i64, %flag: i1) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : i64
  %four = arith.constant 4 : i64
  %size = arith.constant 9 : i64
  %one = arith.constant dense<1> : tensor<2xi64>
  %is_zero = arith.cmpi eq, %end, %c0 : i64
  %first = arith.select %is_zero, %size, %end : i64
  %second = arith.select %flag, %four, %end : i64
  %starts = tensor.from_elements %c0, %c0 : tensor<2xi64>
  %ends = tensor.from_elements %first, %second : tensor<2xi64>
  %0 = stablehlo.real_dynamic_slice %x, %starts, %ends, %one : (tensor<?x4xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}
