// RUN: not unmess-opt --pipeline tosa %s 2>&1 | filecheck %s

// torch-mlir would lower the random numbers to a constant.

// CHECK:      tosa: aten.uniform draws random numbers, which TOSA does not support
// CHECK-NEXT:   at: net.py:5
// CHECK-NEXT:   hint: pass the numbers as an input
// CHECK-NEXT:   repro: {{.*}}module-tosa{{.*}}.mlir
func.func @main(%x: !torch.vtensor<[3],f32>) -> !torch.vtensor<[3],f32> {
  %low = torch.constant.float 0.0
  %high = torch.constant.float 1.0
  %none = torch.constant.none
  %r = torch.aten.uniform %x, %low, %high, %none : !torch.vtensor<[3],f32>, !torch.float, !torch.float, !torch.none -> !torch.vtensor<[3],f32> loc("net.py":5:0)
  return %r : !torch.vtensor<[3],f32>
}
