// RUN: unmess-opt --pipeline linalg --print-after convert-torch-to-linalg --print-after linalg %s 2>&1 >/dev/null | filecheck %s
// RUN: not unmess-opt --pipeline linalg --print-after cse2 %s 2>&1 >/dev/null | filecheck %s --check-prefix UNKNOWN

// The IR is printed after a pass, and after the last step of a pipeline, which has both names.

// CHECK:      // After convert-torch-to-linalg
// CHECK:        func.func @main(%arg0: !torch.vtensor<[2],f32>)
// CHECK:          linalg.generic
// CHECK:      // After linalg-nan-order, linalg
// CHECK:        func.func @main(%arg0: tensor<2xf32>)

// UNKNOWN:      usage: no step 'cse2' has run
// UNKNOWN-NEXT:   hint: steps that have run: linalg-integer-programs, linalg-transposed-convolutions,
func.func @main(%x: !torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32> {
  %0 = torch.aten.relu %x : !torch.vtensor<[2],f32> -> !torch.vtensor<[2],f32>
  return %0 : !torch.vtensor<[2],f32>
}
