// RUN: unmess-opt --pipeline linalg-tensor-branches %s | filecheck %s

// A choice of one of two tensors is a branch. A choice of numbers stays.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[FLAG:.*]]: i1, %[[X:.*]]: tensor<?xf32>, %[[Y:.*]]: tensor<?xf32>
// CHECK:         %[[CHOSEN:.*]] = scf.if %[[FLAG]] -> (tensor<?xf32>) {
// CHECK-NEXT:      scf.yield %[[X]]
// CHECK-NEXT:    } else {
// CHECK-NEXT:      scf.yield %[[Y]]
// CHECK:         %[[NUMBER:.*]] = arith.select %[[FLAG]], %{{.*}}, %{{.*}} : f32
// CHECK:         return %[[CHOSEN]], %[[NUMBER]]
func.func @main(%flag: i1, %x: tensor<?xf32>, %y: tensor<?xf32>, %a: f32, %b: f32) -> (tensor<?xf32>, f32) {
  %0 = arith.select %flag, %x, %y : tensor<?xf32>
  %1 = arith.select %flag, %a, %b : f32
  return %0, %1 : tensor<?xf32>, f32
}
