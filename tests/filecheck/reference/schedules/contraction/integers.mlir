// RUN: unmess-opt --pipeline reference-outline --pipeline reference-vectorize-avx512 %s | filecheck %s

// Products of i32 are summed in tiles, too. The last columns are masked with zeros of i32. Narrower
// operands, and sums in i64, keep plain loops.

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>
// CHECK-LABEL: func.func private @linalg_generic_0(
// CHECK:         arith.constant dense<0> : vector<16xi32>
// CHECK:         vector.maskedload {{.*}} into vector<16xi32>
// CHECK:         %[[PRODUCT:.*]] = arith.muli {{.*}} : vector<16xi32>
// CHECK:         arith.addi %{{.*}}, %[[PRODUCT]] : vector<16xi32>
// CHECK:         vector.maskedstore {{.*}} vector<16xi32>
// CHECK-LABEL: func.func private @linalg_generic_1(
// CHECK-NOT:     vector
// CHECK-LABEL: func.func private @linalg_generic_2(
// CHECK-NOT:     vector
func.func @main(%a: memref<4x6xi32>, %b: memref<6x9xi32>, %c: memref<4x9xi32>, %d: memref<4x6xi8>, %e: memref<4x6xi64>, %f: memref<6x9xi64>, %g: memref<4x9xi64>) {
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<4x6xi32>, memref<6x9xi32>) outs(%c : memref<4x9xi32>) {
  ^bb0(%x: i32, %y: i32, %z: i32):
    %0 = arith.muli %x, %y : i32
    %1 = arith.addi %z, %0 : i32
    linalg.yield %1 : i32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%d, %b : memref<4x6xi8>, memref<6x9xi32>) outs(%c : memref<4x9xi32>) {
  ^bb0(%x: i8, %y: i32, %z: i32):
    %w = arith.extsi %x : i8 to i32
    %0 = arith.muli %w, %y : i32
    %1 = arith.addi %z, %0 : i32
    linalg.yield %1 : i32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%e, %f : memref<4x6xi64>, memref<6x9xi64>) outs(%g : memref<4x9xi64>) {
  ^bb0(%x: i64, %y: i64, %z: i64):
    %0 = arith.muli %x, %y : i64
    %1 = arith.addi %z, %0 : i64
    linalg.yield %1 : i64
  }
  return
}
