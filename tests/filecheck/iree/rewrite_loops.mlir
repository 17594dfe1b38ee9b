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
