// RUN: unmess-opt --pipeline reference-bf16-arithmetic --pipeline reference-llvm --pipeline reference-bf16-bits %s | filecheck %s

// The result of each operation is rounded. Moves, comparisons and constants need no rounding.

// CHECK-LABEL: llvm.func @scalar
// CHECK-SAME:    (%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, {{.*}}%{{.*}}: i16) -> i16
// CHECK:         %[[CONSTANT:.*]] = llvm.mlir.constant({{.*}} : bf16) : bf16
// CHECK:         %[[BITS:.*]] = llvm.bitcast %[[CONSTANT]] : bf16 to i16
// CHECK:         %[[X:.*]] = llvm.load %{{.*}} : !llvm.ptr -> i16
// CHECK:         %[[PRODUCT:.*]] = llvm.fmul %{{.*}}, %{{.*}} : f32
// CHECK:         llvm.trunc %{{.*}} : i32 to i16
// CHECK:         llvm.fadd %{{.*}}, %{{.*}} : f32
// CHECK:         llvm.trunc %{{.*}} : i32 to i16
// CHECK:         %[[LESS:.*]] = llvm.fcmp "olt" %{{.*}}, %{{.*}} : f32
// CHECK:         llvm.select %[[LESS]], %{{.*}}, %[[BITS]] : i1, i16
func.func @scalar(%x: memref<4xbf16>, %i: index, %y: bf16) -> bf16 {
  %half = arith.constant 0.5 : bf16
  %0 = memref.load %x[%i] : memref<4xbf16>
  %1 = arith.mulf %0, %y : bf16
  %2 = arith.addf %1, %y : bf16
  %3 = arith.cmpf olt, %2, %0 : bf16
  %4 = arith.select %3, %2, %half : bf16
  return %4 : bf16
}

// CHECK-LABEL: llvm.func @vector
// CHECK:         llvm.load %{{.*}} : !llvm.ptr -> vector<9xi16>
// CHECK:         llvm.zext %{{.*}} : vector<9xi16> to vector<9xi32>
// CHECK:         llvm.fmul %{{.*}} : vector<9xf32>
// CHECK:         llvm.store %{{.*}} : vector<9xi16>, !llvm.ptr
func.func @vector(%x: memref<16xbf16>, %i: index) {
  %0 = vector.load %x[%i] : memref<16xbf16>, vector<9xbf16>
  %1 = arith.mulf %0, %0 : vector<9xbf16>
  vector.store %1, %x[%i] : memref<16xbf16>, vector<9xbf16>
  return
}
