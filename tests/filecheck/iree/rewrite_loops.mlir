// RUN: unmess-opt --pipeline iree-rewrite-loops %s | filecheck %s

// A loop on the host passes its condition and its number of 32 bits as numbers of 64 bits. Branches
// replace the loop, because it carries a condition.
// CHECK-LABEL: func.func @numbers(
// CHECK:         %[[X:.*]] = arith.bitcast %arg1 : f32 to i32
// CHECK:         cf.br ^[[HEAD:bb.*]](%{{.*}}, %{{.*}}, %arg2 : i64, i64, tensor<?xf32>)
// CHECK:       ^[[HEAD]](%[[C:.*]]: i64, %[[N:.*]]: i64, %{{.*}}: tensor<?xf32>):
// CHECK:         %[[BITS:.*]] = arith.trunci %[[N]] : i64 to i32
// CHECK:         %[[NUMBER:.*]] = arith.bitcast %[[BITS]] : i32 to f32
// CHECK:         %[[MORE:.*]] = arith.trunci %[[C]] : i64 to i1
// CHECK:         cf.cond_br %[[MORE]]
// CHECK:         %[[NEW:.*]] = arith.addf %{{.*}}, %{{.*}} : f32
// CHECK:         arith.extsi %{{.*}} : i1 to i64
// CHECK:         arith.bitcast %[[NEW]] : f32 to i32
// CHECK:         cf.br ^[[HEAD]]
func.func @numbers(%go: i1, %start: f32, %x: tensor<?xf32>) -> (f32, tensor<?xf32>) {
  %0:2 = scf.while (%c = %go, %n = %start, %y = %x) : (i1, f32, tensor<?xf32>) -> (f32, tensor<?xf32>) {
    scf.condition(%c) %n, %y : f32, tensor<?xf32>
  } do {
  ^bb0(%n: f32, %y: tensor<?xf32>):
    %m = arith.addf %n, %n : f32
    %limit = arith.constant 100.0 : f32
    %c = arith.cmpf olt, %m, %limit : f32
    scf.yield %c, %m, %y : i1, f32, tensor<?xf32>
  }
  return %0#0, %0#1 : f32, tensor<?xf32>
}

// Conditions stay i1, and numbers inside of a kernel stay as they are.
// CHECK-LABEL: func.func @kept(
// CHECK:         %[[I:.*]] = scf.if %arg0 -> (i64) {
// CHECK:           %[[WIDE:.*]] = arith.extsi %arg1 : i32 to i64
// CHECK:           scf.yield %[[WIDE]] : i64
// CHECK:         arith.trunci %[[I]] : i64 to i32
// CHECK:         linalg.generic
// CHECK:           scf.if %{{.*}} -> (i32) {
func.func @kept(%c: i1, %i: i32, %x: tensor<4xi32>) -> (i32, tensor<4xi32>) {
  %zero = arith.constant 0 : i32
  %0 = scf.if %c -> (i32) {
    scf.yield %i : i32
  } else {
    scf.yield %zero : i32
  }
  %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%x : tensor<4xi32>) {
  ^bb0(%a: i32):
    %2 = arith.cmpi sgt, %a, %0 : i32
    %3 = scf.if %2 -> (i32) {
      scf.yield %a : i32
    } else {
      scf.yield %zero : i32
    }
    linalg.yield %3 : i32
  } -> tensor<4xi32>
  return %0, %1 : i32, tensor<4xi32>
}

// A tensor that a step updates has a use after the update if the step also reads it, or if it comes
// from outside of the loop. IREE then updates a copy.
// CHECK-LABEL: func.func @updates(
// CHECK:         scf.for {{.*}} iter_args(%[[READ:.*]] = %arg0, %[[ONLY:.*]] = %arg1, %{{.*}} = %arg1)
// CHECK:           tensor.insert_slice %arg3 into %[[READ]]
// CHECK-NEXT:      "util.optimization_barrier"(%[[READ]])
// CHECK-NEXT:      tensor.insert_slice %arg3 into %[[ONLY]]
// CHECK-NEXT:      tensor.insert_slice %arg3 into %arg2
// CHECK-NEXT:      "util.optimization_barrier"(%arg2)
// CHECK-NEXT:      scf.yield
func.func @updates(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>, %row: tensor<1xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %0:3 = scf.for %i = %c0 to %c9 step %c1 iter_args(%a = %x, %b = %y, %c = %y) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %1 = linalg.exp ins(%a : tensor<4xf32>) outs(%c : tensor<4xf32>) -> tensor<4xf32>
    %2 = tensor.insert_slice %row into %a[%i] [1] [1] : tensor<1xf32> into tensor<4xf32>
    %3 = tensor.insert_slice %row into %b[%i] [1] [1] : tensor<1xf32> into tensor<4xf32>
    %4 = tensor.insert_slice %row into %z[%i] [1] [1] : tensor<1xf32> into tensor<4xf32>
    scf.yield %2, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %0#0, %0#1, %0#2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
