// RUN: unmess-opt --pipeline split-long-sums %s | filecheck %s

#id = affine_map<(d0) -> (d0)>
#s = affine_map<(d0) -> ()>
#m4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#m2 = affine_map<(d0, d1, d2, d3) -> (d0, d1, 0, 0)>
#r2 = affine_map<(d0, d1) -> (d0, d1)>
#r1 = affine_map<(d0, d1) -> (d0)>
#r0 = affine_map<(d0, d1) -> (d1)>

// A long axis becomes blocks, and their sums become blocks again. The initial value is added once.
// CHECK-LABEL: func.func @blocks(
// CHECK:         %[[ROWS:.*]] = tensor.expand_shape %arg0 {{.*}} into tensor<2400x125xf32>
// CHECK:         %[[PARTIAL:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%[[ROWS]] :
// CHECK:           arith.mulf
// CHECK:         %[[AGAIN:.*]] = tensor.expand_shape %[[PARTIAL]] {{.*}} into tensor<20x120xf32>
// CHECK:         %[[TWENTY:.*]] = linalg.generic {{.*}} ins(%[[AGAIN]] :
// CHECK:         %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[TWENTY]] : tensor<20xf32>) outs(%arg1 :
// CHECK-NOT:       arith.mulf
// CHECK:         return %[[SUM]]
func.func @blocks(%x: tensor<300000xf32>, %i: tensor<f32>) -> tensor<f32> {
  %0 = linalg.generic {indexing_maps = [#id, #s], iterator_types = ["reduction"]} ins(%x : tensor<300000xf32>) outs(%i : tensor<f32>) {
  ^bb0(%a: f32, %o: f32):
    %p = arith.mulf %a, %a : f32
    %q = arith.addf %p, %o : f32
    linalg.yield %q : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// Elements that fill no block are added at the end.
// CHECK-LABEL: func.func @left_over(
// CHECK:         tensor.extract_slice %arg0[0] [9984]
// CHECK:         %[[SUM:.*]] = linalg.generic {{.*}} outs(%arg1 :
// CHECK:         %[[REST:.*]] = tensor.extract_slice %arg0[9984] [23]
// CHECK:         linalg.generic {{.*}} ins(%[[REST]] : {{.*}}) outs(%[[SUM]] :
func.func @left_over(%x: tensor<10007xf32>, %i: tensor<f32>) -> tensor<f32> {
  %0 = linalg.generic {indexing_maps = [#id, #s], iterator_types = ["reduction"]} ins(%x : tensor<10007xf32>) outs(%i : tensor<f32>) {
  ^bb0(%a: f32, %o: f32):
    %q = arith.addf %o, %a : f32
    linalg.yield %q : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// With several short axes, the outer ones get partial sums. Other axes may be dynamic.
// CHECK-LABEL: func.func @image(
// CHECK-NOT:     expand_shape
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%arg0 : {{.*}}) outs({{.*}} : tensor<?x8x112xf32>)
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]} {{.*}} outs(%arg1 : tensor<?x8x1x1xf32>)
func.func @image(%x: tensor<?x8x112x112xf32>, %i: tensor<?x8x1x1xf32>) -> tensor<?x8x1x1xf32> {
  %0 = linalg.generic {indexing_maps = [#m4, #m2], iterator_types = ["parallel", "parallel", "reduction", "reduction"]} ins(%x : tensor<?x8x112x112xf32>) outs(%i : tensor<?x8x1x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %q = arith.addf %o, %a : f32
    linalg.yield %q : f32
  } -> tensor<?x8x1x1xf32>
  return %0 : tensor<?x8x1x1xf32>
}

// An input that lacks the other axes is split as well.
// CHECK-LABEL: func.func @columns(
// CHECK:         %[[X:.*]] = tensor.expand_shape %arg0 {{.*}} into tensor<80x125x30xf32>
// CHECK:         %[[W:.*]] = tensor.expand_shape %arg1 {{.*}} into tensor<80x125xf32>
// CHECK:         linalg.generic {{.*}} ins(%[[X]], %[[W]] : {{.*}}) outs({{.*}} : tensor<80x30xf32>)
// CHECK:         linalg.generic {{.*}} outs(%arg2 : tensor<30xf32>)
func.func @columns(%x: tensor<10000x30xf32>, %w: tensor<10000xf32>, %i: tensor<30xf32>) -> tensor<30xf32> {
  %0 = linalg.generic {indexing_maps = [#r2, #r1, #r0], iterator_types = ["reduction", "parallel"]} ins(%x, %w : tensor<10000x30xf32>, tensor<10000xf32>) outs(%i : tensor<30xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<30xf32>
  return %0 : tensor<30xf32>
}

// Short sums, maxima and sums of integers stay as they are.
// CHECK-LABEL: func.func @unchanged(
// CHECK-NOT:     parallel
// CHECK:         return
func.func @unchanged(%x: tensor<4096xf32>, %y: tensor<5000xf32>, %z: tensor<5000xi64>, %i: tensor<f32>, %j: tensor<i64>) -> (tensor<f32>, tensor<f32>, tensor<i64>) {
  %0 = linalg.generic {indexing_maps = [#id, #s], iterator_types = ["reduction"]} ins(%x : tensor<4096xf32>) outs(%i : tensor<f32>) {
  ^bb0(%a: f32, %o: f32):
    %q = arith.addf %o, %a : f32
    linalg.yield %q : f32
  } -> tensor<f32>
  %1 = linalg.generic {indexing_maps = [#id, #s], iterator_types = ["reduction"]} ins(%y : tensor<5000xf32>) outs(%i : tensor<f32>) {
  ^bb0(%a: f32, %o: f32):
    %q = arith.maximumf %o, %a : f32
    linalg.yield %q : f32
  } -> tensor<f32>
  %2 = linalg.generic {indexing_maps = [#id, #s], iterator_types = ["reduction"]} ins(%z : tensor<5000xi64>) outs(%j : tensor<i64>) {
  ^bb0(%a: i64, %o: i64):
    %q = arith.addi %o, %a : i64
    linalg.yield %q : i64
  } -> tensor<i64>
  return %0, %1, %2 : tensor<f32>, tensor<f32>, tensor<i64>
}

// The sum of a softmax stays as it is.
// CHECK-LABEL: func.func @softmax(
// CHECK-NOT:     expand_shape
// CHECK:         return
func.func @softmax(%x: tensor<5000xf32>, %max: tensor<f32>, %i: tensor<f32>) -> tensor<f32> {
  %e = tensor.empty() : tensor<5000xf32>
  %0 = linalg.generic {indexing_maps = [#id, #s, #id], iterator_types = ["parallel"]} ins(%x, %max : tensor<5000xf32>, tensor<f32>) outs(%e : tensor<5000xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %q = arith.subf %a, %b : f32
    linalg.yield %q : f32
  } -> tensor<5000xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%0 : tensor<5000xf32>) outs(%e : tensor<5000xf32>) {
  ^bb0(%a: f32, %o: f32):
    %q = math.exp %a : f32
    linalg.yield %q : f32
  } -> tensor<5000xf32>
  %2 = linalg.generic {indexing_maps = [#id, #s], iterator_types = ["reduction"]} ins(%1 : tensor<5000xf32>) outs(%i : tensor<f32>) {
  ^bb0(%a: f32, %o: f32):
    %q = arith.addf %o, %a : f32
    linalg.yield %q : f32
  } -> tensor<f32>
  return %2 : tensor<f32>
}
