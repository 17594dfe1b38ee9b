// RUN: unmess-opt --pipeline iree-elementary-functions %s | filecheck %s

// IREE's runtime has no math library, so f64 functions are expanded to arithmetic.
// CHECK-LABEL: func.func @f64(
// CHECK-NOT:     math.{{sin|powf|tanh}}
// CHECK-NOT:     arith.remf
// CHECK:         return
func.func @f64(%x: f64, %y: f64) -> (f64, f64, f64, f64) {
  %0 = math.sin %x : f64
  %1 = math.powf %x, %y : f64
  %2 = math.tanh %y : f64
  %3 = arith.remf %x, %y : f64
  return %0, %1, %2, %3 : f64, f64, f64, f64
}

// The product with the bits of 1/(2π) is computed only for large arguments.
// CHECK-LABEL: func.func @large(
// CHECK:         scf.if
// CHECK:           arith.mului_extended
// CHECK:         } else {
// CHECK-NOT:     math.cos
func.func @large(%x: f64) -> f64 {
  %0 = math.cos %x : f64
  return %0 : f64
}

// The expansion for f32 has no branches, so that it can be vectorized.
// CHECK-LABEL: func.func @narrow(
// CHECK-NOT:     scf.if
// CHECK:         arith.truncf
func.func @narrow(%x: f32) -> f32 {
  %0 = math.sin %x : f32
  return %0 : f32
}

// Powers with a few constant exponents, as in norms, are products and square roots.
// CHECK-LABEL: func.func @norm(
// CHECK-SAME:    %[[X:.*]]: f32, %[[Y:.*]]: f64)
// CHECK-DAG:     arith.mulf %[[X]], %[[X]] : f32
// CHECK-DAG:     math.sqrt %[[Y]] : f64
// CHECK:         return
func.func @norm(%x: f32, %y: f64) -> (f32, f64) {
  %two = arith.constant 2.0 : f32
  %half = arith.constant 0.5 : f64
  %0 = math.powf %x, %two : f32
  %1 = math.powf %y, %half : f64
  return %0, %1 : f32, f64
}

// Other functions are not changed.
// CHECK-LABEL: func.func @others(
// CHECK-NEXT:    math.tanh %arg0 : f32
// CHECK-NEXT:    math.exp %arg1 : f64
func.func @others(%x: f32, %y: f64) -> (f32, f64) {
  %0 = math.tanh %x : f32
  %1 = math.exp %y : f64
  return %0, %1 : f32, f64
}
