// RUN: not unmess check %s --on reference --input 2x3xf32 2>&1 | filecheck %s
// RUN: unmess run %s --input 2x3xf32 --repeat 0 | filecheck %s --check-prefix RESULT
// RUN: not unmess run %s 2>&1 | filecheck %s --check-prefix NO-INPUT

// IR that unmess has not written is called by its types. There is no eager model to compare with.

// CHECK:     has no recorded result of eager PyTorch, so there is nothing to compare with
// CHECK:     hint:
// CHECK-NOT: Traceback
// RESULT:    result
// RESULT:    float32
// NO-INPUT:  source: {{.*}}check_ir_file.mlir has no example inputs for double
func.func @double(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {
  %0 = tosa.add %x, %x : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<?x3xf32>
  return %0 : tensor<?x3xf32>
}
