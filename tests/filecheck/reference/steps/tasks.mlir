// RUN: unmess-opt --pipeline reference-split --pipeline reference-outline --pipeline reference-outline-tasks %s | filecheck %s

// Both operations share a task, which computes one part. Until the calls are dispatched to threads,
// the first argument is the number of parts.

#id = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @main(
// CHECK:         call @task_0(%c2{{.*}}, %arg0)
// CHECK:         call @task_0(%c2{{.*}}, %arg1)
// CHECK:       func.func private @task_0(%[[PART:.*]]: index, %[[X:.*]]: memref<512x512xf32>) attributes {unmess.outlined, unmess.task}
// CHECK:         %[[END:.*]] = arith.addi %[[PART]], %c1
// CHECK:         scf.for %{{.*}} = %[[PART]] to %[[END]]
// CHECK:           func.call @linalg_generic_0(
func.func @main(%x: memref<512x512xf32>, %y: memref<512x512xf32>) {
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%x : memref<512x512xf32>) {
  ^bb0(%o: f32):
    %0 = arith.addf %o, %o : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%y : memref<512x512xf32>) {
  ^bb0(%o: f32):
    %0 = arith.addf %o, %o : f32
    linalg.yield %0 : f32
  }
  return
}
