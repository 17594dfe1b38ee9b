// RUN: unmess-opt --pipeline upstream %s | mlir-opt | filecheck %s

// An inclusive scan starts with the first element, whatever the accumulator contains.
// CHECK-LABEL: func.func @inclusive
// CHECK:         scf.for %[[I:.*]] = %c0 to %c5 step %c1 iter_args(%[[OUT:.*]] = %{{.*}}, %[[SUM:.*]] = %{{.*}}) -> (tensor<3x5xf32>, tensor<3xf32>)
// CHECK-NEXT:      %[[X:.*]] = tensor.extract_slice %{{.*}}[0, %[[I]]] [3, 1] [1, 1]
// CHECK-NEXT:      %[[FIRST:.*]] = arith.cmpi eq, %[[I]], %c0
// CHECK-NEXT:      %[[NEXT:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<3xf32>) outs(%[[SUM]] : tensor<3xf32>)
// CHECK:             %[[ADDED:.*]] = arith.addf %out, %in
// CHECK-NEXT:        arith.select %[[FIRST]], %in, %[[ADDED]]
// CHECK:           tensor.insert_slice %[[NEXT]] into %[[OUT]][0, %[[I]]] [3, 1] [1, 1]
func.func @inclusive(%x: tensor<3x5xf32>, %o: tensor<3x5xf32>, %a: tensor<3xf32>) -> tensor<3x5xf32> {
  %0:2 = tm_tensor.scan dimension(1) inclusive(true) ins(%x : tensor<3x5xf32>) outs(%o, %a : tensor<3x5xf32>, tensor<3xf32>) {
  ^bb0(%sum: f32, %in: f32):
    %1 = arith.addf %sum, %in : f32
    tm_tensor.yield %1 : f32
  } -> tensor<3x5xf32>, tensor<3xf32>
  return %0#0 : tensor<3x5xf32>
}

// An exclusive scan starts with the accumulator, and reads the previous element.
// CHECK-LABEL: func.func @exclusive
// CHECK:         %[[SIZE:.*]] = tensor.dim
// CHECK:         scf.for %[[I:.*]] = %c0 to %[[SIZE]]
// CHECK-NEXT:      %[[BEHIND:.*]] = arith.subi %[[I]], %c1
// CHECK-NEXT:      %[[READ:.*]] = arith.maxsi %[[BEHIND]], %c0
// CHECK-NEXT:      tensor.extract_slice %{{.*}}[%[[READ]]] [1] [1] : tensor<?xi64> to tensor<i64>
// CHECK:             %[[COMBINED:.*]] = arith.muli %out, %in
// CHECK-NEXT:        arith.select %{{.*}}, %out, %[[COMBINED]]
func.func @exclusive(%x: tensor<?xi64>, %o: tensor<?xi64>, %a: tensor<i64>) -> (tensor<?xi64>, tensor<i64>) {
  %0:2 = tm_tensor.scan dimension(0) inclusive(false) ins(%x : tensor<?xi64>) outs(%o, %a : tensor<?xi64>, tensor<i64>) {
  ^bb0(%product: i64, %in: i64):
    %1 = arith.muli %product, %in : i64
    tm_tensor.yield %1 : i64
  } -> tensor<?xi64>, tensor<i64>
  return %0#0, %0#1 : tensor<?xi64>, tensor<i64>
}
