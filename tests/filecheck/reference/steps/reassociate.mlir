// RUN: unmess-opt --pipeline reference-reassociate %s | filecheck %s

// Only the addition that accumulates may be reassociated.

#in = affine_map<(d0, d1) -> (d0, d1)>
#out = affine_map<(d0, d1) -> (d0)>
// CHECK:       %[[OWN:.*]] = arith.addf %in, %in : f32
// CHECK-NEXT:  arith.addf %[[OWN]], %out fastmath<reassoc> : f32
func.func @main(%x: memref<4x128xf32>, %y: memref<4xf32>) {
  linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "reduction"]} ins(%x : memref<4x128xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %in : f32
    %1 = arith.addf %0, %out : f32
    linalg.yield %1 : f32
  }
  return
}

// A short sum has a fixed order: LLVM would choose it by the number of sums.
// CHECK-LABEL: func.func @short(
// CHECK:         arith.addf %in, %out : f32
func.func @short(%x: memref<4x64xf32>, %y: memref<4xf32>) {
  linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "reduction"]} ins(%x : memref<4x64xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %in, %out : f32
    linalg.yield %0 : f32
  }
  return
}
