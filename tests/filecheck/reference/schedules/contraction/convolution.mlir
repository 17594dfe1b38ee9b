// RUN: unmess-opt --pipeline reference-outline --pipeline reference-vectorize-avx512 %s | filecheck %s

// A convolution with stride 2 over a small image. One panel has all 7 x 7 columns, and a row per
// channel and window position. A row has an odd number of cache lines. Every second element of a row
// of the image is copied as a vector. The result is written as rows of 49.

#x = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d2 * 2 + d5, d3 * 2 + d6)>
#near = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d2 + d5, d3 + d6)>
#w = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d4, d5, d6)>
#y = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
// CHECK-LABEL: func.func private @linalg_generic_0(
// CHECK:         %[[PANEL:.*]] = memref.alloc() {{.*}} : memref<72x80xf32>
// CHECK:         %[[OUT:.*]] = memref.collapse_shape %arg2 {{.*}} : memref<1x16x7x7xf32> into memref<1x16x49xf32>
// CHECK:         %[[LOW:.*]] = vector.load %arg0
// CHECK:         %[[HIGH:.*]] = vector.maskedload %arg0
// CHECK:         %[[EVEN:.*]] = vector.shuffle %[[LOW]], %[[HIGH]] [0, 2, 4, 6, 9, 11, 13, 15]
// CHECK:         vector.store %[[EVEN]], %[[PANEL]]
// CHECK:         vector.load %[[OUT]]
// CHECK:         memref.load %arg1
// CHECK:         vector.fma
func.func @main(%x: memref<1x8x15x15xf32>, %w: memref<16x8x3x3xf32>, %y: memref<1x16x7x7xf32>) {
  linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %w : memref<1x8x15x15xf32>, memref<16x8x3x3xf32>) outs(%y : memref<1x16x7x7xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// Rows of 56 are no whole number of registers. A panel has two of them: 112 columns, in tiles of 32,
// and a last one of 16.
// CHECK-LABEL: func.func private @linalg_generic_1(
// CHECK:         memref.alloc() {{.*}} : memref<72x144xf32>
// CHECK:         scf.for %{{.*}} = %c0{{.*}} to %c56{{.*}} step %c2
// CHECK:           memref.collapse_shape %arg2 {{.*}} : memref<1x32x56x56xf32> into memref<1x32x3136xf32>
// CHECK:             vector.load %{{.*}} : memref<72x144xf32>, vector<32xf32>
// CHECK:             vector.load %{{.*}} : memref<72x144xf32>, vector<16xf32>
func.func @rows(%x: memref<1x8x58x58xf32>, %w: memref<32x8x3x3xf32>, %y: memref<1x32x56x56xf32>) {
  linalg.generic {indexing_maps = [#near, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %w : memref<1x8x58x58xf32>, memref<32x8x3x3xf32>) outs(%y : memref<1x32x56x56xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// Few filters with stride 1 read the image in place.
// CHECK-LABEL: func.func private @linalg_generic_2(
// CHECK-NOT:     memref.alloc
// CHECK:         vector.load %arg0{{.*}} : memref<1x8x58x58xf32>, vector<32xf32>
func.func @few(%x: memref<1x8x58x58xf32>, %w: memref<16x8x3x3xf32>, %y: memref<1x16x56x56xf32>) {
  linalg.generic {indexing_maps = [#near, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %w : memref<1x8x58x58xf32>, memref<16x8x3x3xf32>) outs(%y : memref<1x16x56x56xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  }
  return
}
