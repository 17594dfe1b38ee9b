// RUN: unmess-opt --pipeline iree-separate-packing %s | filecheck %s

// With 16 rows per tile, each matrix needs 7 rows of padding. Both matrices in one need 14 rows, so
// the number of tiles is 50 both times. The barrier is before the transposition, which IREE fuses.
// CHECK-LABEL: func.func @transposed(
// CHECK:         %[[SCALED:.*]] = linalg.generic
// CHECK:         %[[KEPT:.*]] = "util.optimization_barrier"(%[[SCALED]]) : (tensor<2x393x96xf32>) -> tensor<2x393x96xf32>
// CHECK:         %[[T:.*]] = linalg.transpose ins(%[[KEPT]] :
// CHECK-NOT:     optimization_barrier
// CHECK:         linalg.batch_matmul ins(%arg0, %[[T]] :
#matrix = affine_map<(b, m, k) -> (b, m, k)>
#row = affine_map<(b, m, k) -> (k)>
func.func @transposed(%q: tensor<2x64x96xf32>, %k: tensor<2x393x96xf32>, %w: tensor<96xf32>) -> tensor<2x64x393xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x393x96xf32>
  %0 = linalg.generic {indexing_maps = [#matrix, #row, #matrix], iterator_types = ["parallel", "parallel", "parallel"]} ins(%k, %w : tensor<2x393x96xf32>, tensor<96xf32>) outs(%e : tensor<2x393x96xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    linalg.yield %p : f32
  } -> tensor<2x393x96xf32>
  %e1 = tensor.empty() : tensor<2x96x393xf32>
  %1 = linalg.transpose ins(%0 : tensor<2x393x96xf32>) outs(%e1 : tensor<2x96x393xf32>) permutation = [0, 2, 1]
  %e2 = tensor.empty() : tensor<2x64x393xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2x64x393xf32>) -> tensor<2x64x393xf32>
  %2 = linalg.batch_matmul ins(%q, %1 : tensor<2x64x96xf32>, tensor<2x96x393xf32>) outs(%f : tensor<2x64x393xf32>) -> tensor<2x64x393xf32>
  return %2 : tensor<2x64x393xf32>
}

// A transposition that keeps the order of matrices and rows can also be fused into packing. Both
// operands of this product are affected.
// CHECK-LABEL: func.func @both(
// CHECK:         %[[L:.*]] = linalg.transpose {{.*}} permutation = [1, 2, 0]
// CHECK:         %[[R:.*]] = tensor.pad
// CHECK-DAG:     %[[L1:.*]] = "util.optimization_barrier"(%[[L]])
// CHECK-DAG:     %[[R1:.*]] = "util.optimization_barrier"(%[[R]])
// CHECK:         linalg.batch_matmul ins(%[[L1]], %[[R1]] :
func.func @both(%l: tensor<64x6x31xf32>, %r: tensor<6x64x29xf32>) -> tensor<6x31x30xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6x31x64xf32>
  %0 = linalg.transpose ins(%l : tensor<64x6x31xf32>) outs(%e : tensor<6x31x64xf32>) permutation = [1, 2, 0]
  %1 = tensor.pad %r low[0, 0, 0] high[0, 0, 1] {
  ^bb0(%b: index, %k: index, %n: index):
    tensor.yield %zero : f32
  } : tensor<6x64x29xf32> to tensor<6x64x30xf32>
  %e1 = tensor.empty() : tensor<6x31x30xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e1 : tensor<6x31x30xf32>) -> tensor<6x31x30xf32>
  %2 = linalg.batch_matmul ins(%0, %1 : tensor<6x31x64xf32>, tensor<6x64x30xf32>) outs(%f : tensor<6x31x30xf32>) -> tensor<6x31x30xf32>
  return %2 : tensor<6x31x30xf32>
}

// Matrices of 32 rows need no padding. For a single matrix, padding is at the end in either order.
// CHECK-LABEL: func.func @aligned(
// CHECK-NOT:     optimization_barrier
func.func @aligned(%l: tensor<64x2x32xf32>, %r: tensor<2x64x200xf32>, %s: tensor<393x96xf32>, %t: tensor<393x96xf32>) -> (tensor<2x32x200xf32>, tensor<393x393xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x32x64xf32>
  %0 = linalg.transpose ins(%l : tensor<64x2x32xf32>) outs(%e : tensor<2x32x64xf32>) permutation = [1, 2, 0]
  %e1 = tensor.empty() : tensor<2x32x200xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e1 : tensor<2x32x200xf32>) -> tensor<2x32x200xf32>
  %1 = linalg.batch_matmul ins(%0, %r : tensor<2x32x64xf32>, tensor<2x64x200xf32>) outs(%f : tensor<2x32x200xf32>) -> tensor<2x32x200xf32>
  %2 = arith.mulf %s, %t : tensor<393x96xf32>
  %e2 = tensor.empty() : tensor<96x393xf32>
  %3 = linalg.transpose ins(%2 : tensor<393x96xf32>) outs(%e2 : tensor<96x393xf32>) permutation = [1, 0]
  %e3 = tensor.empty() : tensor<393x393xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<393x393xf32>) -> tensor<393x393xf32>
  %4 = linalg.matmul ins(%2, %3 : tensor<393x96xf32>, tensor<96x393xf32>) outs(%f3 : tensor<393x393xf32>) -> tensor<393x393xf32>
  return %1, %4 : tensor<2x32x200xf32>, tensor<393x393xf32>
}

