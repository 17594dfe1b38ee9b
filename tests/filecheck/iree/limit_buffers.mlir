// RUN: unmess-opt --pipeline iree-limit-buffers %s | filecheck %s

#map = affine_map<(d0) -> (d0)>

// Together, the sums would read 26 tensors.
// CHECK-LABEL: func.func @sum(
// CHECK:         %[[FIRST:.*]] = linalg.generic
// CHECK:         %[[STORED:.*]] = "util.optimization_barrier"(%[[FIRST]])
// CHECK-NEXT:    linalg.generic {{.*}} ins(%[[STORED]], %arg13,
func.func @sum(%x0: tensor<4xf32>, %x1: tensor<4xf32>, %x2: tensor<4xf32>, %x3: tensor<4xf32>, %x4: tensor<4xf32>, %x5: tensor<4xf32>, %x6: tensor<4xf32>, %x7: tensor<4xf32>, %x8: tensor<4xf32>, %x9: tensor<4xf32>, %x10: tensor<4xf32>, %x11: tensor<4xf32>, %x12: tensor<4xf32>, %y0: tensor<4xf32>, %y1: tensor<4xf32>, %y2: tensor<4xf32>, %y3: tensor<4xf32>, %y4: tensor<4xf32>, %y5: tensor<4xf32>, %y6: tensor<4xf32>, %y7: tensor<4xf32>, %y8: tensor<4xf32>, %y9: tensor<4xf32>, %y10: tensor<4xf32>, %y11: tensor<4xf32>, %y12: tensor<4xf32>) -> tensor<4xf32> {
  %place = tensor.empty() : tensor<4xf32>
  %first = linalg.generic {indexing_maps = [#map, #map, #map, #map, #map, #map, #map, #map, #map, #map, #map, #map, #map, #map], iterator_types = ["parallel"]} ins(%x0, %x1, %x2, %x3, %x4, %x5, %x6, %x7, %x8, %x9, %x10, %x11, %x12 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%b0: f32, %b1: f32, %b2: f32, %b3: f32, %b4: f32, %b5: f32, %b6: f32, %b7: f32, %b8: f32, %b9: f32, %b10: f32, %b11: f32, %b12: f32, %b13: f32):
    %s1 = arith.addf %b0, %b1 : f32
    %s2 = arith.addf %s1, %b2 : f32
    %s3 = arith.addf %s2, %b3 : f32
    %s4 = arith.addf %s3, %b4 : f32
    %s5 = arith.addf %s4, %b5 : f32
    %s6 = arith.addf %s5, %b6 : f32
    %s7 = arith.addf %s6, %b7 : f32
    %s8 = arith.addf %s7, %b8 : f32
    %s9 = arith.addf %s8, %b9 : f32
    %s10 = arith.addf %s9, %b10 : f32
    %s11 = arith.addf %s10, %b11 : f32
    %s12 = arith.addf %s11, %b12 : f32
    linalg.yield %s12 : f32
  } -> tensor<4xf32>
  %second = linalg.generic {indexing_maps = [#map, #map, #map, #map, #map, #map, #map, #map, #map, #map, #map, #map, #map, #map, #map], iterator_types = ["parallel"]} ins(%first, %y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7, %y8, %y9, %y10, %y11, %y12 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%b0: f32, %b1: f32, %b2: f32, %b3: f32, %b4: f32, %b5: f32, %b6: f32, %b7: f32, %b8: f32, %b9: f32, %b10: f32, %b11: f32, %b12: f32, %b13: f32, %b14: f32):
    %s1 = arith.addf %b0, %b1 : f32
    %s2 = arith.addf %s1, %b2 : f32
    %s3 = arith.addf %s2, %b3 : f32
    %s4 = arith.addf %s3, %b4 : f32
    %s5 = arith.addf %s4, %b5 : f32
    %s6 = arith.addf %s5, %b6 : f32
    %s7 = arith.addf %s6, %b7 : f32
    %s8 = arith.addf %s7, %b8 : f32
    %s9 = arith.addf %s8, %b9 : f32
    %s10 = arith.addf %s9, %b10 : f32
    %s11 = arith.addf %s10, %b11 : f32
    %s12 = arith.addf %s11, %b12 : f32
    %s13 = arith.addf %s12, %b13 : f32
    linalg.yield %s13 : f32
  } -> tensor<4xf32>
  return %second : tensor<4xf32>
}

// A tensor from which another operand is computed is stored already, as in residual networks.
// CHECK-LABEL: func.func @residual(
// CHECK-NOT:     barrier
// CHECK:         return
func.func @residual(%w: tensor<4x4xf32>, %x0: tensor<4xf32>, %x1: tensor<4xf32>, %x2: tensor<4xf32>, %x3: tensor<4xf32>, %x4: tensor<4xf32>, %x5: tensor<4xf32>, %x6: tensor<4xf32>, %x7: tensor<4xf32>, %x8: tensor<4xf32>, %x9: tensor<4xf32>, %x10: tensor<4xf32>, %x11: tensor<4xf32>, %x12: tensor<4xf32>, %y0: tensor<4xf32>, %y1: tensor<4xf32>, %y2: tensor<4xf32>, %y3: tensor<4xf32>, %y4: tensor<4xf32>, %y5: tensor<4xf32>, %y6: tensor<4xf32>, %y7: tensor<4xf32>, %y8: tensor<4xf32>, %y9: tensor<4xf32>, %y10: tensor<4xf32>, %y11: tensor<4xf32>, %y12: tensor<4xf32>) -> tensor<4xf32> {
  %place = tensor.empty() : tensor<4xf32>
  %first = linalg.generic {indexing_maps = [#map, #map, #map, #map, #map, #map, #map, #map, #map, #map, #map, #map, #map, #map], iterator_types = ["parallel"]} ins(%x0, %x1, %x2, %x3, %x4, %x5, %x6, %x7, %x8, %x9, %x10, %x11, %x12 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%b0: f32, %b1: f32, %b2: f32, %b3: f32, %b4: f32, %b5: f32, %b6: f32, %b7: f32, %b8: f32, %b9: f32, %b10: f32, %b11: f32, %b12: f32, %b13: f32):
    %s1 = arith.addf %b0, %b1 : f32
    %s2 = arith.addf %s1, %b2 : f32
    %s3 = arith.addf %s2, %b3 : f32
    %s4 = arith.addf %s3, %b4 : f32
    %s5 = arith.addf %s4, %b5 : f32
    %s6 = arith.addf %s5, %b6 : f32
    %s7 = arith.addf %s6, %b7 : f32
    %s8 = arith.addf %s7, %b8 : f32
    %s9 = arith.addf %s8, %b9 : f32
    %s10 = arith.addf %s9, %b10 : f32
    %s11 = arith.addf %s10, %b11 : f32
    %s12 = arith.addf %s11, %b12 : f32
    linalg.yield %s12 : f32
  } -> tensor<4xf32>
  %product = linalg.vecmat ins(%first, %w : tensor<4xf32>, tensor<4x4xf32>) outs(%place : tensor<4xf32>) -> tensor<4xf32>
  %second = linalg.generic {indexing_maps = [#map, #map, #map, #map, #map, #map, #map, #map, #map, #map, #map, #map, #map, #map, #map, #map], iterator_types = ["parallel"]} ins(%first, %product, %y0, %y1, %y2, %y3, %y4, %y5, %y6, %y7, %y8, %y9, %y10, %y11, %y12 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%b0: f32, %b1: f32, %b2: f32, %b3: f32, %b4: f32, %b5: f32, %b6: f32, %b7: f32, %b8: f32, %b9: f32, %b10: f32, %b11: f32, %b12: f32, %b13: f32, %b14: f32, %b15: f32):
    %s1 = arith.addf %b0, %b1 : f32
    %s2 = arith.addf %s1, %b2 : f32
    %s3 = arith.addf %s2, %b3 : f32
    %s4 = arith.addf %s3, %b4 : f32
    %s5 = arith.addf %s4, %b5 : f32
    %s6 = arith.addf %s5, %b6 : f32
    %s7 = arith.addf %s6, %b7 : f32
    %s8 = arith.addf %s7, %b8 : f32
    %s9 = arith.addf %s8, %b9 : f32
    %s10 = arith.addf %s9, %b10 : f32
    %s11 = arith.addf %s10, %b11 : f32
    %s12 = arith.addf %s11, %b12 : f32
    %s13 = arith.addf %s12, %b13 : f32
    %s14 = arith.addf %s13, %b14 : f32
    linalg.yield %s14 : f32
  } -> tensor<4xf32>
  return %second : tensor<4xf32>
}
