// RUN: unmess-opt --pipeline iree-keep-exponentials %s | filecheck %s

#all = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// The exponentials are summed, and divided by the sum.
// CHECK-LABEL: func.func @softmax
// CHECK:         %[[EXP:.*]] = linalg.generic
// CHECK:           math.exp
// CHECK:         %[[KEPT:.*]] = "util.optimization_barrier"(%[[EXP]]) : (tensor<2x20xf32>) -> tensor<2x20xf32>
// CHECK:         linalg.generic {{.*}} ins(%[[KEPT]] : tensor<2x20xf32>)
// CHECK:         linalg.generic {{.*}} ins(%[[KEPT]], %{{.*}} : tensor<2x20xf32>, tensor<2xf32>)
func.func @softmax(%x: tensor<2x20xf32>, %sums: tensor<2xf32>) -> tensor<2x20xf32> {
  %empty = tensor.empty() : tensor<2x20xf32>
  %0 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2x20xf32>) outs(%empty : tensor<2x20xf32>) {
  ^bb0(%in: f32, %out: f32):
    %3 = math.exp %in : f32
    linalg.yield %3 : f32
  } -> tensor<2x20xf32>
  %1 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%0 : tensor<2x20xf32>) outs(%sums : tensor<2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %3 = arith.addf %in, %out : f32
    linalg.yield %3 : f32
  } -> tensor<2xf32>
  %2 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%0, %1 : tensor<2x20xf32>, tensor<2xf32>) outs(%empty : tensor<2x20xf32>) {
  ^bb0(%in: f32, %sum: f32, %out: f32):
    %3 = arith.divf %in, %sum : f32
    linalg.yield %3 : f32
  } -> tensor<2x20xf32>
  return %2 : tensor<2x20xf32>
}

// The sizes behind a barrier are those of the operand in which the exponentials are computed.
// CHECK-LABEL: func.func @dynamic_sizes
// CHECK-SAME:    %{{.*}}: tensor<?x?xf32>, %[[PLACE:.*]]: tensor<?x?xf32>, %{{.*}}: tensor<?xf32>
// CHECK:         %[[EXP:.*]] = linalg.generic
// CHECK:           math.exp
// CHECK-DAG:     %[[ROWS:.*]] = tensor.dim %[[PLACE]], %c0
// CHECK-DAG:     %[[LENGTH:.*]] = tensor.dim %[[PLACE]], %c1
// CHECK-DAG:     %[[BARRIER:.*]] = "util.optimization_barrier"(%[[EXP]]) : (tensor<?x?xf32>) -> tensor<?x?xf32>
// CHECK:         %[[KEPT:.*]] = "flow.tensor.tie_shape"(%[[BARRIER]], %[[ROWS]], %[[LENGTH]])
// CHECK:         linalg.generic {{.*}} ins(%[[KEPT]] : tensor<?x?xf32>)
// CHECK:         linalg.generic {{.*}} ins(%[[KEPT]], %{{.*}} : tensor<?x?xf32>, tensor<?xf32>)
func.func @dynamic_sizes(%x: tensor<?x?xf32>, %place: tensor<?x?xf32>, %sums: tensor<?xf32>) -> tensor<?x?xf32> {
  %0 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<?x?xf32>) outs(%place : tensor<?x?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %3 = math.exp %in : f32
    linalg.yield %3 : f32
  } -> tensor<?x?xf32>
  %1 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%0 : tensor<?x?xf32>) outs(%sums : tensor<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    %3 = arith.addf %in, %out : f32
    linalg.yield %3 : f32
  } -> tensor<?xf32>
  %2 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%0, %1 : tensor<?x?xf32>, tensor<?xf32>) outs(%place : tensor<?x?xf32>) {
  ^bb0(%in: f32, %sum: f32, %out: f32):
    %3 = arith.divf %in, %sum : f32
    linalg.yield %3 : f32
  } -> tensor<?x?xf32>
  return %2 : tensor<?x?xf32>
}

// The rows are short.
// CHECK-LABEL: func.func @short_rows
// CHECK-NOT:     util.optimization_barrier
func.func @short_rows(%x: tensor<2x16xf32>, %sums: tensor<2xf32>) -> tensor<2x16xf32> {
  %empty = tensor.empty() : tensor<2x16xf32>
  %0 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2x16xf32>) outs(%empty : tensor<2x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %3 = math.exp %in : f32
    linalg.yield %3 : f32
  } -> tensor<2x16xf32>
  %1 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%0 : tensor<2x16xf32>) outs(%sums : tensor<2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %3 = arith.addf %in, %out : f32
    linalg.yield %3 : f32
  } -> tensor<2xf32>
  %2 = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]} ins(%0, %1 : tensor<2x16xf32>, tensor<2xf32>) outs(%empty : tensor<2x16xf32>) {
  ^bb0(%in: f32, %sum: f32, %out: f32):
    %3 = arith.divf %in, %sum : f32
    linalg.yield %3 : f32
  } -> tensor<2x16xf32>
  return %2 : tensor<2x16xf32>
}

// Only the sum of the exponentials is read, as in logsumexp.
// CHECK-LABEL: func.func @sum_only
// CHECK-NOT:     util.optimization_barrier
func.func @sum_only(%x: tensor<2x20xf32>, %sums: tensor<2xf32>) -> tensor<2xf32> {
  %empty = tensor.empty() : tensor<2x20xf32>
  %0 = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2x20xf32>) outs(%empty : tensor<2x20xf32>) {
  ^bb0(%in: f32, %out: f32):
    %3 = math.exp %in : f32
    linalg.yield %3 : f32
  } -> tensor<2x20xf32>
  %1 = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "reduction"]} ins(%0 : tensor<2x20xf32>) outs(%sums : tensor<2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %3 = arith.addf %in, %out : f32
    linalg.yield %3 : f32
  } -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
