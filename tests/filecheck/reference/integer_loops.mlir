// RUN: unmess-opt --pipeline reference-integer-loops %s | filecheck %s

// The loop over neighboring results of a product of integers becomes the innermost one.

// CHECK-DAG: #[[LEFT:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-DAG: #[[RIGHT:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG: #[[SUMS:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-LABEL: func.func @integers
// CHECK:         linalg.generic {indexing_maps = [#[[LEFT]], #[[RIGHT]], #[[SUMS]]], iterator_types = ["parallel", "reduction", "parallel"]}
func.func @integers(%a: tensor<4x8xi32>, %b: tensor<8x6xi32>, %c: tensor<4x6xi32>) -> tensor<4x6xi32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x8xi32>, tensor<8x6xi32>) outs(%c : tensor<4x6xi32>) {
  ^bb0(%x: i32, %y: i32, %old: i32):
    %1 = arith.muli %x, %y : i32
    %2 = arith.addi %old, %1 : i32
    linalg.yield %2 : i32
  } -> tensor<4x6xi32>
  return %0 : tensor<4x6xi32>
}

// If the second operand is transposed, the loop over the terms of a sum reads both in order, and
// stays the innermost one. Sums of floats are never reordered.

// CHECK-LABEL: func.func @transposed
// CHECK:         iterator_types = ["parallel", "parallel", "reduction"]
func.func @transposed(%a: tensor<4x8xi32>, %b: tensor<6x8xi32>, %c: tensor<4x6xi32>) -> tensor<4x6xi32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x8xi32>, tensor<6x8xi32>) outs(%c : tensor<4x6xi32>) {
  ^bb0(%x: i32, %y: i32, %old: i32):
    %1 = arith.muli %x, %y : i32
    %2 = arith.addi %old, %1 : i32
    linalg.yield %2 : i32
  } -> tensor<4x6xi32>
  return %0 : tensor<4x6xi32>
}

// CHECK-LABEL: func.func @floats
// CHECK:         iterator_types = ["parallel", "parallel", "reduction"]
func.func @floats(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>, %c: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%c : tensor<4x6xf32>) {
  ^bb0(%x: f32, %y: f32, %old: f32):
    %1 = arith.mulf %x, %y : f32
    %2 = arith.addf %old, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// An operation without loops stays as it is.

// CHECK-LABEL: func.func @number
// CHECK:         iterator_types = []
func.func @number(%a: tensor<i32>, %c: tensor<i32>) -> tensor<i32> {
  %0 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%a : tensor<i32>) outs(%c : tensor<i32>) {
  ^bb0(%x: i32, %old: i32):
    %1 = arith.muli %x, %old : i32
    linalg.yield %1 : i32
  } -> tensor<i32>
  return %0 : tensor<i32>
}
