// RUN: unmess-opt --pipeline reference-protect --pipeline reference-bufferize %s | filecheck %s

// Memory of the caller or the model is copied before it is written. State is updated in place,
// because the Executable owns it.

// CHECK-LABEL: func.func @insert(%arg0: memref<4xf32> {{.*}}, %arg1: memref<8xf32> {{.*}}, %arg2: memref<8xf32> {{.*}})
// CHECK:         %[[COPY:.*]] = memref.alloc() {{.*}} : memref<8xf32>
// CHECK:         linalg.generic {{.*}} ins(%arg1 {{.*}} outs(%[[COPY]]
// CHECK:         %[[PLACE:.*]] = memref.subview %[[COPY]]
// CHECK:         linalg.generic {{.*}} ins(%arg0 {{.*}} outs(%[[PLACE]]
// CHECK:         %[[PLACE:.*]] = memref.subview %arg2
// CHECK:         linalg.generic {{.*}} ins(%arg0 {{.*}} outs(%[[PLACE]]
func.func @insert(%x: tensor<4xf32> {unmess.input = "x"},
                  %w: tensor<8xf32> {unmess.weight = "w"},
                  %s: tensor<8xf32> {unmess.state = "s"}) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = tensor.insert_slice %x into %w[2] [4] [1] : tensor<4xf32> into tensor<8xf32>
  %1 = tensor.insert_slice %x into %s[2] [4] [1] : tensor<4xf32> into tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}
