// RUN: unmess-opt --pipeline upstream %s | filecheck %s
// RUN: unmess-opt --pipeline upstream %s | mlir-opt --one-shot-bufferize="bufferize-function-boundaries" --canonicalize | filecheck %s --check-prefix=MEMORY

// The program reads three elements of each sorted row. A loop sorts the first three elements: it
// searches the place of each one, moves those behind it, and inserts it. The other elements are
// compared with the last one of the three, and replace it if they belong in front of it.
// CHECK-LABEL: func.func @first
// CHECK-SAME:    %[[X:.*]]: tensor<2x100xf32>
// CHECK:         tensor.empty() : tensor<2x3xf32>
// CHECK:         scf.for %[[ROW:.*]] = %c0 to %c2 step %c1
// CHECK:           scf.for %[[PLACE:.*]] = %c0 to %c3 step %c1
// CHECK:             %[[ELEMENT:.*]] = tensor.extract %[[X]][%[[ROW]], %[[PLACE]]]
// CHECK:             %[[FOUND:.*]] = scf.for %{{.*}} = %c0 to %c2 step %c1
// CHECK:               arith.cmpf ole, %{{.*}}, %[[ELEMENT]]
// CHECK:             %[[MOVED:.*]] = arith.subi %[[PLACE]], %[[FOUND]]
// CHECK:             scf.for %{{.*}} = %c0 to %[[MOVED]] step %c1
// CHECK-COUNT-2:       tensor.insert
// CHECK:             tensor.insert %[[ELEMENT]] into %{{.*}}[%[[FOUND]]]
// CHECK:           scf.for %[[PLACE:.*]] = %c3 to %c100 step %c1
// CHECK:             %[[ELEMENT:.*]] = tensor.extract %[[X]][%[[ROW]], %[[PLACE]]]
// CHECK:             %[[LAST:.*]] = tensor.extract %{{.*}}[%c2]
// CHECK:             %[[STAYS:.*]] = arith.cmpf ole, %[[LAST]], %[[ELEMENT]]
// CHECK-NEXT:        scf.if %[[STAYS]]
// CHECK-NEXT:          scf.yield
// CHECK-NEXT:        } else {
// CHECK:               scf.for

// The loops need no memory besides the results.
// MEMORY-LABEL: func.func @first
// MEMORY-COUNT-2: memref.alloc
// MEMORY-NOT:     memref.alloc
// MEMORY:       func.func @indices
func.func @first(%x: tensor<2x100xf32>, %i: tensor<2x100xi64>) -> (tensor<2x3xf32>, tensor<2x2xi64>) {
  %0:2 = tm_tensor.sort dimension(1) outs(%x, %i : tensor<2x100xf32>, tensor<2x100xi64>) {
  ^bb0(%a: f32, %b: f32, %c: i64, %d: i64):
    %1 = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %1 : i1
  } -> tensor<2x100xf32>, tensor<2x100xi64>
  %1 = tensor.extract_slice %0#0[0, 0] [2, 3] [1, 1] : tensor<2x100xf32> to tensor<2x3xf32>
  %2 = tensor.extract_slice %0#1[0, 1] [2, 2] [1, 1] : tensor<2x100xi64> to tensor<2x2xi64>
  return %1, %2 : tensor<2x3xf32>, tensor<2x2xi64>
}

