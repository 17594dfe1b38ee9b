// RUN: unmess-opt --pipeline reference-annotate %s | filecheck %s

// Outlined functions are optimized and not inlined. Their callers are not optimized. Arguments that
// are known not to overlap are marked with noalias.

// CHECK:       llvm.func @unmess_fail(i64, i64) attributes {passthrough = ["cold", "noreturn"]}
// CHECK:       llvm.func @unmess_allocate(i64, i64) -> (!llvm.ptr {llvm.noalias})
// CHECK:       llvm.func @main(%arg0: !llvm.ptr) attributes {no_inline, optimize_none}
// CHECK:       llvm.func @alone(%arg0: !llvm.ptr {llvm.noalias}, %arg1: i64) attributes {no_inline}
// CHECK:       llvm.func @aliased(%arg0: !llvm.ptr) attributes {no_inline}
llvm.func @unmess_fail(i64, i64)
llvm.func @unmess_allocate(i64, i64) -> !llvm.ptr
llvm.func @main(%x: !llvm.ptr) {
  llvm.return
}
llvm.func @alone(%x: !llvm.ptr, %n: i64) attributes {unmess.outlined, unmess.no_alias} {
  llvm.return
}
llvm.func @aliased(%x: !llvm.ptr) attributes {unmess.outlined} {
  llvm.return
}
