// RUN: unmess-opt --pipeline stablehlo %s | filecheck %s

// A size that is computed from a constant becomes static, up to the result of the function.

// CHECK-LABEL: func.func @main(%arg0: tensor<1x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT:    stablehlo.broadcast_in_dim
// CHECK-NEXT:    stablehlo.tanh %{{.*}} : tensor<3x4xf32>
// CHECK-NEXT:    return %{{.*}} : tensor<3x4xf32>
func.func @main(%x: !torch.vtensor<[1,4],f32>) -> !torch.vtensor<[?,4],f32> {
  %int3 = torch.constant.int 3
  %int4 = torch.constant.int 4
  %s = torch.prim.ListConstruct %int3, %int4 : (!torch.int, !torch.int) -> !torch.list<int>
  %1 = torch.aten.broadcast_to %x, %s : !torch.vtensor<[1,4],f32>, !torch.list<int> -> !torch.vtensor<[?,4],f32>
  %2 = torch.aten.tanh %1 : !torch.vtensor<[?,4],f32> -> !torch.vtensor<[?,4],f32>
  return %2 : !torch.vtensor<[?,4],f32>
}
