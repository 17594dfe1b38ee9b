// RUN: unmess-opt --pipeline upstream %s | filecheck %s
// RUN: unmess-opt --pipeline upstream %s | mlir-opt --one-shot-bufferize="bufferize-function-boundaries" --canonicalize | filecheck %s --check-prefix=MEMORY

// Three steps merge five elements. The outer loop does two steps, to a buffer and back. If two
// elements are equal, the left one comes first. Two runs of equal length are merged from both ends,
// and others from the front. There are no branches and selections in the first of these loops.
// CHECK-LABEL: func.func @pairs
// CHECK-DAG:     %c3 = arith.constant 3 : index
// CHECK:         scf.for %[[STEP:.*]] = %c0 to %c3 step %c2 iter_args(%[[KEYS:.*]] = %{{.*}}, %[[PLACES:.*]] = %{{.*}})
// CHECK-NEXT:      %[[WIDTH:.*]] = arith.shli %c1, %[[STEP]]
// CHECK:           %[[BOTH:.*]] = arith.shli %[[WIDTH]], %c1
// CHECK:           scf.for %[[LOW:.*]] = %c0 to %c5 step %[[BOTH]]
// CHECK:             %[[EQUAL:.*]] = arith.cmpi sle, %{{.*}}, %c5
// CHECK:             %[[COUNT:.*]] = arith.select %[[EQUAL]], %[[WIDTH]], %c0
// CHECK:             scf.for %{{.*}} = %c0 to %[[COUNT]] step %c1 iter_args(%[[FRONT:.*]] = %[[LOW]], %[[BACK:.*]] =
// CHECK:               %[[STAYS:.*]] = arith.cmpf ole
// CHECK:               %[[LAST:.*]] = arith.cmpf ole
// CHECK-NOT:           arith.select
// CHECK-COUNT-4:       tensor.insert
// CHECK:             %[[REST:.*]] = arith.select %[[EQUAL]], %{{.*}}, %[[LOW]]
// CHECK:             scf.for %[[PLACE:.*]] = %[[REST]]
// CHECK:               %[[STAYS:.*]] = arith.cmpf ole
// CHECK-NEXT:          %[[LEFT:.*]] = arith.cmpi slt
// CHECK-NEXT:          %[[END:.*]] = arith.cmpi sge
// CHECK-NEXT:          %[[TAKE:.*]] = arith.andi %[[LEFT]], %[[STAYS]]
// CHECK-NEXT:          arith.ori %[[END]], %[[TAKE]]
// CHECK-COUNT-2:       tensor.insert
// CHECK:           scf.for %{{.*}} = %c0 to %c5 step

// The merge needs two temporary rows, allocated outside of all loops, and no other memory.
// MEMORY-LABEL: func.func @pairs
// MEMORY-COUNT-2: memref.alloc
// MEMORY-NOT:     memref.alloc
// MEMORY:       func.func @dynamic
func.func @pairs(%x: tensor<5x2xf32>, %i: tensor<5x2xi64>) -> (tensor<5x2xf32>, tensor<5x2xi64>) {
  %0:2 = tm_tensor.sort dimension(0) outs(%x, %i : tensor<5x2xf32>, tensor<5x2xi64>) {
  ^bb0(%a: f32, %b: f32, %c: i64, %d: i64):
    %1 = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %1 : i1
  } -> tensor<5x2xf32>, tensor<5x2xi64>
  return %0#0, %0#1 : tensor<5x2xf32>, tensor<5x2xi64>
}

// The number of steps is the number of bits of the last index.
// CHECK-LABEL: func.func @dynamic
// CHECK:         %[[SIZE:.*]] = tensor.dim
// CHECK:         arith.maxsi %[[SIZE]], %c1
// CHECK:         math.ctlz
func.func @dynamic(%x: tensor<?xi32>) -> tensor<?xi32> {
  %0 = tm_tensor.sort dimension(0) outs(%x : tensor<?xi32>) {
  ^bb0(%a: i32, %b: i32):
    %1 = arith.cmpi sge, %a, %b : i32
    tm_tensor.yield %1 : i1
  } -> tensor<?xi32>
  return %0 : tensor<?xi32>
}

// A row of one element is already sorted.
// CHECK-LABEL: func.func @one(
// CHECK-SAME:    %[[X:.*]]: tensor<1xf32>
// CHECK-NEXT:    return %[[X]]
func.func @one(%x: tensor<1xf32>) -> tensor<1xf32> {
  %0 = tm_tensor.sort dimension(0) outs(%x : tensor<1xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %1 : i1
  } -> tensor<1xf32>
  return %0 : tensor<1xf32>
}
