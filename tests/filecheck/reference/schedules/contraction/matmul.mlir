// RUN: unmess-opt --pipeline reference-outline --pipeline reference-vectorize-avx512 %s | filecheck %s --check-prefixes CHECK,AVX512
// RUN: unmess-opt --pipeline reference-outline --pipeline reference-vectorize-avx2 %s | filecheck %s --check-prefixes CHECK,AVX2
// RUN: unmess-opt --pipeline reference-outline --pipeline reference-vectorize-sse %s | filecheck %s --check-prefix SSE

// The loop over the reduction carries the sums of a tile in registers. They are added to the result
// after the loop. Both sizes are multiples of the tile, so nothing is masked.

#lhs = affine_map<(d0, d1, d2) -> (d0, d2)>
#rhs = affine_map<(d0, d1, d2) -> (d2, d1)>
#out = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func.func private @linalg_generic_0(
// CHECK:         %[[PANEL:.*]] = memref.alloc()
// AVX512:        scf.for {{.*}} -> (vector<32xf32>, vector<32xf32>, vector<32xf32>, vector<32xf32>, vector<32xf32>, vector<32xf32>, vector<32xf32>, vector<32xf32>)
// AVX512:          vector.load %[[PANEL]][{{.*}}] : memref<100x32xf32>, vector<32xf32>
// AVX2:          scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// AVX2:            vector.load %[[PANEL]][{{.*}}] : memref<100x16xf32>, vector<16xf32>
// CHECK-NOT:       %arg2
// CHECK:           vector.fma
// CHECK:           scf.yield
// AVX512:        vector.load %arg2[{{.*}}] : memref<32x64xf32>, vector<32xf32>
// AVX2:          vector.load %arg2[{{.*}}] : memref<32x64xf32>, vector<16xf32>
// CHECK:         arith.addf
// CHECK:         vector.store {{.*}}, %arg2
// CHECK:         memref.dealloc %[[PANEL]]
// CHECK-NOT:   mask

// Without fused multiply-add instructions in the CPU, the code has none.
// SSE-NOT:     fma
// SSE:         arith.mulf {{.*}} : vector<8xf32>
// SSE-NEXT:    arith.addf {{.*}} : vector<8xf32>
// SSE-NOT:     fma
func.func @main(%a: memref<32x100xf32>, %b: memref<100x64xf32>, %c: memref<32x64xf32>) {
  linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<32x100xf32>, memref<100x64xf32>) outs(%c : memref<32x64xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    linalg.yield %1 : f32
  }
  return
}
