// RUN: unmess-opt --pipeline reference-outline %s | filecheck %s

// Two views of the same buffer may overlap.

#id = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func private @linalg_generic_0(
// CHECK-NOT:     unmess.no_alias
// CHECK-SAME:    unmess.outlined
func.func @main(%a: memref<16xf32>) {
  %low = memref.subview %a[0] [8] [1] : memref<16xf32> to memref<8xf32, strided<[1]>>
  %high = memref.subview %a[4] [8] [1] : memref<16xf32> to memref<8xf32, strided<[1], offset: 4>>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%low : memref<8xf32, strided<[1]>>) outs(%high : memref<8xf32, strided<[1], offset: 4>>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  return
}
