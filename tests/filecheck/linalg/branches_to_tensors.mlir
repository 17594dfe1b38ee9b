// RUN: unmess-opt --pipeline linalg %s | filecheck %s

// Branches that only choose a tensor stay branches.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[X:.*]]: tensor<3xf32>, %[[Y:.*]]: tensor<3xf32>, %[[FLAG:.*]]: tensor<i1>
// CHECK:         %[[C:.*]] = tensor.extract %[[FLAG]]
// CHECK:         %[[R:.*]] = scf.if %[[C]] -> (tensor<3xf32>) {
// CHECK-NEXT:      scf.yield %[[X]]
// CHECK-NEXT:    } else {
// CHECK-NEXT:      scf.yield %[[Y]]
// CHECK:         return %[[R]]
func.func @main(%x: !torch.vtensor<[3],f32>, %y: !torch.vtensor<[3],f32>, %flag: !torch.vtensor<[],i1>) -> !torch.vtensor<[3],f32> {
  %c = torch.aten.Bool.Tensor %flag : !torch.vtensor<[],i1> -> !torch.bool
  %r = torch.prim.If %c -> (!torch.vtensor<[3],f32>) {
    torch.prim.If.yield %x : !torch.vtensor<[3],f32>
  } else {
    torch.prim.If.yield %y : !torch.vtensor<[3],f32>
  }
  return %r : !torch.vtensor<[3],f32>
}
