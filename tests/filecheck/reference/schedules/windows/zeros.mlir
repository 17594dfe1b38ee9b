// RUN: unmess-opt --pipeline reference-outline --pipeline reference-vectorize-avx512 %s | filecheck %s

// A depthwise convolution that starts at zero does not read its result.

#in = affine_map<(d0, d1, d2, d3) -> (d0, d1 + d2 + d3)>
#weight = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
#out = affine_map<(d0, d1, d2, d3) -> (d0, d1)>
// CHECK-LABEL: func.func private @linalg_generic_0(
// CHECK:         %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : vector<32xf32>
// CHECK:         scf.for {{.*}} iter_args(%{{.*}} = %[[ZEROS]])
// CHECK-NOT:     vector.load %arg2
// CHECK:         vector.store %{{.*}}, %arg2
func.func @main(%x: memref<8x68xf32>, %w: memref<8x3x3xf32>, %out: memref<8x64xf32>) {
  linalg.generic {indexing_maps = [#in, #weight, #out], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%x, %w : memref<8x68xf32>, memref<8x3x3xf32>) outs(%out : memref<8x64xf32>) attrs = {unmess.starts_at_zero} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  }
  return
}