// A contraction in the form of a `linalg.generic`.
// CHECK-LABEL: func.func @unnamed(
// CHECK:         %[[L:.*]] = arith.mulf
// CHECK:         %[[L1:.*]] = "util.optimization_barrier"(%[[L]])
// CHECK:         linalg.generic {{.*}} ins(%[[L1]], %arg1 :
#lhs = affine_map<(b, m, n, k) -> (b, m, k)>
#rhs = affine_map<(b, m, n, k) -> (b, n, k)>
#result = affine_map<(b, m, n, k) -> (b, m, n)>
func.func @unnamed(%l: tensor<2x15x64xf32>, %r: tensor<2x15x64xf32>, %i: tensor<2x15x15xf32>) -> tensor<2x15x15xf32> {
  %0 = arith.mulf %l, %l : tensor<2x15x64xf32>
  %1 = linalg.generic {indexing_maps = [#lhs, #rhs, #result], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%0, %r : tensor<2x15x64xf32>, tensor<2x15x64xf32>) outs(%i : tensor<2x15x15xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<2x15x15xf32>
  return %1 : tensor<2x15x15xf32>
}

// IREE would pack a slice that is not contiguous in the kernel of the product. The first rows are
// contiguous. The transposition of a slice is fused into the packing.
// CHECK-LABEL: func.func @slices(
// CHECK:         %[[ROWS:.*]] = tensor.extract_slice %arg0[0, 0]
// CHECK:         %[[COLUMNS:.*]] = tensor.extract_slice %arg1[0, 256]
// CHECK:         %[[KEPT:.*]] = "util.optimization_barrier"(%[[COLUMNS]])
// CHECK:         %[[TURNED:.*]] = linalg.transpose ins(%[[KEPT]] :
// CHECK:         linalg.matmul ins(%[[ROWS]], %[[TURNED]] :
func.func @slices(%x: tensor<64x512xf32>, %w: tensor<512x768xf32>) -> tensor<32x512xf32> {
  %zero = arith.constant 0.0 : f32
  %rows = tensor.extract_slice %x[0, 0] [32, 512] [1, 1] : tensor<64x512xf32> to tensor<32x512xf32>
  %columns = tensor.extract_slice %w[0, 256] [512, 512] [1, 1] : tensor<512x768xf32> to tensor<512x512xf32>
  %e = tensor.empty() : tensor<512x512xf32>
  %t = linalg.transpose ins(%columns : tensor<512x512xf32>) outs(%e : tensor<512x512xf32>) permutation = [1, 0]
  %e1 = tensor.empty() : tensor<32x512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e1 : tensor<32x512xf32>) -> tensor<32x512xf32>
  %0 = linalg.matmul ins(%rows, %t : tensor<32x512xf32>, tensor<512x512xf32>) outs(%f : tensor<32x512xf32>) -> tensor<32x512xf32>
  return %0 : tensor<32x512xf32>
}

// IREE packs the slice of a constant when it loads the program.
// CHECK-LABEL: func.func @slice_of_constant(
// CHECK-NOT:     optimization_barrier
func.func @slice_of_constant(%x: tensor<32x512xf32>) -> tensor<32x512xf32> {
  %zero = arith.constant 0.0 : f32
  %w = arith.constant dense<0.5> : tensor<512x768xf32>
  %columns = tensor.extract_slice %w[0, 256] [512, 512] [1, 1] : tensor<512x768xf32> to tensor<512x512xf32>
  %e1 = tensor.empty() : tensor<32x512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e1 : tensor<32x512xf32>) -> tensor<32x512xf32>
  %0 = linalg.matmul ins(%x, %columns : tensor<32x512xf32>, tensor<512x512xf32>) outs(%f : tensor<32x512xf32>) -> tensor<32x512xf32>
  return %0 : tensor<32x512xf32>
}
