// RUN: unmess-opt --pipeline reference-pointers %s | filecheck %s

// Outlined functions take only the pointer if the type has all sizes, strides and the offset. If
// one of these is dynamic, they take the memref. Other functions do not change.

// CHECK-LABEL: func.func @main(%arg0: memref<4xf32>
// CHECK:         %[[ADDRESS:.*]] = memref.extract_aligned_pointer_as_index %arg0
// CHECK:         %[[POINTER:.*]] = llvm.inttoptr
// CHECK:         call @outlined_0(%[[POINTER]], %arg1, %arg2)
// CHECK:         call @other(%arg0)
// CHECK-LABEL: func.func private @outlined_0(%arg0: !llvm.ptr, %arg1: memref<?xf32>, %arg2: memref<4xf32, strided<[1], offset: ?>>)
// CHECK:         %[[SIZE:.*]] = llvm.mlir.constant(4 : i64)
// CHECK:         llvm.insertvalue %[[SIZE]], %{{.*}}[3, 0]
// CHECK:         %[[BUFFER:.*]] = builtin.unrealized_conversion_cast {{.*}} to memref<4xf32>
// CHECK:         memref.copy %[[BUFFER]], %arg2
// CHECK:       func.func private @other(memref<4xf32>)
func.func @main(%x: memref<4xf32>, %n: memref<?xf32>, %o: memref<4xf32, strided<[1], offset: ?>>) {
  call @outlined_0(%x, %n, %o) : (memref<4xf32>, memref<?xf32>, memref<4xf32, strided<[1], offset: ?>>) -> ()
  call @other(%x) : (memref<4xf32>) -> ()
  return
}
func.func private @outlined_0(%x: memref<4xf32>, %n: memref<?xf32>, %o: memref<4xf32, strided<[1], offset: ?>>) attributes {unmess.outlined} {
  memref.copy %x, %o : memref<4xf32> to memref<4xf32, strided<[1], offset: ?>>
  return
}
func.func private @other(%x: memref<4xf32>)
