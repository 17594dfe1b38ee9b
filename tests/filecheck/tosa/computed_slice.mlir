// RUN: not unmess-opt --pipeline tosa %s 2>&1 | filecheck %s

// torch-mlir's lowering ends the process.
// CHECK: tosa: no lowering for aten.slice.Tensor to a computed index
// CHECK-NEXT: at: {{.*}}:10
func.func @main(%x: !torch.vtensor<[8,4],f32>, %n: !torch.vtensor<[],si64>) -> !torch.vtensor<[?,4],f32> {
  %0 = torch.constant.int 0
  %1 = torch.constant.int 1
  %end = torch.aten.Int.Tensor %n : !torch.vtensor<[],si64> -> !torch.int
  %r = torch.aten.slice.Tensor %x, %0, %0, %end, %1 : !torch.vtensor<[8,4],f32>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[?,4],f32>
  return %r : !torch.vtensor<[?,4],f32>
}
