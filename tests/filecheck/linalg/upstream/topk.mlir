// RUN: unmess-opt --pipeline upstream %s | mlir-opt | filecheck %s

// Each element is inserted into the best so far. Of equal elements, the one with lower index wins.
// CHECK-LABEL: func.func @main
// CHECK:         scf.for %[[ROW:.*]] = %c0 to %c3
// CHECK:           scf.for %[[PLACE:.*]] = %c0 to %c7
// CHECK:             scf.for %[[RANK:.*]] = %c0 to %c2
// CHECK:               %[[KNOWN:.*]] = tensor.extract %{{.*}}[%[[ROW]], %[[RANK]]] : tensor<3x2xf32>
// CHECK:               %[[BETTER:.*]] = arith.cmpf olt, %[[VALUE:.*]], %[[KNOWN]]
// CHECK-NEXT:          %[[WORSE:.*]] = arith.cmpf olt, %[[KNOWN]], %[[VALUE]]
// CHECK-NEXT:          %[[EQUAL:.*]] = arith.cmpi eq, %[[BETTER]], %[[WORSE]]
// CHECK-NEXT:          %[[EARLIER:.*]] = arith.cmpi slt
// CHECK-NEXT:          %[[TIE:.*]] = arith.andi %[[EQUAL]], %[[EARLIER]]
// CHECK-NEXT:          arith.ori %[[BETTER]], %[[TIE]]
func.func @main(%x: tensor<3x7xf32>, %v: tensor<3x2xf32>, %i: tensor<3x2xi32>) -> (tensor<3x2xf32>, tensor<3x2xi32>) {
  %0:2 = tm_tensor.topk dimension(1) ins(%x : tensor<3x7xf32>) outs(%v, %i : tensor<3x2xf32>, tensor<3x2xi32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.cmpf olt, %a, %b : f32
    tm_tensor.yield %1 : i1
  } -> tensor<3x2xf32>, tensor<3x2xi32>
  return %0#0, %0#1 : tensor<3x2xf32>, tensor<3x2xi32>
}
