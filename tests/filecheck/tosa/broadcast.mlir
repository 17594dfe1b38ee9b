// RUN: unmess-opt --pipeline tosa %s | filecheck %s

// Operands of an elementwise operation get equal ranks.

// CHECK-LABEL: func.func @main(%arg0: tensor<2x3xf32>, %arg1: tensor<3xf32>)
// CHECK:         %[[B:.*]] = tosa.reshape %arg1, {{.*}} -> tensor<1x3xf32>
// CHECK-NEXT:    tosa.add %arg0, %[[B]]
func.func @main(%x: !torch.vtensor<[2,3],f32>, %b: !torch.vtensor<[3],f32>) -> !torch.vtensor<[2,3],f32> {
  %one = torch.constant.int 1
  %0 = torch.aten.add.Tensor %x, %b, %one : !torch.vtensor<[2,3],f32>, !torch.vtensor<[3],f32>, !torch.int -> !torch.vtensor<[2,3],f32>
  return %0 : !torch.vtensor<[2,3],f32>
}
