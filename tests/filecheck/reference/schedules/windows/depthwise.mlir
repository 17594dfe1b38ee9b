// RUN: unmess-opt --pipeline reference-outline --pipeline reference-vectorize-avx512 %s | filecheck %s

// 14 columns of a depthwise convolution with stride 2. The sums stay in vectors of 16 in the loop
// over the window. Two loads and a shuffle read every second element, and none after the last.

#in = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1 * 2 + d3, d2 * 2 + d4)>
#weight = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>
#out = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>
// CHECK-LABEL: func.func private @linalg_generic_0(
// CHECK:         %[[TOTALS:.*]]:14 = scf.for {{.*}} iter_args({{.*}} -> (vector<16xf32>,
// CHECK-NOT:       vector.maskedstore
// CHECK:           vector.load %arg0
// CHECK:           vector.maskedload %arg0
// CHECK:           vector.shuffle {{.*}} [0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31]
// CHECK:           vector.fma
// CHECK:         vector.maskedstore %arg2
func.func @main(%x: memref<8x29x29xf32>, %w: memref<8x3x3xf32>, %out: memref<8x14x14xf32>) {
  linalg.generic {indexing_maps = [#in, #weight, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%x, %w : memref<8x29x29xf32>, memref<8x3x3xf32>) outs(%out : memref<8x14x14xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  }
  return
}
