// RUN: unmess-opt --pipeline reference-outline --pipeline reference-vectorize-avx512 %s | filecheck %s

// A 7 x 7 image has 49 columns: three registers in one tile, and one column whose 72 products are
// added along the depth, in a register with 16 sums for each row, then in half of a register.

#x = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d2 + d5, d3 + d6)>
#w = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d4, d5, d6)>
#y = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
// CHECK-LABEL: func.func private @linalg_generic_0(
// CHECK-DAG:     %[[PANEL:.*]] = memref.alloc() {{.*}} : memref<72x80xf32>
// CHECK-DAG:     %[[LAST:.*]] = memref.alloc() {{.*}} : memref<1x80xf32>
// CHECK:         vector.store %{{.*}}, %[[LAST]][%{{.*}}, %c64{{.*}}] : memref<1x80xf32>, vector<16xf32>
// CHECK:         memref.load %[[PANEL]][%{{.*}}, %c48{{.*}}]
// CHECK:         memref.store %{{.*}}, %[[LAST]]
// CHECK:         vector.load %[[PANEL]][%{{.*}}, %c0{{.*}}] : memref<72x80xf32>, vector<16xf32>
// CHECK:         vector.load %[[PANEL]][%{{.*}}, %c16{{.*}}] : memref<72x80xf32>, vector<16xf32>
// CHECK:         vector.load %[[PANEL]][%{{.*}}, %c32{{.*}}] : memref<72x80xf32>, vector<16xf32>
// CHECK:         vector.load %arg1[{{.*}}] : memref<32x8x3x3xf32>, vector<16xf32>
// CHECK:         vector.load %[[LAST]]
// CHECK:         vector.fma
// CHECK:         vector.maskedload %arg1
// CHECK:         vector.fma
// CHECK:         vector.shuffle {{.*}} [8, 9, 10, 11, 12, 13, 14, 15] : vector<16xf32>
// CHECK:         vector.store %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}, %c48{{.*}}] : memref<1x32x49xf32>, vector<1xf32>
func.func @main(%x: memref<1x8x9x9xf32>, %w: memref<32x8x3x3xf32>, %y: memref<1x32x7x7xf32>) {
  linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %w : memref<1x8x9x9xf32>, memref<32x8x3x3xf32>) outs(%y : memref<1x32x7x7xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// With few rows, the copy of the last column would take longer than the rest of a register.
// CHECK-LABEL: func.func private @linalg_generic_1(
// CHECK-NOT:     memref<1x80xf32>
// CHECK:         return
func.func @few(%x: memref<1x8x9x9xf32>, %w: memref<24x8x3x3xf32>, %y: memref<1x24x7x7xf32>) {
  linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %w : memref<1x8x9x9xf32>, memref<24x8x3x3xf32>) outs(%y : memref<1x24x7x7xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  }
  return
}
