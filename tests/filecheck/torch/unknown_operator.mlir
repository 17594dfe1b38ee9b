// RUN: not unmess-opt --pipeline torch %s 2>&1 | filecheck %s

// The error for an operator without a lowering has its name, the user's line and a reproducer.

// CHECK:      torch: no lowering for my.op
// CHECK-SAME: (pass func.func(torch-reduce-op-variants
// CHECK-NEXT:   at: user.py:3
// CHECK-NEXT:   hint:
// CHECK-NEXT:   repro: {{.*}}module-torch{{.*}}.mlir
// CHECK-NOT:  Traceback
func.func @main(%x: !torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32> {
  %0 = torch.operator "torch.my.op"(%x) : (!torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32> loc("user.py":3:0)
  return %0 : !torch.vtensor<[2],f32>
}
