// RUN: unmess-opt --pipeline torch %s | filecheck %s

// A list of slices that is unpacked immediately is replaced by the slices.

// CHECK-LABEL: func.func @main
// CHECK-NOT:     torch.aten.unbind.int
// CHECK-NOT:     ListUnpack
// CHECK:         torch.aten.select.int
// CHECK-NEXT:    torch.aten.select.int
// CHECK-NEXT:    torch.aten.add.Tensor
func.func @main(%x: !torch.vtensor<[2,3],f32>) -> !torch.vtensor<[3],f32> {
  %dim = torch.constant.int 0
  %one = torch.constant.int 1
  %0 = torch.aten.unbind.int %x, %dim : !torch.vtensor<[2,3],f32>, !torch.int -> !torch.list<vtensor<[3],f32>>
  %1:2 = torch.prim.ListUnpack %0 : !torch.list<vtensor<[3],f32>> -> !torch.vtensor<[3],f32>, !torch.vtensor<[3],f32>
  %2 = torch.aten.add.Tensor %1#0, %1#1, %one : !torch.vtensor<[3],f32>, !torch.vtensor<[3],f32>, !torch.int -> !torch.vtensor<[3],f32>
  return %2 : !torch.vtensor<[3],f32>
}
