// RUN: unmess-opt --pipeline reference-outline %s | filecheck %s

// Operations that differ only in their buffers share a function. Constants move into it. An
// attribute states that its buffers do not overlap, because they are different arguments.

#id = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @main
// CHECK:         call @linalg_generic_0(%arg0, %arg1)
// CHECK-NEXT:    call @linalg_generic_0(%arg1, %arg0)
// CHECK-NEXT:    call @linalg_generic_1(%arg0, %arg1)
// CHECK-LABEL: func.func private @linalg_generic_0(%arg0: memref<8xf32>, %arg1: memref<8xf32>)
// CHECK-SAME:    unmess.no_alias
// CHECK-SAME:    unmess.outlined
// CHECK-NEXT:    %[[TWO:.*]] = arith.constant 2.000000e+00
// CHECK:         arith.mulf %in, %[[TWO]]
// CHECK-LABEL: func.func private @linalg_generic_1
// CHECK:         arith.addf
// CHECK-NOT:   func.func
func.func @main(%a: memref<8xf32>, %b: memref<8xf32>) {
  %two = arith.constant 2.0 : f32
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : memref<8xf32>) outs(%b : memref<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.mulf %in, %two : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%b : memref<8xf32>) outs(%a : memref<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.mulf %in, %two : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : memref<8xf32>) outs(%b : memref<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %two : f32
    linalg.yield %0 : f32
  }
  return
}
