// RUN: unmess-opt --pipeline iree-limit-buffers %s | filecheck %s

#map = affine_map<(d0) -> (d0)>

// The sum of the first 24 tensors is stored.
// CHECK-LABEL: func.func @sum(
// CHECK-COUNT-23: linalg.generic
// CHECK:         %[[SUM:.*]] = "util.optimization_barrier"
// CHECK-NEXT:    linalg.generic {{.*}} ins(%[[SUM]], %arg24 :
// CHECK-NOT:     barrier
// CHECK:         return
func.func @sum(%x0: tensor<4xf32>, %x1: tensor<4xf32>, %x2: tensor<4xf32>, %x3: tensor<4xf32>, %x4: tensor<4xf32>, %x5: tensor<4xf32>, %x6: tensor<4xf32>, %x7: tensor<4xf32>, %x8: tensor<4xf32>, %x9: tensor<4xf32>, %x10: tensor<4xf32>, %x11: tensor<4xf32>, %x12: tensor<4xf32>, %x13: tensor<4xf32>, %x14: tensor<4xf32>, %x15: tensor<4xf32>, %x16: tensor<4xf32>, %x17: tensor<4xf32>, %x18: tensor<4xf32>, %x19: tensor<4xf32>, %x20: tensor<4xf32>, %x21: tensor<4xf32>, %x22: tensor<4xf32>, %x23: tensor<4xf32>, %x24: tensor<4xf32>, %x25: tensor<4xf32>) -> tensor<4xf32> {
  %place = tensor.empty() : tensor<4xf32>
  %s1 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%x0, %x1 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %s2 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s1, %x2 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %s3 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s2, %x3 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %s4 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s3, %x4 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %s5 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s4, %x5 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %s6 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s5, %x6 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %s7 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s6, %x7 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %s8 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s7, %x8 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %s9 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s8, %x9 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %s10 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s9, %x10 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %s11 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s10, %x11 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %s12 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s11, %x12 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %s13 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s12, %x13 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %s14 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s13, %x14 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %s15 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s14, %x15 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %s16 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s15, %x16 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %s17 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s16, %x17 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %s18 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s17, %x18 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %s19 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s18, %x19 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %s20 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s19, %x20 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %s21 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s20, %x21 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %s22 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s21, %x22 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %s23 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s22, %x23 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %s24 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s23, %x24 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %s25 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s24, %x25 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  return %s25 : tensor<4xf32>
}

