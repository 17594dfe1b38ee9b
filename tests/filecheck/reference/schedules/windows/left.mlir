// RUN: unmess-opt --pipeline reference-outline --pipeline reference-vectorize-avx512 %s | filecheck %s

// These operations stay scalar loops: stride 3, a transposed result, and a body with an index.

#third = affine_map<(d0, d1, d2) -> (d0, d1 * 3 + d2)>
#across = affine_map<(d0, d1, d2) -> (d1, d0, d2)>
#window = affine_map<(d0, d1, d2) -> (d2)>
#out = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-NOT: vector
func.func @main(%x: memref<8x99xf32>, %y: memref<32x8x3xf32>, %z: memref<8x99xi64>, %out: memref<8x32xf32>, %positions: memref<8x32xi64>, %w: memref<3xf32>) {
  linalg.generic {indexing_maps = [#third, #window, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : memref<8x99xf32>, memref<3xf32>) outs(%out : memref<8x32xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.addf %a, %o : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#across, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%y : memref<32x8x3xf32>) outs(%out : memref<8x32xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %a, %o : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#third, #window, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%z, %w : memref<8x99xi64>, memref<3xf32>) outs(%positions : memref<8x32xi64>) {
  ^bb0(%a: i64, %b: f32, %o: i64):
    %0 = linalg.index 2 : index
    %1 = arith.index_cast %0 : index to i64
    linalg.yield %1 : i64
  }
  return
}
