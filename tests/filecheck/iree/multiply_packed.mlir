// RUN: unmess-opt --pipeline iree-multiply-packed %s | filecheck %s

#m = affine_map<(r, b, f, i) -> (r, b, f, i)>
#byte = affine_map<(r, b, f, i) -> (r, b, 0, i)>
#field = affine_map<(r, b, f, i) -> (f, 0)>
#v = affine_map<(r, b, i) -> (r, b, i)>
#scale = affine_map<(r, b, i) -> (r, b)>

// 32 rows of the matrix become the lanes of a vector. The weights are unpacked in the body, and the
// unpacked matrix is not needed. There are at most four rows of the other operand in a tile.
// CHECK-LABEL: func.func @rows_of_bytes(
// CHECK-DAG:     %[[LEFT:.*]] = tensor.expand_shape %arg0 {{\[\[0\], \[1, 2\]\]}} output_shape [6, 2, 32]
// CHECK-DAG:     %[[W:.*]] = linalg.pack %arg1 inner_dims_pos = [0] inner_tiles = [32] into %{{.*}} : tensor<64x2x32xi8> -> tensor<2x2x32x32xi8>
// CHECK-DAG:     %[[S:.*]] = linalg.pack %arg2 inner_dims_pos = [0] inner_tiles = [32] into %{{.*}} : tensor<64x2xf16> -> tensor<2x2x32xf16>
// CHECK:         linalg.generic {{.*}} ins(%[[W]], %[[S]], %[[LEFT]] : {{.*}}distribution = [0, 1, 0, 0, 0], vector_common_parallel = [4, 1, 32, 0, 0], vector_reduction = [0, 0, 0, 1, 1]
// CHECK-NEXT:    ^bb0(%[[B:.*]]: i8, %[[H:.*]]: f16, %[[L:.*]]: f32, %[[SUM:.*]]: f32):
// CHECK-DAG:       %[[N:.*]] = arith.sitofp %[[B]] : i8 to f32
// CHECK-DAG:       %[[F:.*]] = arith.extf %[[H]] : f16 to f32
// CHECK:           %[[WEIGHT:.*]] = arith.mulf %[[N]], %[[F]] : f32
// CHECK:           %[[P:.*]] = math.fma %[[L]], %[[WEIGHT]], %{{.*}} : f32
// CHECK:           %[[NEXT:.*]] = arith.addf %[[SUM]], %[[P]] : f32
// CHECK:           linalg.yield %[[NEXT]] : f32
// CHECK:         tensor.collapse_shape {{.*}} : tensor<6x2x32xf32> into tensor<6x64xf32>
// CHECK-NOT:     linalg.matmul
func.func @rows_of_bytes(%x: tensor<6x64xf32>, %w: tensor<64x2x32xi8>, %s: tensor<64x2xf16>) -> tensor<6x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x2x32xf32>
  %0 = linalg.generic {indexing_maps = [#v, #scale, #v], iterator_types = ["parallel", "parallel", "parallel"]} ins(%w, %s : tensor<64x2x32xi8>, tensor<64x2xf16>) outs(%e : tensor<64x2x32xf32>) {
  ^bb0(%b: i8, %h: f16, %o: f32):
    %n = arith.sitofp %b : i8 to f32
    %f = arith.extf %h : f16 to f32
    %p = arith.mulf %n, %f : f32
    linalg.yield %p : f32
  } -> tensor<64x2x32xf32>
  %1 = tensor.collapse_shape %0 [[0], [1, 2]] : tensor<64x2x32xf32> into tensor<64x64xf32>
  %e1 = tensor.empty() : tensor<64x64xf32>
  %2 = linalg.transpose ins(%1 : tensor<64x64xf32>) outs(%e1 : tensor<64x64xf32>) permutation = [1, 0]
  %e2 = tensor.empty() : tensor<6x64xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<6x64xf32>) -> tensor<6x64xf32>
  %3 = linalg.matmul ins(%x, %2 : tensor<6x64xf32>, tensor<64x64xf32>) outs(%f0 : tensor<6x64xf32>) -> tensor<6x64xf32>
  return %3 : tensor<6x64xf32>
}

