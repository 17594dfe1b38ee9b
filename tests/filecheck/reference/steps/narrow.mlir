// RUN: unmess-opt --pipeline reference-narrow %s | filecheck %s

// Conversions between f64 and 16-bit floats go through f32. Conversions from f64 to f32 stay.

// CHECK-LABEL: func.func @main
// CHECK:         %[[SINGLE:.*]] = arith.truncf %arg0 : f64 to f32
// CHECK-NEXT:    %[[HALF:.*]] = arith.truncf %[[SINGLE]] : f32 to f16
// CHECK-NEXT:    %[[WIDE:.*]] = arith.extf %arg1 : bf16 to f32
// CHECK-NEXT:    arith.extf %[[WIDE]] : f32 to f64
// CHECK-NEXT:    arith.truncf %arg0 : f64 to f32
// CHECK-NEXT:    return
func.func @main(%x: f64, %y: bf16) -> (f16, f64, f32) {
  %0 = arith.truncf %x : f64 to f16
  %1 = arith.extf %y : bf16 to f64
  %2 = arith.truncf %x : f64 to f32
  return %0, %1, %2 : f16, f64, f32
}
