// RUN: unmess-opt --pipeline reference-expand-float8 %s | filecheck %s

// LLVM has no 8-bit floats. They are bytes, and one function for each type and direction converts
// them to or from f32.

// CHECK-LABEL: func.func @main(
// CHECK:         %[[BYTE:.*]] = arith.bitcast %arg0 : f8E4M3FN to i8
// CHECK:         %[[X:.*]] = call @unmess_float8_from_f8E4M3FN(%[[BYTE]]) : (i8) -> f32
// CHECK:         arith.extf %[[X]] : f32 to f64
// CHECK:         %[[N:.*]] = arith.sitofp %arg1 : i32 to f32
// CHECK:         %[[CODE:.*]] = call @unmess_float8_to_f8E5M2(%[[N]]) : (f32) -> i8
// CHECK:         arith.bitcast %[[CODE]] : i8 to f8E5M2
// CHECK:         arith.bitcast %arg0
// CHECK:         %[[FROM:.*]] = call @unmess_float8_from_f8E4M3FN
// CHECK:         call @unmess_float8_to_f8E5M2(%[[FROM]])
// CHECK:       func.func private @unmess_float8_from_f8E4M3FN(
// CHECK:       func.func private @unmess_float8_to_f8E5M2(
// CHECK-NOT:   func.func
func.func @main(%x: f8E4M3FN, %n: i32) -> (f64, f8E5M2, f8E5M2) {
  %0 = arith.extf %x : f8E4M3FN to f64
  %1 = arith.sitofp %n : i32 to f8E5M2
  %2 = arith.extf %x : f8E4M3FN to f32
  %3 = arith.truncf %2 : f32 to f8E5M2
  return %0, %1, %3 : f64, f8E5M2, f8E5M2
}
