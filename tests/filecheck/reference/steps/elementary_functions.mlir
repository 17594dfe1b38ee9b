// RUN: unmess-opt --pipeline reference-fuse %s | filecheck %s

#vector = affine_map<(d0) -> (d0)>

// Named operations are expanded, too. Functions are inlined, and unused functions are removed.
// CHECK-LABEL: func.func @narrow(
// CHECK-NOT:     math.exp
// CHECK:         arith.extf %{{.*}} : f16 to f32
// CHECK:         arith.shli
// CHECK:         arith.truncf %{{.*}} : f32 to f16
func.func @narrow(%x: tensor<8xf16>) -> tensor<8xf16> {
  %e = tensor.empty() : tensor<8xf16>
  %0 = linalg.exp ins(%x : tensor<8xf16>) outs(%e : tensor<8xf16>) -> tensor<8xf16>
  return %0 : tensor<8xf16>
}

// CHECK-LABEL: func.func @double(
// CHECK:         math.tanh %{{.*}} : f64
func.func @double(%x: tensor<8xf64>) -> tensor<8xf64> {
  %e = tensor.empty() : tensor<8xf64>
  %0 = linalg.tanh ins(%x : tensor<8xf64>) outs(%e : tensor<8xf64>) -> tensor<8xf64>
  return %0 : tensor<8xf64>
}

// CHECK-LABEL: func.func @powers(
// CHECK:         %[[SQUARE:.*]] = arith.mulf %[[X:.*]], %[[X]]
// CHECK:         arith.mulf %[[SQUARE]], %[[X]]
// CHECK:         %[[ROOT:.*]] = math.sqrt
// CHECK:         arith.divf %{{.*}}, %[[ROOT]]
// CHECK:         math.powf
func.func @powers(%x: tensor<8xf32>, %e: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %three = arith.constant 3.0 : f32
  %minus_half = arith.constant -0.5 : f32
  %other = arith.constant 2.5 : f32
  %0:3 = linalg.generic {indexing_maps = [#vector, #vector, #vector, #vector], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e, %e, %e : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%in: f32, %a: f32, %b: f32, %c: f32):
    %1 = math.powf %in, %three : f32
    %2 = math.powf %in, %minus_half : f32
    %3 = math.powf %in, %other : f32
    linalg.yield %1, %2, %3 : f32, f32, f32
  } -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1, %0#2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
// CHECK-NOT: func.func private
