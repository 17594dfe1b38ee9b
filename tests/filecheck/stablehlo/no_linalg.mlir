// RUN: not unmess-opt --pipeline stablehlo-to-linalg %s 2>&1 | filecheck %s

// The error for an unsupported operation in IR from other tools has its line and a reproducer.

// CHECK:      linalg: the custom call @somebodys needs the framework that wrote the file
// CHECK-NEXT:   at: user.py:4
// CHECK-NEXT:   hint: export the model without custom calls
// CHECK-NEXT:   repro: {{.*}}module-stablehlo-to-linalg{{.*}}.mlir
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @somebodys(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("user.py":4:0)
  return %0 : tensor<4xf32>
}
