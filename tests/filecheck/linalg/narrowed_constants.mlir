// RUN: unmess-opt --pipeline linalg-narrowed-constants %s | filecheck %s
// RUN: unmess-opt --pipeline linalg %s | filecheck %s --check-prefix LINALG

// 0.1 is rounded to the nearest number of the type. The constant in f64 has no other use.
// CHECK-LABEL: func.func @numbers
// CHECK-NOT:     f64
// CHECK:         arith.constant 1.000000e-01 : f32
// CHECK:         arith.constant 1.000980e-01 : bf16
// CHECK-NOT:     arith.truncf
func.func @numbers() -> (f32, bf16) {
  %0 = arith.constant 0.1 : f64
  %1 = arith.truncf %0 : f64 to f32
  %2 = arith.truncf %0 : f64 to bf16
  return %1, %2 : f32, bf16
}

// Numbers that are not constant, and constants with other uses, stay.
// CHECK-LABEL: func.func @others
// CHECK:         %[[C:.*]] = arith.constant 1.000000e-01 : f64
// CHECK:         arith.truncf %arg0 : f64 to f32
// CHECK:         arith.constant 1.000000e-01 : f32
// CHECK:         arith.addf %arg0, %[[C]] : f64
func.func @others(%x: f64) -> (f32, f32, f64) {
  %0 = arith.constant 0.1 : f64
  %1 = arith.truncf %x : f64 to f32
  %2 = arith.truncf %0 : f64 to f32
  %3 = arith.addf %x, %0 : f64
  return %1, %2, %3 : f32, f32, f64
}

// LINALG-LABEL: func.func @of_torch
// LINALG-NOT:     f64
// LINALG:         return
func.func @of_torch(%x: !torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32> {
  %0 = torch.constant.float 1.000000e-01
  %1 = torch.aten.mul.Scalar %x, %0 : !torch.vtensor<[2],f32>, !torch.float -> !torch.vtensor<[2],f32>
  return %1 : !torch.vtensor<[2],f32>
}