// A tensor from which another operand is computed is stored already, as in residual networks.
// CHECK-LABEL: func.func @residual(
// CHECK-NOT:     barrier
// CHECK:         return
func.func @residual(%x0: tensor<4xf32>, %w: tensor<4x4xf32>) -> tensor<4xf32> {
  %place = tensor.empty() : tensor<4xf32>
  %p1 = linalg.vecmat ins(%x0, %w : tensor<4xf32>, tensor<4x4xf32>) outs(%place : tensor<4xf32>) -> tensor<4xf32>
  %s1 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%x0, %p1 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %p2 = linalg.vecmat ins(%s1, %w : tensor<4xf32>, tensor<4x4xf32>) outs(%place : tensor<4xf32>) -> tensor<4xf32>
  %s2 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s1, %p2 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %p3 = linalg.vecmat ins(%s2, %w : tensor<4xf32>, tensor<4x4xf32>) outs(%place : tensor<4xf32>) -> tensor<4xf32>
  %s3 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s2, %p3 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %p4 = linalg.vecmat ins(%s3, %w : tensor<4xf32>, tensor<4x4xf32>) outs(%place : tensor<4xf32>) -> tensor<4xf32>
  %s4 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s3, %p4 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %p5 = linalg.vecmat ins(%s4, %w : tensor<4xf32>, tensor<4x4xf32>) outs(%place : tensor<4xf32>) -> tensor<4xf32>
  %s5 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s4, %p5 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %p6 = linalg.vecmat ins(%s5, %w : tensor<4xf32>, tensor<4x4xf32>) outs(%place : tensor<4xf32>) -> tensor<4xf32>
  %s6 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s5, %p6 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %p7 = linalg.vecmat ins(%s6, %w : tensor<4xf32>, tensor<4x4xf32>) outs(%place : tensor<4xf32>) -> tensor<4xf32>
  %s7 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s6, %p7 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %p8 = linalg.vecmat ins(%s7, %w : tensor<4xf32>, tensor<4x4xf32>) outs(%place : tensor<4xf32>) -> tensor<4xf32>
  %s8 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s7, %p8 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %p9 = linalg.vecmat ins(%s8, %w : tensor<4xf32>, tensor<4x4xf32>) outs(%place : tensor<4xf32>) -> tensor<4xf32>
  %s9 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s8, %p9 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %p10 = linalg.vecmat ins(%s9, %w : tensor<4xf32>, tensor<4x4xf32>) outs(%place : tensor<4xf32>) -> tensor<4xf32>
  %s10 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s9, %p10 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %p11 = linalg.vecmat ins(%s10, %w : tensor<4xf32>, tensor<4x4xf32>) outs(%place : tensor<4xf32>) -> tensor<4xf32>
  %s11 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s10, %p11 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %p12 = linalg.vecmat ins(%s11, %w : tensor<4xf32>, tensor<4x4xf32>) outs(%place : tensor<4xf32>) -> tensor<4xf32>
  %s12 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s11, %p12 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %p13 = linalg.vecmat ins(%s12, %w : tensor<4xf32>, tensor<4x4xf32>) outs(%place : tensor<4xf32>) -> tensor<4xf32>
  %s13 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s12, %p13 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %p14 = linalg.vecmat ins(%s13, %w : tensor<4xf32>, tensor<4x4xf32>) outs(%place : tensor<4xf32>) -> tensor<4xf32>
  %s14 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s13, %p14 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %p15 = linalg.vecmat ins(%s14, %w : tensor<4xf32>, tensor<4x4xf32>) outs(%place : tensor<4xf32>) -> tensor<4xf32>
  %s15 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s14, %p15 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %p16 = linalg.vecmat ins(%s15, %w : tensor<4xf32>, tensor<4x4xf32>) outs(%place : tensor<4xf32>) -> tensor<4xf32>
  %s16 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s15, %p16 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %p17 = linalg.vecmat ins(%s16, %w : tensor<4xf32>, tensor<4x4xf32>) outs(%place : tensor<4xf32>) -> tensor<4xf32>
  %s17 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s16, %p17 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %p18 = linalg.vecmat ins(%s17, %w : tensor<4xf32>, tensor<4x4xf32>) outs(%place : tensor<4xf32>) -> tensor<4xf32>
  %s18 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s17, %p18 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %p19 = linalg.vecmat ins(%s18, %w : tensor<4xf32>, tensor<4x4xf32>) outs(%place : tensor<4xf32>) -> tensor<4xf32>
  %s19 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s18, %p19 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %p20 = linalg.vecmat ins(%s19, %w : tensor<4xf32>, tensor<4x4xf32>) outs(%place : tensor<4xf32>) -> tensor<4xf32>
  %s20 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s19, %p20 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %p21 = linalg.vecmat ins(%s20, %w : tensor<4xf32>, tensor<4x4xf32>) outs(%place : tensor<4xf32>) -> tensor<4xf32>
  %s21 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s20, %p21 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %p22 = linalg.vecmat ins(%s21, %w : tensor<4xf32>, tensor<4x4xf32>) outs(%place : tensor<4xf32>) -> tensor<4xf32>
  %s22 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s21, %p22 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %p23 = linalg.vecmat ins(%s22, %w : tensor<4xf32>, tensor<4x4xf32>) outs(%place : tensor<4xf32>) -> tensor<4xf32>
  %s23 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s22, %p23 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %p24 = linalg.vecmat ins(%s23, %w : tensor<4xf32>, tensor<4x4xf32>) outs(%place : tensor<4xf32>) -> tensor<4xf32>
  %s24 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s23, %p24 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  %p25 = linalg.vecmat ins(%s24, %w : tensor<4xf32>, tensor<4x4xf32>) outs(%place : tensor<4xf32>) -> tensor<4xf32>
  %s25 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%s24, %p25 : tensor<4xf32>, tensor<4xf32>) outs(%place : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %z = arith.addf %a, %b : f32
    linalg.yield %z : f32
  } -> tensor<4xf32>
  return %s25 : tensor<4xf32>
}
