// RUN: unmess-opt --pipeline reference-share-memory %s | filecheck %s

// Buffers that exist at the same time have different places. The third one takes the place of the
// first, which was freed before; 100 bytes take two cache lines. The caller provides the memory.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    (%[[X:.*]]: f32 {unmess.name = "x"}, %[[ALL:.*]]: memref<384xi8>)
// CHECK:         %[[ZERO:.*]] = arith.constant 0 : index
// CHECK:         %[[FIRST:.*]] = memref.view %[[ALL]][%[[ZERO]]][] : memref<384xi8> to memref<25xf32>
// CHECK:         call @use(%[[FIRST]])
// CHECK:         %[[SECOND_PLACE:.*]] = arith.constant 128 : index
// CHECK:         %[[SECOND:.*]] = memref.view %[[ALL]][%[[SECOND_PLACE]]][] : memref<384xi8> to memref<32xf64>
// CHECK:         call @use_64(%[[SECOND]])
// CHECK-NOT:     memref.dealloc
// CHECK:         %[[THIRD_PLACE:.*]] = arith.constant 0 : index
// CHECK:         %[[THIRD:.*]] = memref.view %[[ALL]][%[[THIRD_PLACE]]][] : memref<384xi8> to memref<25xf32>
// CHECK:         call @use(%[[THIRD]])
// CHECK-NOT:     memref.dealloc
// CHECK:         return
func.func private @use(memref<25xf32>)
func.func private @use_64(memref<32xf64>)
func.func @main(%x: f32 {unmess.name = "x"}) {
  %first = memref.alloc() : memref<25xf32>
  call @use(%first) : (memref<25xf32>) -> ()
  %second = memref.alloc() : memref<32xf64>
  call @use_64(%second) : (memref<32xf64>) -> ()
  memref.dealloc %first : memref<25xf32>
  %third = memref.alloc() : memref<25xf32>
  call @use(%third) : (memref<25xf32>) -> ()
  memref.dealloc %second : memref<32xf64>
  memref.dealloc %third : memref<25xf32>
  return
}

// These keep their own allocations: of dynamic size, large, freed elsewhere, returned. So the function
// takes no memory.
// CHECK-LABEL: func.func @apart
// CHECK-SAME:    (%{{.*}}: index, %{{.*}}: i1) -> memref<25xf32>
// CHECK-COUNT-4: memref.alloc
// CHECK-NOT:     memref.view
func.func private @any(memref<?xf32>)
func.func private @large(memref<536870912xf32>)
func.func @apart(%n: index, %c: i1) -> memref<25xf32> {
  %dynamic = memref.alloc(%n) : memref<?xf32>
  call @any(%dynamic) : (memref<?xf32>) -> ()
  memref.dealloc %dynamic : memref<?xf32>
  %large = memref.alloc() : memref<536870912xf32>
  call @large(%large) : (memref<536870912xf32>) -> ()
  memref.dealloc %large : memref<536870912xf32>
  %elsewhere = memref.alloc() : memref<25xf32>
  scf.if %c {
    memref.dealloc %elsewhere : memref<25xf32>
  }
  %returned = memref.alloc() : memref<25xf32>
  return %returned : memref<25xf32>
}

// Blocks share the memory, because no buffer exists in two of them.
// CHECK-LABEL: func.func @blocks
// CHECK-SAME:    (%{{.*}}: i1, %[[ALL:.*]]: memref<256xi8>)
// CHECK:         memref.view %[[ALL]]
// CHECK:         memref.view %[[ALL]]
// CHECK-NOT:     memref.alloc
// CHECK-LABEL: func.func @loop
func.func @blocks(%c: i1) {
  cf.cond_br %c, ^small, ^large
^small:
  %first = memref.alloc() : memref<25xf32>
  func.call @use(%first) : (memref<25xf32>) -> ()
  memref.dealloc %first : memref<25xf32>
  return
^large:
  %second = memref.alloc() : memref<32xf64>
  func.call @use_64(%second) : (memref<32xf64>) -> ()
  memref.dealloc %second : memref<32xf64>
  return
}

// A loop allocates once in each iteration.
// CHECK:         scf.for
// CHECK-NEXT:      memref.alloc() {alignment = 64 : i64} : memref<256xi8>
// CHECK:           memref.dealloc
// CHECK-NEXT:    }
func.func @loop(%n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.for %i = %zero to %n step %one {
    %first = memref.alloc() : memref<25xf32>
    %second = memref.alloc() : memref<25xf32>
    func.call @use(%first) : (memref<25xf32>) -> ()
    func.call @use(%second) : (memref<25xf32>) -> ()
    memref.dealloc %second : memref<25xf32>
    memref.dealloc %first : memref<25xf32>
  }
  return
}
