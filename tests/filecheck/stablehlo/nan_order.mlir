// RUN: unmess-opt --pipeline stablehlo-nan-order %s | filecheck %s

// NaN wins against numbers, and the smaller index wins if both elements are NaN.
// CHECK-LABEL: func.func @argmax(
// CHECK:         %[[GREATER:.*]] = stablehlo.compare GE, %[[X:.*]], %[[Y:.*]], FLOAT
// CHECK:         %[[X_NAN:.*]] = stablehlo.compare NE, %[[X]], %[[X]]
// CHECK:         %[[WINS:.*]] = stablehlo.or %[[GREATER]], %[[X_NAN]]
// CHECK:         stablehlo.select %[[WINS]], %[[X]], %[[Y]]
// CHECK:         %[[EQUAL:.*]] = stablehlo.compare EQ, %[[X]], %[[Y]], FLOAT
// CHECK:         %[[BOTH:.*]] = stablehlo.and
// CHECK:         %[[TIE:.*]] = stablehlo.or %[[EQUAL]], %[[BOTH]]
// CHECK:         %[[SMALLER:.*]] = stablehlo.minimum
// CHECK:         stablehlo.select %[[TIE]], %[[SMALLER]]
func.func @argmax(%x: tensor<4xf32>) -> tensor<i64> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %places = stablehlo.iota dim = 0 : tensor<4xi64>
  %r:2 = stablehlo.reduce(%x init: %low), (%places init: %zero) across dimensions = [0] : (tensor<4xf32>, tensor<4xi64>, tensor<f32>, tensor<i64>) -> (tensor<f32>, tensor<i64>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i64>, %j: tensor<i64>) {
    %0 = stablehlo.compare GE, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %1 = stablehlo.select %0, %a, %b : tensor<i1>, tensor<f32>
    %2 = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = stablehlo.minimum %i, %j : tensor<i64>
    %4 = stablehlo.select %0, %i, %j : tensor<i1>, tensor<i64>
    %5 = stablehlo.select %2, %3, %4 : tensor<i1>, tensor<i64>
    stablehlo.return %1, %5 : tensor<f32>, tensor<i64>
  }
  return %r#1 : tensor<i64>
}

// Integers, and comparisons elsewhere, do not change.
// CHECK-LABEL: func.func @others(
// CHECK-NOT:     stablehlo.or
// CHECK:         return
func.func @others(%x: tensor<4xi32>, %y: tensor<4xf32>) -> (tensor<i32>, tensor<4xi1>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.reduce(%x init: %zero), (%x init: %zero) across dimensions = [0] : (tensor<4xi32>, tensor<4xi32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
   reducer(%a: tensor<i32>, %b: tensor<i32>) (%i: tensor<i32>, %j: tensor<i32>) {
    %0 = stablehlo.compare GE, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %1 = stablehlo.select %0, %a, %b : tensor<i1>, tensor<i32>
    %2 = stablehlo.select %0, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %1, %2 : tensor<i32>, tensor<i32>
  }
  %c = stablehlo.compare GE, %y, %y, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %r#1, %c : tensor<i32>, tensor<4xi1>
}
