// RUN: unmess-opt --pipeline reference-outline --pipeline reference-vectorize-avx512 %s | filecheck %s

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#bt = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// A panel has 32 columns, and a tile 8 of 64 rows. So each tile prefetches 4 columns of the next
// panel, one number of each in a step of the sum. No column is behind the last one.
// CHECK-LABEL: func.func private @linalg_generic_0(
// CHECK-DAG:     %[[LAST:.*]] = arith.constant 299 : index
// CHECK:         %[[COLUMN:.*]] = arith.minsi %{{.*}}, %[[LAST]] : index
// CHECK-COUNT-3: arith.minsi %{{.*}}, %[[LAST]] : index
// CHECK:         scf.for %[[STEP:.*]] = %{{.*}} iter_args
// CHECK:           memref.prefetch %arg1[%[[COLUMN]], %[[STEP]]], read, locality<3>, data : memref<300x512xf32>
// CHECK-COUNT-3:   memref.prefetch
// CHECK-NOT:       memref.prefetch
// CHECK:           vector.fma

// For 16 rows, each tile would have to prefetch 16 columns.
// CHECK-LABEL: func.func private @linalg_generic_1(
// CHECK-NOT:     memref.prefetch

// The matrix is contiguous along the columns.
// CHECK-LABEL: func.func private @linalg_generic_2(
// CHECK-NOT:     memref.prefetch

// The matrix has 128 KB.
// CHECK-LABEL: func.func private @linalg_generic_3(
// CHECK-NOT:     memref.prefetch

func.func @products(%x: memref<64x512xf32>, %w: memref<300x512xf32>, %y: memref<64x300xf32>, %few: memref<16x512xf32>, %few_y: memref<16x300xf32>, %rows: memref<512x300xf32>, %small: memref<64x512xf32>, %small_y: memref<64x64xf32>) {
  linalg.generic {indexing_maps = [#a, #bt, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : memref<64x512xf32>, memref<300x512xf32>) outs(%y : memref<64x300xf32>) {
  ^bb0(%l: f32, %r: f32, %sum: f32):
    %0 = arith.mulf %l, %r : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  }
  linalg.generic {indexing_maps = [#a, #bt, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%few, %w : memref<16x512xf32>, memref<300x512xf32>) outs(%few_y : memref<16x300xf32>) {
  ^bb0(%l: f32, %r: f32, %sum: f32):
    %0 = arith.mulf %l, %r : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %rows : memref<64x512xf32>, memref<512x300xf32>) outs(%y : memref<64x300xf32>) {
  ^bb0(%l: f32, %r: f32, %sum: f32):
    %0 = arith.mulf %l, %r : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  }
  linalg.generic {indexing_maps = [#a, #bt, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %small : memref<64x512xf32>, memref<64x512xf32>) outs(%small_y : memref<64x64xf32>) {
  ^bb0(%l: f32, %r: f32, %sum: f32):
    %0 = arith.mulf %l, %r : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  }
  return
}
