// RUN: unmess-opt --pipeline reference-outline --pipeline reference-vectorize-avx2 %s | filecheck %s

// For x @ w.T, square blocks of the matrix are transposed in registers and stored in the panel.

#lhs = affine_map<(d0, d1, d2) -> (d0, d2)>
#rhs = affine_map<(d0, d1, d2) -> (d1, d2)>
#out = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func.func private @linalg_generic_0(
// CHECK:         %[[PANEL:.*]] = memref.alloc()
// CHECK-COUNT-8: vector.load %arg1[{{.*}}] : memref<16x24xf32>, vector<8xf32>
// CHECK-COUNT-24: vector.shuffle
// CHECK-COUNT-8: vector.store {{.*}}, %[[PANEL]]
func.func @main(%a: memref<32x24xf32>, %b: memref<16x24xf32>, %c: memref<32x16xf32>) {
  linalg.generic {indexing_maps = [#lhs, #rhs, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<32x24xf32>, memref<16x24xf32>) outs(%c : memref<32x16xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    linalg.yield %1 : f32
  }
  return
}
