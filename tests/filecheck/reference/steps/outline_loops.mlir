// RUN: unmess-opt --pipeline reference-outline %s | filecheck %s

// Loops of scalar operations are outlined as a whole. A loop around linalg operations stays.

#id = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @main(
// CHECK:         call @scf_for_0(%arg0, %arg1)
// CHECK:         scf.for
// CHECK-NEXT:      call @linalg_generic_1(%arg0, %arg1)
// CHECK-LABEL: func.func private @scf_for_0
// CHECK:         memref.store
func.func @main(%a: memref<8xf32>, %b: memref<8xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %eight = arith.constant 8 : index
  scf.for %i = %zero to %eight step %one {
    %x = memref.load %a[%i] : memref<8xf32>
    memref.store %x, %b[%i] : memref<8xf32>
  }
  scf.for %i = %zero to %eight step %one {
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : memref<8xf32>) outs(%b : memref<8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    }
  }
  return
}
