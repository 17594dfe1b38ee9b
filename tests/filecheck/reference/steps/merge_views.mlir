// RUN: unmess-opt --pipeline reference-merge-views --pipeline reference-outline %s | filecheck %s

// An operation in place has one buffer, which overlaps no other. With two equal views of it, LLVM
// would read the scale again for each element.

#id = affine_map<(d0) -> (d0)>
#scalar = affine_map<(d0) -> (0)>
// CHECK-LABEL: func.func @main(
// CHECK:         %[[VIEW:.*]] = memref.collapse_shape %arg0
// CHECK-NEXT:    call @linalg_generic_0(%[[VIEW]], %arg1) : (memref<64xf32>, memref<1xf32>) -> ()
// CHECK-LABEL: func.func private @linalg_generic_0(%arg0: memref<64xf32>, %arg1: memref<1xf32>)
// CHECK-SAME:    unmess.no_alias
func.func @main(%x: memref<8x8xf32>, %scale: memref<1xf32>) {
  %in = memref.collapse_shape %x [[0, 1]] : memref<8x8xf32> into memref<64xf32>
  %out = memref.collapse_shape %x [[0, 1]] : memref<8x8xf32> into memref<64xf32>
  linalg.generic {indexing_maps = [#id, #scalar, #id], iterator_types = ["parallel"]} ins(%in, %scale : memref<64xf32>, memref<1xf32>) outs(%out : memref<64xf32>) {
  ^bb0(%a: f32, %by: f32, %o: f32):
    %0 = arith.mulf %a, %by : f32
    linalg.yield %0 : f32
  }
  return
}
