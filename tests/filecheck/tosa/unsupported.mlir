// RUN: not unmess-opt --pipeline tosa %s 2>&1 | filecheck %s

// The error names only the operator without a lowering, not the one that is rolled back with it.

// CHECK:      tosa: no lowering for aten.topk (pass func.func(convert-torch-to-tosa
// CHECK-NEXT:   at: user.py:3
// CHECK-NEXT:   hint: {{.*}}TOSA
// CHECK-NEXT:   repro: {{.*}}module-tosa{{.*}}.mlir
func.func @main(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[2],f32> {
  %k = torch.constant.int 2
  %dim = torch.constant.int 0
  %true = torch.constant.bool true
  %false = torch.constant.bool false
  %r = torch.aten.relu %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32> loc("user.py":2:0)
  %values, %indices = torch.aten.topk %r, %k, %dim, %true, %false : !torch.vtensor<[4],f32>, !torch.int, !torch.int, !torch.bool, !torch.bool -> !torch.vtensor<[2],f32>, !torch.vtensor<[2],si64> loc("user.py":3:0)
  %s = torch.aten.sin %values : !torch.vtensor<[2],f32> -> !torch.vtensor<[2],f32> loc("user.py":4:0)
  return %s : !torch.vtensor<[2],f32>
}
