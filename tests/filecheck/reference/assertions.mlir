// RUN: unmess-opt --pipeline reference %s | filecheck %s

// A failed check calls back and returns; nothing aborts the process.

// CHECK-LABEL: llvm.func @main(
// CHECK-NOT:     @abort()
// CHECK-NOT:     llvm.unreachable
// CHECK:         llvm.call @_mlir_ciface_unmess_check_failed(
// CHECK-NEXT:    %[[ZERO:.*]] = llvm.mlir.zero
// CHECK-NEXT:    llvm.return %[[ZERO]]
func.func @main(%x: tensor<4xf32>, %ok: i1) -> tensor<4xf32> {
  cf.assert %ok, "a message"
  return %x : tensor<4xf32>
}
