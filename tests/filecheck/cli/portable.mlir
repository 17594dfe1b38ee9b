// RUN: not unmess portable %s | filecheck %s
// RUN: unmess-opt --pipeline upstream %s > %t.mlir
// RUN: unmess portable %t.mlir | filecheck %s --check-prefix=AFTER

// Operations that upstream lacks, with count and first location, and the pipeline to remove them.
// CHECK:      attribute name unmess.input, on 1 operation, accepted and kept
// CHECK-NEXT:   at:
// CHECK-NEXT: operation tm_tensor.scan, 2 times
// CHECK-NEXT:   at: model.py:5
// CHECK-NEXT:   removable: yes
// CHECK-NEXT: operation tm_tensor.yield, 2 times
// CHECK-NEXT:   at:
// CHECK-NEXT:   removable: yes
// CHECK-NEXT: {{.*}}portable.mlir: xtc-mlir-python-bindings 22.{{.*}} rejects it
// CHECK-NEXT:   cause: Dialect `tm_tensor' not found for custom op 'tm_tensor.scan'
// CHECK-NEXT:   hint: {{.*}} accepts the result of `unmess-opt --pipeline upstream`

// AFTER:      attribute name unmess.input, on 1 operation, accepted and kept
// AFTER:      parses and verifies it

func.func @main(%x: tensor<5xf32> {unmess.input = "x"}, %a: tensor<f32>) -> tensor<5xf32> {
  %0:2 = tm_tensor.scan dimension(0) inclusive(true) ins(%x : tensor<5xf32>) outs(%x, %a : tensor<5xf32>, tensor<f32>) {
  ^bb0(%sum: f32, %in: f32):
    %1 = arith.addf %sum, %in : f32
    tm_tensor.yield %1 : f32
  } -> tensor<5xf32>, tensor<f32> loc("model.py":5:0)
  %2:2 = tm_tensor.scan dimension(0) inclusive(true) ins(%0#0 : tensor<5xf32>) outs(%x, %a : tensor<5xf32>, tensor<f32>) {
  ^bb0(%sum: f32, %in: f32):
    %3 = arith.addf %sum, %in : f32
    tm_tensor.yield %3 : f32
  } -> tensor<5xf32>, tensor<f32> loc("model.py":6:0)
  return %2#0 : tensor<5xf32>
}
