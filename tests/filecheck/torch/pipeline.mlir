// RUN: unmess-opt --pipeline torch %s | filecheck %s

// Composite operators are decomposed. Attributes that bind arguments to names stay.

// CHECK-LABEL: func.func @main(
// CHECK-SAME:    {unmess.input = "x"}
// CHECK-SAME:    {unmess.weight = "w"}
// CHECK-NOT:     torch.aten.linear
// CHECK:         torch.aten.transpose.int
// CHECK:         torch.aten.{{mm|matmul}}
func.func @main(%x: !torch.vtensor<[2,4],f32> {unmess.input = "x"}, %w: !torch.vtensor<[3,4],f32> {unmess.weight = "w"}) -> !torch.vtensor<[2,3],f32> {
  %none = torch.constant.none
  %0 = torch.aten.linear %x, %w, %none : !torch.vtensor<[2,4],f32>, !torch.vtensor<[3,4],f32>, !torch.none -> !torch.vtensor<[2,3],f32>
  return %0 : !torch.vtensor<[2,3],f32>
}
