// RUN: unmess-opt --pipeline reference %s | filecheck %s

// A failed check calls the runtime, which does not return. Nothing aborts the process.

// CHECK:         llvm.func @unmess_fail(i64, i64) attributes {passthrough = ["cold", "noreturn"]
// Only this function has a branch: branches in long functions take quadratic time to lower.
// CHECK-LABEL: llvm.func @unmess_check(
// CHECK:         llvm.cond_br
// CHECK:         llvm.call @unmess_fail(
// CHECK-LABEL: llvm.func @main(
// CHECK-NOT:     @abort()
// CHECK-NOT:     llvm.cond_br
// CHECK:         llvm.call @unmess_check(
// CHECK-NOT:     llvm.cond_br
// CHECK:         llvm.call @unmess_check(
// CHECK-NOT:     llvm.cond_br
// CHECK:         llvm.return
func.func @main(%x: tensor<4xf32>, %ok: i1, %also: i1) -> tensor<4xf32> {
  cf.assert %ok, "a message"
  cf.assert %also, "another message"
  return %x : tensor<4xf32>
}
