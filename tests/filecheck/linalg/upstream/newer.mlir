// RUN: unmess-opt --pipeline upstream-newer %s | mlir-opt | filecheck %s

// Removes optimization flags, and a rounding mode that is also the default.
// CHECK:      arith.addf %{{.*}}, %{{.*}} : f32
// CHECK-NEXT: arith.extui %{{.*}} : i8 to i32
func.func @main(%x: f32, %i: i8) -> (f32, i32) {
  %0 = arith.addf %x, %x to_nearest_even : f32
  %1 = arith.extui %i nneg : i8 to i32
  return %0, %1 : f32, i32
}
