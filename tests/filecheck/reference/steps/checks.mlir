// RUN: unmess-opt --pipeline reference-checks %s | filecheck %s

// A divisor from data must not be 0. A division by -1 is a negation, because it could overflow.
// CHECK-LABEL: func.func @division(
// CHECK:         %[[GOOD:.*]] = arith.cmpi ne, %arg1, %{{.*}} : i32
// CHECK:         cf.assert %[[GOOD]], "ZeroDivisionError"
// CHECK:         %[[MINUS:.*]] = arith.cmpi eq, %arg1, %{{.*}} : i32
// CHECK:         %[[SAFE:.*]] = arith.select %[[MINUS]], %{{.*}}, %arg1 : i32
// CHECK:         %[[NEGATIVE:.*]] = arith.subi %{{.*}}, %arg0 : i32
// CHECK:         %[[QUOTIENT:.*]] = arith.divsi %arg0, %[[SAFE]] : i32
// CHECK:         %[[RESULT:.*]] = arith.select %[[MINUS]], %[[NEGATIVE]], %[[QUOTIENT]] : i32
// CHECK:         return %[[RESULT]]
func.func @division(%a: i32, %b: i32) -> i32 {
  %0 = arith.divsi %a, %b : i32
  return %0 : i32
}

// CHECK-LABEL: func.func @unsigned_remainder(
// CHECK:         cf.assert
// CHECK-NEXT:    arith.remui %arg0, %arg1
// CHECK-NEXT:    return
func.func @unsigned_remainder(%a: i8, %b: i8) -> i8 {
  %0 = arith.remui %a, %b : i8
  return %0 : i8
}

// CHECK-LABEL: func.func @division_by_a_constant(
// CHECK-NOT:     cf.assert
// CHECK-LABEL: func.func @index_that_is_data(
func.func @division_by_a_constant(%a: i32) -> i32 {
  %three = arith.constant 3 : i32
  %0 = arith.divsi %a, %three : i32
  return %0 : i32
}

// The load of the index needs no check, because the loop bounds it. Nor does the other axis.
// CHECK:         %[[ALLOC:.*]] = memref.load %arg1
// CHECK-NEXT:    %[[INDEX:.*]] = arith.index_cast
// CHECK-NEXT:    %[[SIZE:.*]] = arith.constant 4 : index
// CHECK-NEXT:    %[[INSIDE:.*]] = arith.cmpi ult, %[[INDEX]], %[[SIZE]] : index
// CHECK-NEXT:    cf.assert %[[INSIDE]], "index out of range"
// CHECK-NEXT:    memref.store
// CHECK-NOT:     cf.assert
// CHECK-LABEL: func.func @loop_that_is_too_long(
func.func @index_that_is_data(%x: memref<4x4xf32>, %i: memref<2xi64>, %value: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.for %j = %c0 to %c2 step %c1 {
    %0 = memref.load %i[%j] : memref<2xi64>
    %1 = arith.index_cast %0 : i64 to index
    memref.store %value, %x[%1, %j] : memref<4x4xf32>
  }
  return
}

// CHECK:         memref.dim %arg1
// CHECK:         cf.assert %{{.*}}, "index out of range"
// CHECK-NEXT:    memref.load %arg1
// CHECK-NOT:     cf.assert
// CHECK-LABEL: func.func @slice(
func.func @loop_that_is_too_long(%x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %size = memref.dim %x, %c0 : memref<?xf32>
  scf.for %j = %c0 to %size step %c1 {
    %0 = memref.load %y[%j] : memref<?xf32>
    memref.store %0, %x[%j] : memref<?xf32>
  }
  return
}

// CHECK:         cf.assert %{{.*}}, "slice out of range"
// CHECK-NEXT:    memref.subview
func.func @slice(%x: memref<8xf32>, %from: index) -> memref<2xf32, strided<[1], offset: ?>> {
  %0 = memref.subview %x[%from] [2] [1] : memref<8xf32> to memref<2xf32, strided<[1], offset: ?>>
  return %0 : memref<2xf32, strided<[1], offset: ?>>
}

// A size of 0 gives 0 bytes. A negative size, read as unsigned, is too large.
// CHECK-LABEL: func.func @allocation(
// CHECK:         %[[ITEM:.*]] = arith.constant 1.200000e+01 : f64
// CHECK:         arith.uitofp
// CHECK:         arith.mulf %[[ITEM]],
// CHECK:         %[[FITS:.*]] = arith.cmpf ole,
// CHECK:         cf.assert %[[FITS]], "a size is negative or too large for any memory"
// CHECK-NEXT:    memref.alloc(
// CHECK-NOT:     cf.assert
// CHECK:         return
func.func @allocation(%size: index) -> memref<?x3xf32> {
  %0 = memref.alloc(%size) : memref<?x3xf32>
  %1 = memref.alloc() : memref<4xf32>
  memref.dealloc %1 : memref<4xf32>
  return %0 : memref<?x3xf32>
}

// The sizes of two inputs may differ. A buffer allocated with the size of an input is equal to it.
#map = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func.func @sizes(
// CHECK:         memref.alloc(
// CHECK-NEXT:    linalg.generic
// CHECK:         arith.cmpi eq
// CHECK:         cf.assert %{{.*}}, "sizes that must be equal differ"
// CHECK-NEXT:    linalg.generic
func.func @sizes(%x: memref<?xf32>, %y: memref<?xf32>) -> memref<?xf32> {
  %c0 = arith.constant 0 : index
  %size = memref.dim %x, %c0 : memref<?xf32>
  %z = memref.alloc(%size) : memref<?xf32>
  linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%x : memref<?xf32>) outs(%z : memref<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%y : memref<?xf32>) outs(%z : memref<?xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  return %z : memref<?xf32>
}
