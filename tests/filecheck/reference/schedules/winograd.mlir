// RUN: unmess-opt --pipeline reference-winograd --pipeline reference-outline --pipeline reference-vectorize-avx512 %s | filecheck %s

// A 3x3 convolution with 16 products for each square of 2x2 results, in place of 36: there are 16
// matrix products of transformed filters and tiles.

#pixels = affine_map<(f, y, x, c, i, j) -> (c, y + i, x + j)>
#filters = affine_map<(f, y, x, c, i, j) -> (f, c, i, j)>
#result = affine_map<(f, y, x, c, i, j) -> (f, y, x)>

// CHECK-LABEL: func.func private @linalg_generic_0(
// CHECK-DAG:     %[[INFINITY:.*]] = arith.constant 2139095040 : i32
// CHECK-DAG:     %[[TILES:.*]] = memref.alloc() {{.*}} : memref<16x1296xf32>
// CHECK-DAG:     %[[FILTERS:.*]] = memref.alloc() {{.*}} : memref<16x144xf32>
// CHECK-DAG:     %[[SUMS:.*]] = memref.alloc() {{.*}} : memref<16x656xf32>

// The image has 7 x 7 tiles. The last row and the last column of tiles are cut, and no load reads
// behind the last of the 15 pixels of a row.
// CHECK:         scf.for {{.*}} to %c7
// CHECK:           scf.for {{.*}} to %c16
// CHECK:             %[[LAST:.*]] = arith.minsi %{{.*}}, %c14
// CHECK:             vector.load %arg0[%{{.*}}, %[[LAST]], %c0]
// CHECK:             vector.create_mask %c7
// CHECK:             vector.maskedload %arg0[%{{.*}}, %[[LAST]], %c8]
// CHECK-COUNT-16:    vector.store %{{.*}}, %[[TILES]]
// CHECK-NOT:         vector.store

// There is one block of tiles, so memory for 8 of the 17 filters is enough. A vector has lanes for 8
// filters and 2 channels. Each load reads the 9 elements of one filter and channel.
// CHECK:         scf.for {{.*}} to %c16{{.*}} step %c8
// CHECK:           scf.for {{.*}} to %c16{{.*}} step %c2
// CHECK:             vector.create_mask %c9
// CHECK-COUNT-8:     memref.prefetch
// CHECK-COUNT-16:    vector.maskedload
// CHECK-COUNT-16:    vector.store %{{.*}}, %[[FILTERS]]
// CHECK-NOT:         vector.store

// There is a product for each of 16 elements. The 49 tiles need three registers and half a register.
// CHECK:           scf.for {{.*}} to %c16{{.*}} step %c1
// CHECK:             scf.for {{.*}} iter_args({{.*}} -> (vector<16xf32>, {{.*}}) {
// CHECK:               memref.load %[[FILTERS]]
// CHECK:               vector.fma
// CHECK:             scf.for {{.*}} iter_args({{.*}} -> (vector<8xf32>, {{.*}}) {
// CHECK:               vector.fma

// The code adds the sums to what the result held before. It computes two rows again if one of their
// results is not finite.
// CHECK:             vector.maskedload %arg2
// CHECK:             arith.cmpi slt, %{{.*}}, %c13
// CHECK:             scf.if
// CHECK:               vector.maskedstore %arg2
// CHECK:             vector.reduction <maxui>
// CHECK:             arith.cmpi uge, %{{.*}}, %[[INFINITY]]
// CHECK:             scf.if
// CHECK:               scf.for {{.*}} to %c16
// CHECK:                 scf.for {{.*}} to %c3
// CHECK:                   scf.for {{.*}} to %c3
// CHECK:                     vector.fma
// CHECK:               vector.maskedstore %arg2
func.func @main(%p: memref<16x15x15xf32>, %f: memref<17x16x3x3xf32>, %r: memref<17x13x13xf32>) {
  linalg.generic {indexing_maps = [#pixels, #filters, #result], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%p, %f : memref<16x15x15xf32>, memref<17x16x3x3xf32>) outs(%r : memref<17x13x13xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  }
  return
}
