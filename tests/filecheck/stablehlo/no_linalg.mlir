// RUN: not unmess-opt --pipeline stablehlo-to-linalg %s 2>&1 | filecheck %s

// IR of somebody else's may hold what cannot be run here: the operation, its line, a reproducer.

// CHECK:      linalg: the custom call @somebodys is code of the framework that wrote the file
// CHECK-NEXT:   at: user.py:4
// CHECK-NEXT:   hint: write the model without it
// CHECK-NEXT:   repro: {{.*}}module-stablehlo-to-linalg{{.*}}.mlir
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.custom_call @somebodys(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("user.py":4:0)
  return %0 : tensor<4xf32>
}
