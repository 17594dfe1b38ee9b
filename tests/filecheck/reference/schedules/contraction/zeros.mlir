// RUN: unmess-opt --pipeline reference-outline --pipeline reference-vectorize-avx512 %s | filecheck %s

#lhs = affine_map<(d0, d1, d2) -> (d0, d2)>
#rhs = affine_map<(d0, d1, d2) -> (d2, d1)>
#out = affine_map<(d0, d1, d2) -> (d0, d1)>

// The first of two blocks of the sum starts at zero. The second one adds to the result.
// CHECK-LABEL: func.func private @linalg_generic_0(
// CHECK:         scf.for %[[BLOCK:.*]] = %[[ZERO:.*]] to %c1024
// CHECK:           %[[FIRST:.*]] = arith.cmpi eq, %[[BLOCK]], %[[ZERO]] : index
// CHECK:           scf.if %[[FIRST]]
// CHECK-NEXT:        scf.yield %[[ZEROS:.*]], %[[ZEROS]],
// CHECK-NEXT:      } else {
// CHECK-NEXT:        vector.load %arg2
// CHECK:           vector.store %{{.*}}, %arg2
func.func @blocks(%a: memref<64x1024xf32>, %b: memref<1024x64xf32>, %c: memref<64x64xf32>) {
  linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<64x1024xf32>, memref<1024x64xf32>) outs(%c : memref<64x64xf32>) attrs = {unmess.starts_at_zero} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// A sum of one block never reads its result.
// CHECK-LABEL: func.func private @linalg_generic_1(
// CHECK-NOT:     vector.load %arg2
// CHECK:         vector.store %{{.*}}, %arg2
// CHECK-NOT:     vector.load %arg2
// CHECK:         return
func.func @block(%a: memref<64x128xf32>, %b: memref<128x64xf32>, %c: memref<64x64xf32>) {
  linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<64x128xf32>, memref<128x64xf32>) outs(%c : memref<64x64xf32>) attrs = {unmess.starts_at_zero} {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    linalg.yield %1 : f32
  }
  return
}
