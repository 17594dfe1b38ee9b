// RUN: unmess-opt --pipeline iree-merge-sorts %s | filecheck %s

// One dispatch copies the operands, then merges runs of 1, 2, 4, … elements of each row: from the
// copies to the scratch rows, and back. The scratch rows are results, and have a use.
// CHECK-LABEL: func.func @columns
// CHECK-SAME:    %[[X:.*]]: tensor<?x3xf32>, %[[I:.*]]: tensor<?x3xi64>
// CHECK:         %[[LENGTH:.*]] = tensor.dim %[[X]]
// CHECK:         %[[VALUES:.*]] = "iree_tensor_ext.compute_barrier.start"(%[[X]], %{{.*}})
// CHECK:         %[[INDICES:.*]] = "iree_tensor_ext.compute_barrier.start"(%[[I]], %{{.*}})
// CHECK:         %[[DISPATCH:.*]]:4 = "flow.dispatch.region"(%[[LENGTH]], %{{.*}}, %[[LENGTH]], %{{.*}}) ({
// CHECK:           tensor.extract %[[VALUES]]
// CHECK:           tensor.extract %[[INDICES]]
// CHECK:           scf.for
// CHECK:             tensor.extract_slice
// CHECK:             scf.for
// CHECK:               arith.cmpf ole
// CHECK:               arith.cmpf ole
// CHECK:           "flow.return"
// CHECK:         "util.optimization_barrier"(%[[DISPATCH]]#2) : (tensor<?xf32>)
// CHECK:         "util.optimization_barrier"(%[[DISPATCH]]#3) : (tensor<?xi64>)
// CHECK-NOT:     util.optimization_barrier
// CHECK:         return %[[DISPATCH]]#0, %[[DISPATCH]]#1
func.func @columns(%x: tensor<?x3xf32>, %i: tensor<?x3xi64>) -> (tensor<?x3xf32>, tensor<?x3xi64>) {
  %0:2 = tm_tensor.sort dimension(0) outs(%x, %i : tensor<?x3xf32>, tensor<?x3xi64>) {
  ^bb0(%a: f32, %b: f32, %c: i64, %d: i64):
    %1 = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %1 : i1
  } -> tensor<?x3xf32>, tensor<?x3xi64>
  return %0#0, %0#1 : tensor<?x3xf32>, tensor<?x3xi64>
}

// A result that the program does not use has a use, too.
// CHECK-LABEL: func.func @indices
// CHECK:         %[[DISPATCH:.*]]:4 = "flow.dispatch.region"
// CHECK:         "util.optimization_barrier"(%[[DISPATCH]]#0)
// CHECK:         return %[[DISPATCH]]#1
func.func @indices(%x: tensor<9xf32>, %i: tensor<9xi64>) -> tensor<9xi64> {
  %0:2 = tm_tensor.sort dimension(0) outs(%x, %i : tensor<9xf32>, tensor<9xi64>) {
  ^bb0(%a: f32, %b: f32, %c: i64, %d: i64):
    %1 = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %1 : i1
  } -> tensor<9xf32>, tensor<9xi64>
  return %0#1 : tensor<9xi64>
}

// Rows of one element are sorted.
// CHECK-LABEL: func.func @one
// CHECK-SAME:    %[[X:.*]]: tensor<4x1xf32>
// CHECK-NEXT:    return %[[X]]
func.func @one(%x: tensor<4x1xf32>) -> tensor<4x1xf32> {
  %0 = tm_tensor.sort dimension(1) outs(%x : tensor<4x1xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %1 : i1
  } -> tensor<4x1xf32>
  return %0 : tensor<4x1xf32>
}

// Booleans are not merged.
// CHECK-LABEL: func.func @booleans
// CHECK:         tm_tensor.sort
func.func @booleans(%x: tensor<9xi1>) -> tensor<9xi1> {
  %0 = tm_tensor.sort dimension(0) outs(%x : tensor<9xi1>) {
  ^bb0(%a: i1, %b: i1):
    %1 = arith.cmpi ule, %a, %b : i1
    tm_tensor.yield %1 : i1
  } -> tensor<9xi1>
  return %0 : tensor<9xi1>
}

// If the program reads few elements of each row, the dispatch selects them, and computes indices.
// CHECK-LABEL: func.func @first
// CHECK-SAME:    %[[X:.*]]: tensor<2x100xf32>
// CHECK:         %[[STORED:.*]] = "iree_tensor_ext.compute_barrier.start"(%[[X]])
// CHECK-NOT:     compute_barrier.start
// CHECK:         %[[DISPATCH:.*]]:2 = "flow.dispatch.region"() ({
// CHECK:           tensor.empty() : tensor<2x3xf32>
// CHECK:           tensor.extract %[[STORED]]
// CHECK:           scf.if
// CHECK:           "flow.return"(%{{.*}}) : (tensor<2x3xf32>, tensor<2x3xi64>)
// CHECK:         "util.optimization_barrier"(%[[DISPATCH]]#0)
// CHECK:         tensor.extract_slice %[[DISPATCH]]#1[0, 0] [2, 3] [1, 1] : tensor<2x3xi64>
func.func @first(%x: tensor<2x100xf32>) -> tensor<2x3xi64> {
  %empty = tensor.empty() : tensor<2x100xi64>
  %i = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%empty : tensor<2x100xi64>) {
  ^bb0(%out: i64):
    %5 = linalg.index 1 : index
    %6 = arith.index_cast %5 : index to i64
    linalg.yield %6 : i64
  } -> tensor<2x100xi64>
  %0:2 = tm_tensor.sort dimension(1) outs(%x, %i : tensor<2x100xf32>, tensor<2x100xi64>) {
  ^bb0(%a: f32, %b: f32, %c: i64, %d: i64):
    %1 = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %1 : i1
  } -> tensor<2x100xf32>, tensor<2x100xi64>
  %2 = tensor.extract_slice %0#1[0, 0] [2, 3] [1, 1] : tensor<2x100xi64> to tensor<2x3xi64>
  return %2 : tensor<2x3xi64>
}
