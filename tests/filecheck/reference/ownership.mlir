// RUN: unmess-opt --pipeline reference-bufferize %s | filecheck %s

// The caller owns every result, so an argument that is returned is copied.

// CHECK-LABEL: func.func @returns_argument(%arg0: memref<4xf32>) -> memref<4xf32>
// CHECK:         %[[COPY:.*]] = memref.alloc
// CHECK:         linalg.generic {{.*}} ins(%arg0 {{.*}} outs(%[[COPY]]
// CHECK:         return %[[COPY]]
func.func @returns_argument(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// The temporary is freed. The result is not freed, and the argument is not written.
// CHECK-LABEL: func.func @temporary(%arg0: memref<4x2xf32>) -> memref<4xf32>
// CHECK:         %[[FIRST:.*]] = memref.alloc() {{.*}} : memref<2x4xf32>
// CHECK:         linalg.transpose ins(%arg0 {{.*}} outs(%[[FIRST]]
// CHECK:         %[[SECOND:.*]] = memref.alloc() {{.*}} : memref<4xf32>
// CHECK:         linalg.reduce {{.*}} ins(%[[FIRST]] {{.*}} outs(%[[SECOND]]
// CHECK:         memref.dealloc %[[FIRST]]
// CHECK-NOT:     memref.dealloc
// CHECK:         return %[[SECOND]]
func.func @temporary(%x: tensor<4x2xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4xf32>
  %0 = linalg.transpose ins(%x : tensor<4x2xf32>) outs(%e : tensor<2x4xf32>) permutation = [1, 0]
  %f = tensor.empty() : tensor<4xf32>
  %g = linalg.fill ins(%zero : f32) outs(%f : tensor<4xf32>) -> tensor<4xf32>
  %1 = linalg.reduce {arith.addf} ins(%0 : tensor<2x4xf32>) outs(%g : tensor<4xf32>) dimensions = [0]
  return %1 : tensor<4xf32>
}
