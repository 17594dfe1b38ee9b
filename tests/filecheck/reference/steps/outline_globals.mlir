// RUN: unmess-opt --pipeline reference-outline %s | filecheck %s

// Two reads of a global give the same memory. An allocation is other memory.

#id = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func private @linalg_generic_0(
// CHECK-NOT:     unmess.no_alias
// CHECK-SAME:    unmess.outlined
// CHECK-LABEL: func.func private @linalg_generic_1(
// CHECK-SAME:    unmess.no_alias
memref.global "private" @state : memref<8xf32> = dense<0.0>
func.func @main() -> memref<8xf32> {
  %a = memref.get_global @state : memref<8xf32>
  %b = memref.get_global @state : memref<8xf32>
  %c = memref.alloc() : memref<8xf32>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : memref<8xf32>) outs(%b : memref<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : memref<8xf32>) outs(%c : memref<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  return %c : memref<8xf32>
}
