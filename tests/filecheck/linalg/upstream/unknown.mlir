// RUN: not unmess-opt --pipeline upstream %s 2>&1 | filecheck %s

// CHECK:      linalg: upstream MLIR does not have torch.aten.relu, and unmess cannot rewrite it to linalg
// CHECK-NEXT:   at: model.py:3
// CHECK-NEXT:   hint: run `unmess portable` to list all such operations
// CHECK-NEXT:   repro:
func.func @main(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %0 = torch.aten.relu %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32> loc("model.py":3:0)
  return %0 : !torch.vtensor<[4],f32>
}
