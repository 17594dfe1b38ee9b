// RUN: unmess-opt --pipeline iree-assertions --pipeline iree-assertion-lines %s | filecheck %s

// At the end, the host reads one number, the code of the first failed check. A condition that the
// host already has is asserted directly.
// CHECK-LABEL: func.func @flags(
// CHECK-NEXT:    cf.assert %arg2, "check failed: own [model.py:2]"
// CHECK-NOT:     cf.assert
// CHECK:         linalg.generic {{.*}} ins(%arg0, %arg1 : tensor<i32>, tensor<i32>)
// CHECK:         %[[CODE:.*]] = tensor.extract %{{.*}}[] : tensor<i32>
// CHECK:         %[[FIRST:.*]] = arith.cmpi ne, %[[CODE]], %c1{{.*}} : i32
// CHECK-NEXT:    cf.assert %[[FIRST]], "check failed: one [model.py:3]"
// CHECK:         %[[SECOND:.*]] = arith.cmpi ne, %[[CODE]], %c2{{.*}} : i32
// CHECK-NEXT:    cf.assert %[[SECOND]], "check failed: two [model.py:4]"
// CHECK-NEXT:    return
func.func @flags(%a: tensor<i32>, %b: tensor<i32>, %own: i1) {
  cf.assert %own, "own" loc("model.py":2:1)
  %zero = arith.constant 0 : i32
  %0 = tensor.extract %a[] : tensor<i32>
  %1 = arith.cmpi eq, %0, %zero : i32
  cf.assert %1, "one" loc("model.py":3:1)
  %2 = tensor.extract %b[] : tensor<i32>
  %3 = arith.cmpi eq, %2, %zero : i32
  cf.assert %3, "two" loc("model.py":4:1)
  cf.assert %1, "one again" loc("model.py":5:1)
  return
}
