// RUN: unmess-opt --pipeline stablehlo-dynamic-windows %s | filecheck %s
// RUN: unmess-opt --pipeline stablehlo-to-linalg %s | filecheck %s --check-prefix LINALG

// The padding has the initial value. A tensor without elements gives the size of the window.
// CHECK:       #[[READ:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2 * 2 + d3)>
// CHECK-LABEL: func.func @max_pool(
// CHECK:         %[[INIT:.*]] = tensor.extract %{{.*}}[] : tensor<f32>
// CHECK:         %[[PADDED:.*]] = tensor.pad %{{.*}} low[0, 0, 1] high[0, 0, 1]
// CHECK:           tensor.yield %[[INIT]]
// CHECK:         linalg.fill ins(%[[INIT]] : f32) outs(%{{.*}} : tensor<?x4x5xf32>)
// CHECK:         %[[WINDOW:.*]] = tensor.empty() : tensor<3xf32>
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%[[PADDED]], %[[WINDOW]]
// LINALG-LABEL: func.func @max_pool(
// LINALG:         linalg.generic
// LINALG:           arith.maximumf
// LINALG-NOT:     stablehlo
func.func @max_pool(%x: tensor<?x4x9xf32>) -> tensor<?x4x5xf32> {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %low) <{
    padding = dense<[[0, 0], [0, 0], [1, 1]]> : tensor<3x2xi64>,
    window_dimensions = array<i64: 1, 1, 3>, window_strides = array<i64: 1, 1, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<?x4x9xf32>, tensor<f32>) -> tensor<?x4x5xf32>
  return %0 : tensor<?x4x5xf32>
}

// The size of the result is computed. The window has two elements at distance 3, so it reaches
// over 4 elements.
// CHECK-LABEL: func.func @dilated(
// CHECK:         %[[SIZE:.*]] = tensor.dim
// CHECK:         %[[REACH:.*]] = arith.constant 4 : index
// CHECK:         arith.subi %[[SIZE]], %[[REACH]]
// CHECK:         arith.divsi
// CHECK:         linalg.generic
// LINALG-LABEL: func.func @dilated(
// LINALG:         arith.addf
// LINALG:         arith.addi
func.func @dilated(%x: tensor<?xf32>, %i: tensor<?xi32>) -> (tensor<?xf32>, tensor<?xi32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %none = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = "stablehlo.reduce_window"(%x, %i, %zero, %none) <{
    window_dilations = array<i64: 3>, window_dimensions = array<i64: 2>,
    window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %n: tensor<i32>, %b: tensor<f32>, %m: tensor<i32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    %2 = stablehlo.add %n, %m : tensor<i32>
    stablehlo.return %1, %2 : tensor<f32>, tensor<i32>
  }) : (tensor<?xf32>, tensor<?xi32>, tensor<f32>, tensor<i32>) -> (tensor<?xf32>, tensor<?xi32>)
  return %0#0, %0#1 : tensor<?xf32>, tensor<?xi32>
}

// Upstream lowers static windows.
// CHECK-LABEL: func.func @static(
// CHECK-NEXT:    stablehlo.constant
// CHECK-NEXT:    stablehlo.reduce_window
func.func @static(%x: tensor<8xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %zero) <{
    window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<8xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
