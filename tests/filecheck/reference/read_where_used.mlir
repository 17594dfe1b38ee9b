// RUN: unmess-opt --pipeline reference-read-where-used %s | filecheck %s

// Each read gets the tensor's buffer directly before it, so that bufferization does not place
// intermediate writes in that buffer.

// CHECK-LABEL: func.func @main
// CHECK-NOT:     bufferization.to_buffer
// CHECK:         tensor.empty
// CHECK:         %[[FIRST:.*]] = bufferization.to_buffer %arg0
// CHECK-NEXT:    memref.load %[[FIRST]]
// CHECK-NEXT:    %[[SECOND:.*]] = bufferization.to_buffer %arg0
// CHECK-NEXT:    memref.load %[[SECOND]]
func.func @main(%x: tensor<4xf32>, %i: index) -> (f32, f32, tensor<4xf32>) {
  %view = bufferization.to_buffer %x : tensor<4xf32> to memref<4xf32>
  %other = tensor.empty() : tensor<4xf32>
  %0 = memref.load %view[%i] : memref<4xf32>
  %1 = memref.load %view[%i] : memref<4xf32>
  return %0, %1, %other : f32, f32, tensor<4xf32>
}