// Two weights in each byte: the body unpacks both and multiplies each with its part of the other
// operand. A single row has no loop. The product is added to what the result starts with. 24 rows
// become vectors of 8.
// CHECK-LABEL: func.func @row_of_nibbles(
// CHECK-DAG:     %[[LOW:.*]] = tensor.extract_slice %{{.*}}[0, 0, 0, 0] [1, 2, 1, 16] [1, 1, 1, 1] : tensor<1x2x2x16xf32> to tensor<2x16xf32>
// CHECK-DAG:     %[[HIGH:.*]] = tensor.extract_slice %{{.*}}[0, 0, 1, 0] [1, 2, 1, 16] [1, 1, 1, 1] : tensor<1x2x2x16xf32> to tensor<2x16xf32>
// CHECK-DAG:     %[[BIAS:.*]] = tensor.extract_slice %arg2[0, 0] [1, 24] [1, 1] : tensor<1x24xf32> to tensor<24xf32>
// CHECK-DAG:     %[[INIT:.*]] = tensor.expand_shape %[[BIAS]] {{\[\[0, 1\]\]}} output_shape [3, 8]
// CHECK-DAG:     %[[W:.*]] = linalg.pack %{{.*}} inner_dims_pos = [0] inner_tiles = [8] into %{{.*}} : tensor<24x2x16xi8> -> tensor<3x2x16x8xi8>
// CHECK:         linalg.generic {{.*}} ins(%[[W]], %{{.*}}, %{{.*}}, %[[LOW]], %[[HIGH]] : {{.*}}) outs(%[[INIT]] : tensor<3x8xf32>) {{.*}}distribution = [1, 0, 0, 0], vector_common_parallel = [1, 8, 0, 0], vector_reduction = [0, 0, 1, 1]
// CHECK-COUNT-2:   math.fma
// CHECK-NOT:       math.fma
// CHECK:         tensor.collapse_shape {{.*}} : tensor<3x8xf32> into tensor<24xf32>
// CHECK:         tensor.expand_shape {{.*}} output_shape [1, 24]
func.func @row_of_nibbles(%x: tensor<1x64xf32>, %w: tensor<24x2x16xi8>, %bias: tensor<1x24xf32>) -> tensor<1x24xf32> {
  %mask = arith.constant 15 : i32
  %shifts = arith.constant dense<[[0], [4]]> : tensor<2x1xi32>
  %x0 = tensor.expand_shape %w [[0], [1], [2, 3]] output_shape [24, 2, 1, 16] : tensor<24x2x16xi8> into tensor<24x2x1x16xi8>
  %e = tensor.empty() : tensor<24x2x2x16xf32>
  %0 = linalg.generic {indexing_maps = [#byte, #field, #m], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x0, %shifts : tensor<24x2x1x16xi8>, tensor<2x1xi32>) outs(%e : tensor<24x2x2x16xf32>) {
  ^bb0(%b: i8, %by: i32, %o: f32):
    %i = arith.extui %b : i8 to i32
    %moved = arith.shrsi %i, %by : i32
    %n = arith.andi %moved, %mask : i32
    %f = arith.sitofp %n : i32 to f32
    linalg.yield %f : f32
  } -> tensor<24x2x2x16xf32>
  %1 = tensor.collapse_shape %0 [[0], [1, 2, 3]] : tensor<24x2x2x16xf32> into tensor<24x64xf32>
  %e1 = tensor.empty() : tensor<64x24xf32>
  %2 = linalg.transpose ins(%1 : tensor<24x64xf32>) outs(%e1 : tensor<64x24xf32>) permutation = [1, 0]
  %3 = linalg.matmul ins(%x, %2 : tensor<1x64xf32>, tensor<64x24xf32>) outs(%bias : tensor<1x24xf32>) -> tensor<1x24xf32>
  return %3 : tensor<1x24xf32>
}

// Neither 32, 16 nor 8 divides 61 rows.
// CHECK-LABEL: func.func @rows_without_lanes(
// CHECK-NOT:     linalg.pack
// CHECK:         linalg.matmul
func.func @rows_without_lanes(%x: tensor<6x64xf32>, %w: tensor<61x2x32xi8>) -> tensor<6x61xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<61x2x32xf32>
  %0 = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel", "parallel", "parallel"]} ins(%w : tensor<61x2x32xi8>) outs(%e : tensor<61x2x32xf32>) {
  ^bb0(%b: i8, %o: f32):
    %n = arith.sitofp %b : i8 to f32
    linalg.yield %n : f32
  } -> tensor<61x2x32xf32>
  %1 = tensor.collapse_shape %0 [[0], [1, 2]] : tensor<61x2x32xf32> into tensor<61x64xf32>
  %e1 = tensor.empty() : tensor<64x61xf32>
  %2 = linalg.transpose ins(%1 : tensor<61x64xf32>) outs(%e1 : tensor<64x61xf32>) permutation = [1, 0]
  %e2 = tensor.empty() : tensor<6x61xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<6x61xf32>) -> tensor<6x61xf32>
  %3 = linalg.matmul ins(%x, %2 : tensor<6x64xf32>, tensor<64x61xf32>) outs(%f0 : tensor<6x61xf32>) -> tensor<6x61xf32>
  return %3 : tensor<6x61xf32>
}

