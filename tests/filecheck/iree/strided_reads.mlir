// RUN: unmess-opt --pipeline iree-read-whole-tensors %s | filecheck %s

// The last axis has an index of its own, through views that move or add axes.
// CHECK-LABEL: func.func @of_a_view
// CHECK-SAME:    %[[X:.*]]: tensor<5x6x8xf32>, %{{.*}}: tensor<6x5xf32>, %[[I:.*]]: index, %[[J:.*]]: index
// CHECK:         %[[TWO:.*]] = arith.constant 2 : index
// CHECK:         tensor.extract %[[X]][%[[J]], %[[I]], %[[TWO]]] : tensor<5x6x8xf32>
func.func @of_a_view(%x: tensor<5x6x8xf32>, %o: tensor<6x5xf32>, %i: index, %j: index) -> f32 {
  %0 = tensor.extract_slice %x[0, 0, 2] [5, 6, 1] [1, 1, 1] : tensor<5x6x8xf32> to tensor<5x6x1xf32>
  %1 = tensor.collapse_shape %0 [[0], [1, 2]] : tensor<5x6x1xf32> into tensor<5x6xf32>
  %2 = linalg.transpose ins(%1 : tensor<5x6xf32>) outs(%o : tensor<6x5xf32>) permutation = [1, 0]
  %3 = tensor.expand_shape %2 [[0, 1], [2]] output_shape [1, 6, 5] : tensor<6x5xf32> into tensor<1x6x5xf32>
  %c0 = arith.constant 0 : index
  %4 = tensor.extract %3[%c0, %i, %j] : tensor<1x6x5xf32>
  return %4 : f32
}

// Offsets and strides, one of them dynamic.
// CHECK-LABEL: func.func @every_second
// CHECK-SAME:    %[[X:.*]]: tensor<?x9xf32>, %[[N:.*]]: index, %[[I:.*]]: index, %[[J:.*]]: index
// CHECK:         %[[ROW:.*]] = arith.addi %[[I]], %[[N]] : index
// CHECK:         %[[TWICE:.*]] = arith.muli %[[J]], %{{.*}} : index
// CHECK:         %[[PLACE:.*]] = arith.addi %[[TWICE]], %{{.*}} : index
// CHECK:         tensor.extract %[[X]][%[[ROW]], %[[PLACE]]] : tensor<?x9xf32>
func.func @every_second(%x: tensor<?x9xf32>, %n: index, %i: index, %j: index) -> f32 {
  %0 = tensor.extract_slice %x[%n, 1] [%i, 4] [1, 2] : tensor<?x9xf32> to tensor<?x4xf32>
  %1 = tensor.extract %0[%i, %j] : tensor<?x4xf32>
  return %1 : f32
}

// Slices with adjacent elements, and reshapes that merge axes, stay.
// CHECK-LABEL: func.func @others
// CHECK:         %[[ROWS:.*]] = tensor.extract_slice
// CHECK:         tensor.extract %[[ROWS]]
// CHECK:         %[[FLAT:.*]] = tensor.collapse_shape
// CHECK:         tensor.extract %[[FLAT]]
func.func @others(%x: tensor<5x6x8xf32>, %i: index) -> (f32, f32) {
  %0 = tensor.extract_slice %x[1, 0, 3] [2, 6, 4] [1, 1, 1] : tensor<5x6x8xf32> to tensor<2x6x4xf32>
  %1 = tensor.extract %0[%i, %i, %i] : tensor<2x6x4xf32>
  %2 = tensor.extract_slice %x[0, 0, 2] [5, 6, 1] [1, 1, 1] : tensor<5x6x8xf32> to tensor<5x6xf32>
  %3 = tensor.collapse_shape %2 [[0, 1]] : tensor<5x6xf32> into tensor<30xf32>
  %4 = tensor.extract %3[%i] : tensor<30xf32>
  return %1, %4 : f32, f32
}
