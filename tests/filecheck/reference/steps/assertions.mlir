// RUN: unmess-opt --pipeline reference %s | filecheck %s

// A failed check calls the runtime, which does not return. Nothing aborts the process.

// CHECK:         llvm.func @unmess_fail(i64, i64) attributes {passthrough = ["cold", "noreturn"]
// CHECK-LABEL: llvm.func @main(
// CHECK-NOT:     @abort()
// CHECK:         llvm.call @unmess_fail(
func.func @main(%x: tensor<4xf32>, %ok: i1) -> tensor<4xf32> {
  cf.assert %ok, "a message"
  return %x : tensor<4xf32>
}
