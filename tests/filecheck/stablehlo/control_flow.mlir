// RUN: unmess-opt --pipeline control-flow-to-scf %s | filecheck %s

// Conditions are extracted from their tensors. A `stablehlo.case` becomes a chain of `scf.if`. An
// index without a branch selects the last branch.

// CHECK-LABEL: func.func public @main
// CHECK:         scf.while
// CHECK:           %[[MORE:.*]] = tensor.extract
// CHECK:           scf.condition(%[[MORE]])
// CHECK:         } do {
// CHECK:           scf.yield
// CHECK:         %[[N:.*]] = tensor.extract
// CHECK:         arith.cmpi eq, %[[N]]
// CHECK:         scf.if
// CHECK:           stablehlo.negate
// CHECK:         } else {
// CHECK-NEXT:      stablehlo.abs
// CHECK-NOT:     stablehlo.case
func.func public @main(%i: tensor<i32>) -> tensor<i32> {
  %end = stablehlo.constant dense<5> : tensor<i32>
  %0 = stablehlo.while(%k = %i) : tensor<i32>
  cond {
    %1 = stablehlo.compare LT, %k, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.add %k, %k : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }
  %2 = "stablehlo.case"(%0) ({
    %3 = stablehlo.negate %i : tensor<i32>
    stablehlo.return %3 : tensor<i32>
  }, {
    %3 = stablehlo.abs %i : tensor<i32>
    stablehlo.return %3 : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  return %2 : tensor<i32>
}