// The loops compute indices, and need no tensor of them. The offset of a slice of dynamic size is at
// most 0. Sizes are those of the operand.
// CHECK-LABEL: func.func @indices
// CHECK-SAME:    %[[X:.*]]: tensor<?xf32>
// CHECK:         %[[SIZE:.*]] = tensor.dim %[[X]], %c0
// CHECK-NOT:     linalg.generic
// CHECK:         scf.for %{{.*}} = %{{.*}} to %{{.*}} step %c1 iter_args({{.*}}) -> (tensor<8xf32>, tensor<8xi64>)
// CHECK:         return %{{.*}}, %[[SIZE]]
func.func @indices(%x: tensor<?xf32>) -> (tensor<8xi64>, index) {
  %c0 = arith.constant 0 : index
  %size = tensor.dim %x, %c0 : tensor<?xf32>
  %empty = tensor.empty(%size) : tensor<?xi64>
  %i = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%empty : tensor<?xi64>) {
  ^bb0(%out: i64):
    %5 = linalg.index 0 : index
    %6 = arith.index_cast %5 : index to i64
    linalg.yield %6 : i64
  } -> tensor<?xi64>
  %0:2 = tm_tensor.sort dimension(0) outs(%x, %i : tensor<?xf32>, tensor<?xi64>) {
  ^bb0(%a: f32, %b: f32, %c: i64, %d: i64):
    %1 = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %1 : i1
  } -> tensor<?xf32>, tensor<?xi64>
  %of = tensor.dim %0#1, %c0 : tensor<?xi64>
  %2 = arith.minsi %of, %c0 : index
  %3 = tensor.extract_slice %0#1[%2] [8] [1] : tensor<?xi64> to tensor<8xi64>
  return %3, %of : tensor<8xi64>, index
}

// The program reads all elements of a result.
// CHECK-LABEL: func.func @all
// CHECK-NOT:     scf.if
// CHECK:         return
func.func @all(%x: tensor<100xf32>, %i: tensor<100xi64>) -> (tensor<3xf32>, tensor<100xi64>) {
  %0:2 = tm_tensor.sort dimension(0) outs(%x, %i : tensor<100xf32>, tensor<100xi64>) {
  ^bb0(%a: f32, %b: f32, %c: i64, %d: i64):
    %1 = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %1 : i1
  } -> tensor<100xf32>, tensor<100xi64>
  %1 = tensor.extract_slice %0#0[0] [3] [1] : tensor<100xf32> to tensor<3xf32>
  return %1, %0#1 : tensor<3xf32>, tensor<100xi64>
}

// It reads the end of each row, or a part at an unknown place.
// CHECK-LABEL: func.func @end
// CHECK-NOT:     scf.if
// CHECK:         return
func.func @end(%x: tensor<100xf32>, %i: tensor<100xi64>) -> tensor<3xf32> {
  %0:2 = tm_tensor.sort dimension(0) outs(%x, %i : tensor<100xf32>, tensor<100xi64>) {
  ^bb0(%a: f32, %b: f32, %c: i64, %d: i64):
    %1 = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %1 : i1
  } -> tensor<100xf32>, tensor<100xi64>
  %1 = tensor.extract_slice %0#0[97] [3] [1] : tensor<100xf32> to tensor<3xf32>
  return %1 : tensor<3xf32>
}
// CHECK-LABEL: func.func @anywhere
// CHECK-NOT:     scf.if
// CHECK:         return
func.func @anywhere(%x: tensor<100xf32>, %i: tensor<100xi64>, %at: index) -> tensor<3xf32> {
  %0:2 = tm_tensor.sort dimension(0) outs(%x, %i : tensor<100xf32>, tensor<100xi64>) {
  ^bb0(%a: f32, %b: f32, %c: i64, %d: i64):
    %1 = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %1 : i1
  } -> tensor<100xf32>, tensor<100xi64>
  %1 = tensor.extract_slice %0#0[%at] [3] [1] : tensor<100xf32> to tensor<3xf32>
  return %1 : tensor<3xf32>
}

// A merge sort is faster than the selection of 30 of 100 elements.
// CHECK-LABEL: func.func @many
// CHECK-NOT:     scf.if
// CHECK:         return
func.func @many(%x: tensor<100xf32>, %i: tensor<100xi64>) -> tensor<30xf32> {
  %0:2 = tm_tensor.sort dimension(0) outs(%x, %i : tensor<100xf32>, tensor<100xi64>) {
  ^bb0(%a: f32, %b: f32, %c: i64, %d: i64):
    %1 = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %1 : i1
  } -> tensor<100xf32>, tensor<100xi64>
  %1 = tensor.extract_slice %0#0[0] [30] [1] : tensor<100xf32> to tensor<30xf32>
  return %1 : tensor<30xf32>
}
