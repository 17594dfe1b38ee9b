// RUN: not unmess-opt --pipeline upstream %s 2>&1 | filecheck %s

// CHECK:      linalg: upstream MLIR has no torch.aten.relu, and no rewriting makes linalg of it
// CHECK-NEXT:   at: model.py:3
// CHECK-NEXT:   hint: `unmess portable` lists every such operation
// CHECK-NEXT:   repro:
func.func @main(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %0 = torch.aten.relu %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32> loc("model.py":3:0)
  return %0 : !torch.vtensor<[4],f32>
}
