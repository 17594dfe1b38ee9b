// RUN: unmess-opt --pipeline reference-outline --pipeline reference-vectorize-amx %s | filecheck %s --check-prefixes CHECK,TILES
// RUN: unmess-opt --pipeline reference-outline --pipeline reference-vectorize-avx512-bf16 %s | filecheck %s --check-prefixes CHECK,PAIRS
// RUN: unmess-opt --pipeline reference-outline --pipeline reference-vectorize-avx512 %s | filecheck %s --check-prefix PLAIN

#a = affine_map<(m, n, k) -> (m, k)>
#b = affine_map<(m, n, k) -> (k, n)>
#c = affine_map<(m, n, k) -> (m, n)>

// Other processors widen the numbers.
// PLAIN-NOT:   call_intrinsic

// A tile of 16x16 sums. The panel has two rows of the right operand in each row.
// CHECK-LABEL: func.func private @linalg_generic_0(
// TILES:         %[[PANEL:.*]] = memref.alloc() {{.*}} : memref<16x32xbf16>
// TILES:         %[[SUMS:.*]] = llvm.call_intrinsic "llvm.x86.tileloadd64.internal"
// TILES:         %[[LEFT:.*]] = llvm.call_intrinsic "llvm.x86.tileloadd64.internal"
// TILES:         memref.extract_aligned_pointer_as_index %[[PANEL]]
// TILES:         %[[RIGHT:.*]] = llvm.call_intrinsic "llvm.x86.tileloadd64.internal"
// TILES:         llvm.call_intrinsic "llvm.x86.tdpbf16ps.internal"(%{{.*}}, %{{.*}}, %{{.*}}, %[[SUMS]], %[[LEFT]], %[[RIGHT]])
// TILES:         llvm.call_intrinsic "llvm.x86.tilestored64.internal"
// PAIRS:         llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"(%{{.*}}, %{{.*}}, %{{.*}}) : (vector<16xf32>, vector<32xbf16>, vector<32xbf16>) -> vector<16xf32>

// 17 rows, 3 columns and 33 steps: the 17th row and the last step are copied, and results of fewer
// columns than a tile has are added from a buffer. Zeros follow the panel's last row.
// CHECK-LABEL: func.func private @linalg_generic_1(
// TILES:         vector.store {{.*}} : memref<32x32xbf16>, vector<32xbf16>
// TILES:         vector.store {{.*}} : memref<16x32xbf16>, vector<32xbf16>
// TILES:         llvm.call_intrinsic "llvm.x86.tilezero.internal"
// TILES:         llvm.call_intrinsic "llvm.x86.tilestored64.internal"
// TILES:         arith.addf
// TILES:         vector.maskedstore
// PAIRS:         vector.insert %{{.*}}, %{{.*}} [0] : bf16 into vector<2xbf16>

// Few rows do not pay for a panel, and products of f32 do not change.
// CHECK-LABEL: func.func private @linalg_generic_2(
// CHECK-NOT:     call_intrinsic
// CHECK-LABEL: func.func private @linalg_generic_3(
// CHECK-NOT:     call_intrinsic
func.func @main(%a: memref<16x32xbf16>, %b: memref<32x16xbf16>, %c: memref<16x16xf32>,
                %d: memref<17x33xbf16>, %e: memref<33x3xbf16>, %f: memref<17x3xf32>,
                %g: memref<15x32xbf16>, %h: memref<15x16xf32>,
                %i: memref<16x32xf32>, %j: memref<32x16xf32>) {
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : memref<16x32xbf16>, memref<32x16xbf16>) outs(%c : memref<16x16xf32>) {
  ^bb0(%x: bf16, %y: bf16, %z: f32):
    %0 = arith.extf %x : bf16 to f32
    %1 = arith.extf %y : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %z, %2 : f32
    linalg.yield %3 : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%d, %e : memref<17x33xbf16>, memref<33x3xbf16>) outs(%f : memref<17x3xf32>) {
  ^bb0(%x: bf16, %y: bf16, %z: f32):
    %0 = arith.extf %x : bf16 to f32
    %1 = arith.extf %y : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %z, %2 : f32
    linalg.yield %3 : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%g, %b : memref<15x32xbf16>, memref<32x16xbf16>) outs(%h : memref<15x16xf32>) {
  ^bb0(%x: bf16, %y: bf16, %z: f32):
    %0 = arith.extf %x : bf16 to f32
    %1 = arith.extf %y : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %z, %2 : f32
    linalg.yield %3 : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%i, %j : memref<16x32xf32>, memref<32x16xf32>) outs(%c : memref<16x16xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    linalg.yield %1 : f32
  }
  return
}
