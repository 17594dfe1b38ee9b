// RUN: unmess-opt --pipeline check-indices %s | filecheck %s

// Indices that are proved to be in range are not checked.
// CHECK-NOT: cf.assert

#same = affine_map<(d0) -> (d0)>
#number = affine_map<(d0) -> ()>

// The loop has the same size as the axis, also if both are dynamic.
func.func @counted(%x: tensor<?x8xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %size = tensor.dim %x, %c0 : tensor<?x8xf32>
  %0 = tensor.empty(%size) : tensor<?xf32>
  %1 = linalg.generic {indexing_maps = [#same], iterator_types = ["parallel"]} outs(%0 : tensor<?xf32>) {
  ^bb0(%out: f32):
    %2 = linalg.index 0 : index
    %3 = tensor.extract %x[%2, %c0] : tensor<?x8xf32>
    linalg.yield %3 : f32
  } -> tensor<?xf32>
  return %1 : tensor<?xf32>
}

// Two operations clamp the indices to -8 to 7. Negative indices count from the end.
func.func @limited(%x: tensor<8xf32>, %i: tensor<3xi64>) -> tensor<3xf32> {
  %zero = arith.constant 0 : i64
  %eight = arith.constant 8 : i64
  %least = arith.constant dense<-8> : tensor<i64>
  %most = arith.constant 7 : i64
  %0 = tensor.empty() : tensor<3xi64>
  %1 = linalg.generic {indexing_maps = [#same, #number, #same], iterator_types = ["parallel"]} ins(%i, %least : tensor<3xi64>, tensor<i64>) outs(%0 : tensor<3xi64>) {
  ^bb0(%in: i64, %low: i64, %out: i64):
    %5 = arith.maxsi %in, %low : i64
    linalg.yield %5 : i64
  } -> tensor<3xi64>
  %2 = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]} ins(%1 : tensor<3xi64>) outs(%0 : tensor<3xi64>) {
  ^bb0(%in: i64, %out: i64):
    %5 = arith.cmpi sgt, %in, %most : i64
    %6 = arith.select %5, %most, %in : i64
    linalg.yield %6 : i64
  } -> tensor<3xi64>
  %3 = tensor.empty() : tensor<3xf32>
  %4 = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]} ins(%2 : tensor<3xi64>) outs(%3 : tensor<3xf32>) {
  ^bb0(%in: i64, %out: f32):
    %5 = arith.cmpi slt, %in, %zero : i64
    %6 = arith.addi %in, %eight : i64
    %7 = arith.select %5, %6, %in : i64
    %8 = arith.index_cast %7 : i64 to index
    %9 = tensor.extract %x[%8] : tensor<8xf32>
    linalg.yield %9 : f32
  } -> tensor<3xf32>
  return %4 : tensor<3xf32>
}

// The indices are literals.
func.func @literal(%x: tensor<8xf32>) -> tensor<8xf32> {
  %i = arith.constant dense<[[1], [7]]> : tensor<2x1xi64>
  %updates = arith.constant dense<0.0> : tensor<2xf32>
  %0 = tm_tensor.scatter {dimension_map = array<i64: 0>} unique_indices(true) ins(%updates, %i : tensor<2xf32>, tensor<2x1xi64>) outs(%x : tensor<8xf32>) {
  ^bb0(%new: f32, %old: f32):
    tm_tensor.yield %new : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// A slice of the whole axis, and a slice with a clamped offset.
func.func @slices(%x: tensor<?x8xf32>, %from: index) -> (tensor<?x8xf32>, tensor<?x2xf32>) {
  %c0 = arith.constant 0 : index
  %c6 = arith.constant 6 : index
  %size = tensor.dim %x, %c0 : tensor<?x8xf32>
  %0 = tensor.extract_slice %x[0, 0] [%size, 8] [1, 1] : tensor<?x8xf32> to tensor<?x8xf32>
  %1 = arith.minui %from, %c6 : index
  %2 = tensor.extract_slice %x[0, %1] [%size, 2] [1, 1] : tensor<?x8xf32> to tensor<?x2xf32>
  return %0, %2 : tensor<?x8xf32>, tensor<?x2xf32>
}
