// RUN: unmess-opt --pipeline torch %s | filecheck %s

// Functions of a higher-order operator are inlined.

// CHECK-LABEL: func.func @main
// CHECK-NOT:     call
// CHECK:         torch.aten.relu
// CHECK-NOT:   func.func
func.func private @body(%a: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %0 = torch.aten.relu %a : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}
func.func @main(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %0 = call @body(%x) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}
