// RUN: unmess-opt --pipeline reference-lifetimes %s | filecheck %s

// A buffer is freed after its last use, which may be through a view or inside a loop.
// CHECK-LABEL: func.func @early
// CHECK:         call @use(%[[FIRST:[a-z0-9_]+]])
// CHECK-NEXT:    memref.dealloc %[[FIRST]]
// CHECK:         scf.for
// CHECK:           memref.store %{{.*}}, %[[VIEW:[a-z0-9_]+]][
// CHECK:         }
// CHECK-NEXT:    memref.dealloc %[[SECOND:[a-z0-9_]+]] :
// CHECK-NEXT:    call @use(%arg0)
// CHECK-NEXT:    return
func.func private @use(memref<4xf32>)
func.func @early(%x: memref<4xf32>, %n: index, %f: f32) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %first = memref.alloc() : memref<4xf32>
  call @use(%first) : (memref<4xf32>) -> ()
  %second = memref.alloc() : memref<4xf32>
  %view = memref.subview %second[0] [2] [1] : memref<4xf32> to memref<2xf32, strided<[1]>>
  scf.for %i = %zero to %n step %one {
    memref.store %f, %view[%zero] : memref<2xf32, strided<[1]>>
  }
  call @use(%x) : (memref<4xf32>) -> ()
  memref.dealloc %second : memref<4xf32>
  memref.dealloc %first : memref<4xf32>
  return
}

// The result of a call may be the buffer that was passed to it.
// CHECK-LABEL: func.func @returned
// CHECK:         call @same
// CHECK-NEXT:    call @use
// CHECK-NEXT:    memref.dealloc
func.func private @same(memref<4xf32>) -> memref<4xf32>
func.func @returned() {
  %0 = memref.alloc() : memref<4xf32>
  %1 = call @same(%0) : (memref<4xf32>) -> memref<4xf32>
  call @use(%1) : (memref<4xf32>) -> ()
  memref.dealloc %0 : memref<4xf32>
  return
}

// A block argument may be a buffer that a branch passes.
// CHECK-LABEL: func.func @passed
// CHECK:       ^bb{{.*}}(%[[PASSED:[a-z0-9_]+]]: memref<4xf32>):
// CHECK-NEXT:    call @use(%[[PASSED]])
// CHECK-NEXT:    memref.dealloc
func.func @passed(%x: memref<4xf32>, %flag: i1) {
  %0 = memref.alloc() : memref<4xf32>
  cf.cond_br %flag, ^end(%0 : memref<4xf32>), ^end(%x : memref<4xf32>)
^end(%1: memref<4xf32>):
  call @use(%1) : (memref<4xf32>) -> ()
  memref.dealloc %0 : memref<4xf32>
  return
}

// The result of a region may be a buffer that it yields.
// CHECK-LABEL: func.func @yielded
// CHECK:         call @use
// CHECK-NEXT:    memref.dealloc
func.func @yielded(%x: memref<4xf32>, %flag: i1) {
  %0 = memref.alloc() : memref<4xf32>
  %1 = scf.if %flag -> memref<4xf32> {
    scf.yield %0 : memref<4xf32>
  } else {
    scf.yield %x : memref<4xf32>
  }
  call @use(%1) : (memref<4xf32>) -> ()
  memref.dealloc %0 : memref<4xf32>
  return
}
