// RUN: unmess-opt --pipeline torch --pipeline linalg %s | filecheck %s

// Dynamic sizes stay dynamic. If torch.export has excluded size 1, no broadcast is decided at
// run time.

// CHECK-LABEL: func.func @main(%arg0: tensor<?x4xf32>, %arg1: tensor<?x4xf32>) -> tensor<?x4xf32>
// CHECK:         linalg.generic
// CHECK-NOT:     arith.select
func.func @main(%x: !torch.vtensor<[?,4],f32>, %y: !torch.vtensor<[?,4],f32>) -> !torch.vtensor<[?,4],f32> attributes {torch.assume_strict_symbolic_shapes} {
  %int1 = torch.constant.int 1
  %0 = torch.aten.add.Tensor %x, %y, %int1 : !torch.vtensor<[?,4],f32>, !torch.vtensor<[?,4],f32>, !torch.int -> !torch.vtensor<[?,4],f32>
  return %0 : !torch.vtensor<[?,4],f32>
}