// A matrix that is computed from f32 weights is not packed.
// CHECK-LABEL: func.func @no_integers(
// CHECK-NOT:     linalg.pack
// CHECK:         linalg.matmul
func.func @no_integers(%x: tensor<6x64xf32>, %w: tensor<64x2x32xf32>) -> tensor<6x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x2x32xf32>
  %0 = linalg.generic {indexing_maps = [#v, #v], iterator_types = ["parallel", "parallel", "parallel"]} ins(%w : tensor<64x2x32xf32>) outs(%e : tensor<64x2x32xf32>) {
  ^bb0(%b: f32, %o: f32):
    %n = arith.negf %b : f32
    linalg.yield %n : f32
  } -> tensor<64x2x32xf32>
  %1 = tensor.collapse_shape %0 [[0], [1, 2]] : tensor<64x2x32xf32> into tensor<64x64xf32>
  %e1 = tensor.empty() : tensor<64x64xf32>
  %2 = linalg.transpose ins(%1 : tensor<64x64xf32>) outs(%e1 : tensor<64x64xf32>) permutation = [1, 0]
  %e2 = tensor.empty() : tensor<6x64xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<6x64xf32>) -> tensor<6x64xf32>
  %3 = linalg.matmul ins(%x, %2 : tensor<6x64xf32>, tensor<64x64xf32>) outs(%f0 : tensor<6x64xf32>) -> tensor<6x64xf32>
  return %3 : tensor<6x64xf32>
}

