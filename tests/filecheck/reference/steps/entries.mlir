// RUN: unmess-opt --pipeline reference-entries %s | filecheck %s

// An entry function takes the address of an array of pointers, to the results and to each operand.
// It loads buffers as descriptors and numbers as values. Each return stores all results.

// CHECK-LABEL: func.func @main(%arg0: !llvm.ptr) {
// CHECK-NEXT:    %[[SECOND:.*]] = llvm.getelementptr %arg0[1]
// CHECK-NEXT:    %[[PLACE:.*]] = llvm.load %[[SECOND]] : !llvm.ptr -> !llvm.ptr
// CHECK-NEXT:    %[[DESCRIPTOR:.*]] = llvm.load %[[PLACE]] : !llvm.ptr -> !llvm.struct<(ptr, ptr, i64, array<2 x i64>, array<2 x i64>)>
// CHECK-NEXT:    %[[BUFFER:.*]] = builtin.unrealized_conversion_cast %[[DESCRIPTOR]] : {{.*}} to memref<?x4xf32>
// CHECK:         llvm.getelementptr %arg0[2]
// CHECK:         %[[FLAG:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i1
// CHECK:         cf.cond_br %[[FLAG]], ^[[LEFT:.*]], ^[[RIGHT:.*]]
// CHECK:       ^[[LEFT]]:
// CHECK-NEXT:    %[[RESULTS:.*]] = llvm.load %arg0 : !llvm.ptr -> !llvm.ptr
// CHECK:         %[[CAST:.*]] = builtin.unrealized_conversion_cast %[[BUFFER]]
// CHECK-NEXT:    %[[FIRST:.*]] = llvm.getelementptr %[[RESULTS]][0, 0]
// CHECK-NEXT:    llvm.store %[[CAST]], %[[FIRST]]
// CHECK-NEXT:    %[[NEXT:.*]] = llvm.getelementptr %[[RESULTS]][0, 1]
// CHECK-NEXT:    llvm.store %{{.*}}, %[[NEXT]] : i64, !llvm.ptr
// CHECK-NEXT:    return
// CHECK:       ^[[RIGHT]]:
// CHECK:         llvm.store
// CHECK:         llvm.store
// CHECK-NEXT:    return
func.func @main(%x: memref<?x4xf32>, %flag: i1) -> (memref<?x4xf32>, i64) {
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  cf.cond_br %flag, ^left, ^right
^left:
  return %x, %one : memref<?x4xf32>, i64
^right:
  return %x, %two : memref<?x4xf32>, i64
}

// Private functions keep their arguments.
// CHECK-LABEL: func.func private @inner(%arg0: memref<4xf32>)
func.func private @inner(%x: memref<4xf32>) {
  return
}

// CHECK-LABEL: func.func @nothing(%arg0: !llvm.ptr) {
// CHECK-NEXT:    return
func.func @nothing() {
  return
}
