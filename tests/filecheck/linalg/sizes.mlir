// RUN: unmess-opt --pipeline linalg %s | filecheck %s

// All intermediate results have the size of the argument, which is read once.

// CHECK-LABEL: func.func @main
// CHECK:         tensor.dim %arg0
// CHECK-NEXT:    tensor.empty
// CHECK-NOT:     tensor.{{dim|empty}}
// CHECK:         return
func.func @main(%x: !torch.vtensor<[?,4],f32>, %y: !torch.vtensor<[?,4],f32>) -> !torch.vtensor<[?,4],f32> attributes {torch.assume_strict_symbolic_shapes} {
  %one = torch.constant.int 1
  %0 = torch.aten.relu %x : !torch.vtensor<[?,4],f32> -> !torch.vtensor<[?,4],f32>
  %1 = torch.aten.tanh %0 : !torch.vtensor<[?,4],f32> -> !torch.vtensor<[?,4],f32>
  return %1 : !torch.vtensor<[?,4],f32>
}
