// RUN: unmess-opt --pipeline torch %s | filecheck %s

// An in-place operator becomes the value-semantic operator and an assignment.

// CHECK-LABEL: func.func @main
// CHECK-NOT:     add_
// CHECK:         %[[SUM:.*]] = torch.aten.add.Tensor {{.*}} -> !torch.vtensor<[2],f32>
// CHECK:         torch.overwrite.tensor.contents
func.func @main(%x: !torch.vtensor<[2],f32>, %y: !torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32> {
  %one = torch.constant.int 1
  %0 = torch.copy.to_tensor %x : !torch.tensor<[2],f32>
  %1 = torch.copy.to_tensor %y : !torch.tensor<[2],f32>
  %2 = torch.aten.add_.Tensor %0, %1, %one : !torch.tensor<[2],f32>, !torch.tensor<[2],f32>, !torch.int -> !torch.tensor<[2],f32>
  %3 = torch.copy.to_vtensor %0 : !torch.vtensor<[2],f32>
  return %3 : !torch.vtensor<[2],f32>
}
