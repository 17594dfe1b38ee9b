// RUN: unmess-opt --pipeline iree-keep-sorted-values %s | filecheck %s

// The program uses the indices only. The values are used by a barrier.
// CHECK-LABEL: func.func @indices
// CHECK:         %[[SORTED:.*]]:2 = tm_tensor.sort
// CHECK:         "util.optimization_barrier"(%[[SORTED]]#0) : (tensor<?xf32>) -> tensor<?xf32>
// CHECK-NOT:     util.optimization_barrier
// CHECK:         return %[[SORTED]]#1
func.func @indices(%x: tensor<?xf32>, %i: tensor<?xi64>) -> tensor<?xi64> {
  %0:2 = tm_tensor.sort dimension(0) outs(%x, %i : tensor<?xf32>, tensor<?xi64>) {
  ^bb0(%a: f32, %b: f32, %c: i64, %d: i64):
    %1 = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %1 : i1
  } -> tensor<?xf32>, tensor<?xi64>
  return %0#1 : tensor<?xi64>
}

// CHECK-LABEL: func.func @both
// CHECK-NOT:     util.optimization_barrier
// CHECK:         return
func.func @both(%x: tensor<?xf32>, %i: tensor<?xi64>) -> (tensor<?xf32>, tensor<?xi64>) {
  %0:2 = tm_tensor.sort dimension(0) outs(%x, %i : tensor<?xf32>, tensor<?xi64>) {
  ^bb0(%a: f32, %b: f32, %c: i64, %d: i64):
    %1 = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %1 : i1
  } -> tensor<?xf32>, tensor<?xi64>
  return %0#0, %0#1 : tensor<?xf32>, tensor<?xi64>
}

// A slice in another shape is copied before the sort.
// CHECK-LABEL: func.func @slice
// CHECK-SAME:    %{{.*}}: tensor<10x100xf32>, %[[I:.*]]: tensor<?xi64>, %{{.*}}: index
// CHECK:         %[[SLICE:.*]] = tensor.collapse_shape
// CHECK:         %[[ZERO:.*]] = "util.optimization_barrier"(%{{.*}}) : (tensor<f32>) -> tensor<f32>
// CHECK:         %[[COPY:.*]] = linalg.generic {{.*}} ins(%[[SLICE]], %[[ZERO]] :
// CHECK:           arith.addf
// CHECK:         tm_tensor.sort dimension(0) outs(%[[COPY]], %[[I]] : tensor<?xf32>, tensor<?xi64>)
func.func @slice(%x: tensor<10x100xf32>, %i: tensor<?xi64>, %size: index) -> (tensor<?xf32>, tensor<?xi64>) {
  %slice = tensor.extract_slice %x[0, 0] [%size, 50] [1, 1] : tensor<10x100xf32> to tensor<?x50xf32>
  %flat = tensor.collapse_shape %slice [[0, 1]] : tensor<?x50xf32> into tensor<?xf32>
  %0:2 = tm_tensor.sort dimension(0) outs(%flat, %i : tensor<?xf32>, tensor<?xi64>) {
  ^bb0(%a: f32, %b: f32, %c: i64, %d: i64):
    %1 = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %1 : i1
  } -> tensor<?xf32>, tensor<?xi64>
  return %0#0, %0#1 : tensor<?xf32>, tensor<?xi64>
}
