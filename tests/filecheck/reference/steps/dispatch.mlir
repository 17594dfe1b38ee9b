// RUN: unmess-opt --pipeline reference-dispatch %s | filecheck %s

// The call of a task passes its operands, in memory, and the number of parts to the runtime. The
// memory is allocated once, outside of the loop with the call.

// CHECK-LABEL: llvm.func @main(
// CHECK:         %[[ROOM:.*]] = llvm.alloca {{.*}} x !llvm.struct<(ptr, i64)>
// CHECK:         llvm.br ^bb1
// CHECK:       ^bb1:
// CHECK-NOT:     llvm.alloca
// CHECK:         llvm.store %arg0, %{{.*}} : !llvm.ptr, !llvm.ptr
// CHECK:         llvm.store %arg1, %{{.*}} : i64, !llvm.ptr
// CHECK:         %[[TASK:.*]] = llvm.mlir.addressof @task_0_part
// CHECK:         llvm.call @unmess_do_parts(%[[TASK]], %[[ROOM]], %{{.*}})
// CHECK-NOT:     llvm.call @task_0
// CHECK-LABEL: llvm.func @task_0(
// CHECK-NOT:     unmess.task
// CHECK-LABEL: llvm.func internal @task_0_part(
// CHECK:         llvm.call @task_0(%{{.*}}, %{{.*}}, %{{.*}}) : (i64, !llvm.ptr, i64) -> ()
llvm.func @main(%x: !llvm.ptr, %n: i64) {
  %parts = llvm.mlir.constant(2 : i64) : i64
  llvm.br ^bb1
^bb1:
  llvm.call @task_0(%parts, %x, %n) : (i64, !llvm.ptr, i64) -> ()
  llvm.br ^bb1
}
llvm.func @task_0(%part: i64, %x: !llvm.ptr, %n: i64) attributes {unmess.task} {
  llvm.return
}
