// RUN: unmess-opt --pipeline check-divisions %s | filecheck %s

// The check of all divisors comes first. In the body, no division by 0 and no overflow can happen.
// CHECK-LABEL: func.func @quotients
// CHECK:         %[[FLAG:.*]] = linalg.generic {{.*}} iterator_types = ["reduction"]
// CHECK:         cf.assert %{{.*}}, "ZeroDivisionError"
// CHECK:         linalg.generic
// CHECK:         ^bb0(%[[A:.*]]: i64, %[[B:.*]]: i64, %{{.*}}: i64):
// CHECK:           %[[NUMBER:.*]] = arith.cmpi ne, %[[B]], %{{.*}} : i64
// CHECK:           %[[SAFE:.*]] = arith.select %[[NUMBER]], %[[B]], %{{.*}} : i64
// CHECK:           %[[BOTH:.*]] = arith.andi
// CHECK:           %[[DIVISOR:.*]] = arith.select %[[BOTH]], %{{.*}}, %[[SAFE]] : i64
// CHECK-NOT:       cf.assert
// CHECK:           arith.divsi %[[A]], %[[DIVISOR]] : i64
func.func @quotients(%a: tensor<4xi64>, %b: tensor<4xi64>) -> tensor<4xi64> {
  %empty = tensor.empty() : tensor<4xi64>
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%a, %b : tensor<4xi64>, tensor<4xi64>) outs(%empty : tensor<4xi64>) {
  ^bb0(%x: i64, %y: i64, %out: i64):
    %q = arith.divsi %x, %y : i64
    linalg.yield %q : i64
  } -> tensor<4xi64>
  return %0 : tensor<4xi64>
}

// An unsigned remainder on the host is checked. A constant divisor needs no check.
// CHECK-LABEL: func.func @numbers
// CHECK:         cf.assert %{{.*}}, "ZeroDivisionError"
// CHECK-NOT:     cf.assert
func.func @numbers(%a: i64, %b: i64) -> i64 {
  %three = arith.constant 3 : i64
  %0 = arith.remui %a, %b : i64
  %1 = arith.divsi %0, %three : i64
  return %1 : i64
}
