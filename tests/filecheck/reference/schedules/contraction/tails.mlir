// RUN: unmess-opt --pipeline reference-outline --pipeline reference-vectorize-avx512 %s | filecheck %s

// 37 columns are a whole tile and a masked one of 5, in the shortest vector that holds them. 9 rows
// are split into tiles of equal height. With so few rows, the right operand is read in place.

#lhs = affine_map<(d0, d1, d2) -> (d0, d2)>
#rhs = affine_map<(d0, d1, d2) -> (d2, d1)>
#out = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func.func private @linalg_generic_0(
// CHECK-NOT:     memref.alloc
// CHECK:         vector.create_mask %{{.*}} : vector<8xi1>
// CHECK-NOT:     vector.load %arg2
// CHECK:         vector.maskedload %arg1
// CHECK:         vector.maskedload %arg2
// CHECK:         vector.maskedstore %arg2
func.func @main(%a: memref<9x4xf32>, %b: memref<4x37xf32>, %c: memref<9x37xf32>) {
  linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<9x4xf32>, memref<4x37xf32>) outs(%c : memref<9x37xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    linalg.yield %1 : f32
  }
  return
}
