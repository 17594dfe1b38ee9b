// RUN: unmess-opt --pipeline reference-outline --pipeline reference-vectorize-avx512 %s | filecheck %s

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#bt = affine_map<(m, n, k) -> (n, k)>
#c = affine_map<(m, n, k) -> (m, n)>

// A panel has 48 columns, and a tile 8 of 64 rows. So each tile prefetches 6 columns of the next
// panel, one number of each in a step of the sum. No column is behind the last one.
// CHECK-LABEL: func.func private @linalg_generic_0(
// CHECK-DAG:     %[[LAST:.*]] = arith.constant 299 : index
// CHECK:         %[[COLUMN:.*]] = arith.minsi %{{.*}}, %[[LAST]] : index
// CHECK-COUNT-5: arith.minsi %{{.*}}, %[[LAST]] : index
// CHECK:         scf.for %[[STEP:.*]] = %{{.*}} iter_args
// CHECK:           memref.prefetch %arg1[%[[COLUMN]], %[[STEP]]], read, locality<3>, data : memref<300x512xf32>
// CHECK-COUNT-5:   memref.prefetch %arg1
// CHECK-NOT:       memref.prefetch
// CHECK:           vector.fma

// For 24 rows, each tile would have to prefetch 16 columns. Instead, it prefetches its share of the
// next 8 rows: 8 numbers in a step.
// CHECK-LABEL: func.func private @linalg_generic_1(
// CHECK:         scf.for %[[ROW:.*]] = %{{.*}} step %c8 {
// CHECK:           scf.for %[[STEP:.*]] = %{{.*}} iter_args
// CHECK-DAG:         %[[NEXT:.*]] = affine.apply #{{.*}}(%[[ROW]])
// CHECK-DAG:         %[[NUMBER:.*]] = affine.apply #{{.*}}(%[[STEP]])
// CHECK:             memref.prefetch %arg0[%[[NEXT]], %[[NUMBER]]], read, locality<3>, data : memref<24x512xf32>
// CHECK-NOT:         memref.prefetch
// CHECK:             vector.fma

// The matrix is contiguous along the columns, so the rows are prefetched.
// CHECK-LABEL: func.func private @linalg_generic_2(
// CHECK:         memref.prefetch %arg0

// The matrix has 128 KB.
// CHECK-LABEL: func.func private @linalg_generic_3(
// CHECK:         memref.prefetch %arg0

// Neither: the rows of a panel are not all steps of the sum.
// CHECK-LABEL: func.func private @linalg_generic_4(
// CHECK-NOT:     memref.prefetch

func.func @products(%x: memref<64x512xf32>, %w: memref<300x512xf32>, %y: memref<64x300xf32>, %few: memref<24x512xf32>, %few_y: memref<24x300xf32>, %rows: memref<512x300xf32>, %small: memref<64x512xf32>, %small_y: memref<64x64xf32>, %long: memref<64x1024xf32>, %long_w: memref<1024x300xf32>) {
  linalg.generic {indexing_maps = [#a, #bt, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : memref<64x512xf32>, memref<300x512xf32>) outs(%y : memref<64x300xf32>) {
  ^bb0(%l: f32, %r: f32, %sum: f32):
    %0 = arith.mulf %l, %r : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  }
  linalg.generic {indexing_maps = [#a, #bt, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%few, %w : memref<24x512xf32>, memref<300x512xf32>) outs(%few_y : memref<24x300xf32>) {
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
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%long, %long_w : memref<64x1024xf32>, memref<1024x300xf32>) outs(%y : memref<64x300xf32>) {
  ^bb0(%l: f32, %r: f32, %sum: f32):
    %0 = arith.mulf %l, %r : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  }
  return
}
