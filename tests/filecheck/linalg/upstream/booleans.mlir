// RUN: unmess-opt --pipeline upstream-booleans %s | mlir-opt | filecheck %s

#id = affine_map<(d0) -> (d0)>

// Tensors of booleans are stored as bytes. Computation in bodies uses i1.
// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[M:.*]]: tensor<4xi8>, %[[I:.*]]: index) -> (tensor<4xi8>, i1)
// CHECK:         %[[C:.*]] = arith.constant dense<[1, 0, 1, 1]> : tensor<4xi8>
// CHECK:         %[[R:.*]] = linalg.generic {{.*}} ins(%[[M]], %[[C]] : tensor<4xi8>, tensor<4xi8>) outs(%{{.*}} : tensor<4xi8>)
// CHECK-NEXT:    ^bb0(%[[A:.*]]: i8, %[[B:.*]]: i8, %{{.*}}: i8):
// CHECK-DAG:       %[[ABIT:.*]] = arith.cmpi ne, %[[A]], %{{.*}} : i8
// CHECK-DAG:       %[[BBIT:.*]] = arith.cmpi ne, %[[B]], %{{.*}} : i8
// CHECK:           %[[AND:.*]] = arith.andi %[[ABIT]], %[[BBIT]] : i1
// CHECK-NEXT:      %[[BYTE:.*]] = arith.extui %[[AND]] : i1 to i8
// CHECK-NEXT:      linalg.yield %[[BYTE]] : i8
// CHECK:         %[[GOT:.*]] = tensor.extract %[[R]][%[[I]]] : tensor<4xi8>
// CHECK:         %[[BIT:.*]] = arith.cmpi ne, %[[GOT]], %{{.*}} : i8
// CHECK:         return %[[R]], %[[BIT]]
func.func @main(%m: tensor<4xi1>, %i: index) -> (tensor<4xi1>, i1) {
  %c = arith.constant dense<[true, false, true, true]> : tensor<4xi1>
  %e = tensor.empty() : tensor<4xi1>
  %0 = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%m, %c : tensor<4xi1>, tensor<4xi1>) outs(%e : tensor<4xi1>) {
  ^bb0(%a: i1, %b: i1, %out: i1):
    %1 = arith.andi %a, %b : i1
    linalg.yield %1 : i1
  } -> tensor<4xi1>
  %2 = tensor.extract %0[%i] : tensor<4xi1>
  return %0, %2 : tensor<4xi1>, i1
}

// Fills, padding and results of branches are bytes. The condition of a branch is i1.
// CHECK-LABEL: func.func @passes
// CHECK:         %[[BYTE:.*]] = arith.extui %[[BIT:.*]] : i1 to i8
// CHECK-NEXT:    linalg.fill ins(%[[BYTE]] : i8) outs(%{{.*}} : tensor<2xi8>) -> tensor<2xi8>
// CHECK:         tensor.pad
// CHECK:           tensor.yield %{{.*}} : i8
// CHECK:         scf.if %[[BIT]] -> (tensor<4xi8>)
func.func @passes(%b: i1, %x: tensor<4xi1>) -> tensor<4xi1> {
  %e = tensor.empty() : tensor<2xi1>
  %0 = linalg.fill ins(%b : i1) outs(%e : tensor<2xi1>) -> tensor<2xi1>
  %1 = tensor.pad %0 low[1] high[1] {
  ^bb0(%i: index):
    tensor.yield %b : i1
  } : tensor<2xi1> to tensor<4xi1>
  %2 = scf.if %b -> tensor<4xi1> {
    scf.yield %1 : tensor<4xi1>
  } else {
    scf.yield %x : tensor<4xi1>
  }
  return %2 : tensor<4xi1>
}
