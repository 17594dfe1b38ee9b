// RUN: unmess-opt --pipeline linalg %s | filecheck %s

// A branch on a bool becomes an `scf.if` with linalg in its regions.

// CHECK-LABEL: func.func @main(%arg0: tensor<2xf32>, %arg1: i1) -> tensor<2xf32>
// CHECK:         scf.if %arg1 -> (tensor<2xf32>)
// CHECK:           linalg.generic
// CHECK:         } else {
// CHECK-NEXT:      scf.yield %arg0
func.func @main(%x: !torch.vtensor<[2],f32>, %c: !torch.bool) -> !torch.vtensor<[2],f32> {
  %0 = torch.prim.If %c -> (!torch.vtensor<[2],f32>) {
    %1 = torch.aten.relu %x : !torch.vtensor<[2],f32> -> !torch.vtensor<[2],f32>
    torch.prim.If.yield %1 : !torch.vtensor<[2],f32>
  } else {
    torch.prim.If.yield %x : !torch.vtensor<[2],f32>
  }
  return %0 : !torch.vtensor<[2],f32>
}