// Products of one row with two matrices of the same form become one operation, before the first of
// them. A weight that is defined after the first product is defined again. The product with a third
// matrix, whose scales have another type, stays an operation of its own.
// CHECK-LABEL: func.func @two_matrices(
// CHECK-DAG:     %[[V:.*]] = linalg.pack %arg1 {{.*}} : tensor<64x2x32xi8> -> tensor<2x2x32x32xi8>
// CHECK-DAG:     %[[W:.*]] = linalg.pack %cst{{.*}} : tensor<64x2x32xi8> -> tensor<2x2x32x32xi8>
// CHECK:         %[[BOTH:.*]]:2 = linalg.generic {{.*}} outs({{.*}} : tensor<2x32xf32>, tensor<2x32xf32>)
// CHECK-COUNT-2:   math.fma
// CHECK:           linalg.yield %{{.*}}, %{{.*}} : f32, f32
// CHECK:         %[[ONE:.*]] = tensor.collapse_shape %[[BOTH]]#0
// CHECK:         %[[OTHER:.*]] = tensor.collapse_shape %[[BOTH]]#1
// CHECK:         math.exp
// CHECK:         linalg.generic {{.*}} outs({{.*}} : tensor<2x32xf32>)
// CHECK:           math.fma
// CHECK-NOT:     linalg.matmul
func.func @two_matrices(%x: tensor<1x64xf32>, %v: tensor<64x2x32xi8>, %s: tensor<64x2xf16>, %t: tensor<64x2xf32>, %u: tensor<64x2x32xi8>) -> (tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x2x32xf32>
  %e1 = tensor.empty() : tensor<64x64xf32>
  %e2 = tensor.empty() : tensor<1x64xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<1x64xf32>) -> tensor<1x64xf32>
  %0 = linalg.generic {indexing_maps = [#v, #scale, #v], iterator_types = ["parallel", "parallel", "parallel"]} ins(%v, %s : tensor<64x2x32xi8>, tensor<64x2xf16>) outs(%e : tensor<64x2x32xf32>) {
  ^bb0(%b: i8, %h: f16, %o: f32):
    %n = arith.sitofp %b : i8 to f32
    %f = arith.extf %h : f16 to f32
    %p = arith.mulf %n, %f : f32
    linalg.yield %p : f32
  } -> tensor<64x2x32xf32>
  %1 = tensor.collapse_shape %0 [[0], [1, 2]] : tensor<64x2x32xf32> into tensor<64x64xf32>
  %2 = linalg.transpose ins(%1 : tensor<64x64xf32>) outs(%e1 : tensor<64x64xf32>) permutation = [1, 0]
  %3 = linalg.matmul ins(%x, %2 : tensor<1x64xf32>, tensor<64x64xf32>) outs(%f0 : tensor<1x64xf32>) -> tensor<1x64xf32>
  %4 = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]} ins(%3 : tensor<1x64xf32>) outs(%e2 : tensor<1x64xf32>) {
  ^bb0(%b: f32, %o: f32):
    %p = math.exp %b : f32
    linalg.yield %p : f32
  } -> tensor<1x64xf32>
  %w = arith.constant dense<3> : tensor<64x2x32xi8>
  %5 = linalg.generic {indexing_maps = [#v, #scale, #v], iterator_types = ["parallel", "parallel", "parallel"]} ins(%w, %s : tensor<64x2x32xi8>, tensor<64x2xf16>) outs(%e : tensor<64x2x32xf32>) {
  ^bb0(%b: i8, %h: f16, %o: f32):
    %n = arith.sitofp %b : i8 to f32
    %f = arith.extf %h : f16 to f32
    %p = arith.mulf %n, %f : f32
    linalg.yield %p : f32
  } -> tensor<64x2x32xf32>
  %6 = tensor.collapse_shape %5 [[0], [1, 2]] : tensor<64x2x32xf32> into tensor<64x64xf32>
  %7 = linalg.transpose ins(%6 : tensor<64x64xf32>) outs(%e1 : tensor<64x64xf32>) permutation = [1, 0]
  %8 = linalg.matmul ins(%x, %7 : tensor<1x64xf32>, tensor<64x64xf32>) outs(%f0 : tensor<1x64xf32>) -> tensor<1x64xf32>
  %9 = linalg.generic {indexing_maps = [#v, #scale, #v], iterator_types = ["parallel", "parallel", "parallel"]} ins(%u, %t : tensor<64x2x32xi8>, tensor<64x2xf32>) outs(%e : tensor<64x2x32xf32>) {
  ^bb0(%b: i8, %h: f32, %o: f32):
    %n = arith.sitofp %b : i8 to f32
    %p = arith.mulf %n, %h : f32
    linalg.yield %p : f32
  } -> tensor<64x2x32xf32>
  %10 = tensor.collapse_shape %9 [[0], [1, 2]] : tensor<64x2x32xf32> into tensor<64x64xf32>
  %11 = linalg.transpose ins(%10 : tensor<64x64xf32>) outs(%e1 : tensor<64x64xf32>) permutation = [1, 0]
  %12 = linalg.matmul ins(%x, %11 : tensor<1x64xf32>, tensor<64x64xf32>) outs(%f0 : tensor<1x64xf32>) -> tensor<1x64xf32>
  return %4, %8, %12 : tensor<1x64xf32>, tensor<1x64xf32>, tensor<1x64xf32>
}
