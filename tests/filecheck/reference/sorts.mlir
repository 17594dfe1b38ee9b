// RUN: unmess-opt --pipeline reference %s --print-after reference-sorts 2>&1 >/dev/null | filecheck %s

// A sort becomes merge loops before bufferization, so that it needs memory for one row only.
// CHECK:     After reference-sorts
// CHECK:     scf.for
// CHECK:     tensor.insert
// CHECK-NOT: tm_tensor.sort
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = tm_tensor.sort dimension(0) outs(%x : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %1 : i1
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// Threads share the rows of a large sort, along the axis with the largest number of equal parts. Each
// part has its own temporaries.
// CHECK-LABEL: func.func @shared
// CHECK:         scf.forall (%[[PART:.*]]) in (30) shared_outs(%[[ALL:.*]] = %{{.*}})
// CHECK:           %[[FIRST:.*]] = arith.muli %[[PART]]
// CHECK:           %[[ROWS:.*]] = tensor.extract_slice %[[ALL]][0, %[[FIRST]], 0] [4, 2, 512] [1, 1, 1]
// CHECK:           tensor.empty() : tensor<512xf32>
// CHECK:           scf.for
// CHECK:           scf.forall.in_parallel
// CHECK-NEXT:        tensor.parallel_insert_slice %{{.*}} into %[[ALL]][0, %[[FIRST]], 0] [4, 2, 512] [1, 1, 1]
func.func @shared(%x: tensor<4x60x512xf32>) -> tensor<4x60x512xf32> {
  %0 = tm_tensor.sort dimension(2) outs(%x : tensor<4x60x512xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %1 : i1
  } -> tensor<4x60x512xf32>
  return %0 : tensor<4x60x512xf32>
}

// Each part of a selection reads its rows of the operand, and returns three elements of each.
// CHECK-LABEL: func.func @selected
// CHECK-SAME:    %[[X:.*]]: tensor<60x2000xf32>
// CHECK:         scf.forall (%[[PART:.*]]) in (30) shared_outs(%[[ALL:.*]] = %{{.*}}) -> (tensor<60x3xf32>)
// CHECK:           scf.for %[[ROW:[a-z0-9]+]] =
// CHECK:             %[[PLACE:.*]] = arith.addi %{{.*}}, %[[ROW]]
// CHECK:             tensor.extract %[[X]][%[[PLACE]],
// CHECK:             scf.if
func.func @selected(%x: tensor<60x2000xf32>) -> tensor<60x3xf32> {
  %0 = tm_tensor.sort dimension(1) outs(%x : tensor<60x2000xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %1 : i1
  } -> tensor<60x2000xf32>
  %2 = tensor.extract_slice %0[0, 0] [60, 3] [1, 1] : tensor<60x2000xf32> to tensor<60x3xf32>
  return %2 : tensor<60x3xf32>
}

// One thread sorts a small tensor, and rows that have no equal parts.
// CHECK-LABEL: func.func @small
// CHECK-NOT:     scf.forall
// CHECK:         return
func.func @small(%x: tensor<4x60xf32>, %y: tensor<37x512xf32>) -> (tensor<4x60xf32>, tensor<37x512xf32>) {
  %0 = tm_tensor.sort dimension(1) outs(%x : tensor<4x60xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %1 : i1
  } -> tensor<4x60xf32>
  %1 = tm_tensor.sort dimension(1) outs(%y : tensor<37x512xf32>) {
  ^bb0(%a: f32, %b: f32):
    %2 = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %2 : i1
  } -> tensor<37x512xf32>
  return %0, %1 : tensor<4x60xf32>, tensor<37x512xf32>
}
