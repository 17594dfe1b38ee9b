// RUN: unmess-opt --pipeline reference-outline %s | filecheck %s

// A value that the region uses becomes an argument, unless it is a constant.

#id = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @main(%arg0: memref<8xf32>, %arg1: f32)
// CHECK:         %[[S:.*]] = arith.mulf %arg1, %arg1
// CHECK-NEXT:    call @linalg_generic_0(%arg0, %[[S]]) : (memref<8xf32>, f32) -> ()
// CHECK-LABEL: func.func private @linalg_generic_0(%arg0: memref<8xf32>, %arg1: f32)
// CHECK:         linalg.yield %arg1
func.func @main(%a: memref<8xf32>, %x: f32) {
  %s = arith.mulf %x, %x : f32
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%a : memref<8xf32>) {
  ^bb0(%out: f32):
    linalg.yield %s : f32
  }
  return
}
