// RUN: unmess-opt --pipeline reference-library-functions %s | filecheck %s

#vector = affine_map<(d0) -> (d0)>

// Functions of f32 are computed in f64, with a branch for arguments that few programs have.
// CHECK-LABEL: func.func @narrow(
// CHECK-NOT:     math.{{log|sin}}
// CHECK:         scf.if
// CHECK:         } else {
// CHECK-NOT:     math.{{log|sin}}
// CHECK:         arith.truncf %{{.*}} : f64 to f32
// CHECK-NOT:     math.{{log|sin}}
// CHECK:         return
func.func @narrow(%x: tensor<65536xf32>) -> tensor<65536xf32> {
  %e = tensor.empty() : tensor<65536xf32>
  %0 = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]} ins(%x : tensor<65536xf32>) outs(%e : tensor<65536xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = math.sin %in : f32
    %2 = math.log1p %1 : f32
    linalg.yield %2 : f32
  } -> tensor<65536xf32>
  return %0 : tensor<65536xf32>
}

// Results of bf16 are rounded to f32 first, as in eager.
// CHECK-LABEL: func.func @half(
// CHECK:         arith.extf %{{.*}} : bf16 to f32
// CHECK:         arith.extf %{{.*}} : f32 to f64
// CHECK:         arith.truncf %{{.*}} : f64 to f32
// CHECK:         arith.truncf %{{.*}} : f32 to bf16
func.func @half(%x: tensor<65536xbf16>) -> tensor<65536xbf16> {
  %e = tensor.empty() : tensor<65536xbf16>
  %0 = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]} ins(%x : tensor<65536xbf16>) outs(%e : tensor<65536xbf16>) {
  ^bb0(%in: bf16, %out: bf16):
    %1 = math.cosh %in : bf16
    linalg.yield %1 : bf16
  } -> tensor<65536xbf16>
  return %0 : tensor<65536xbf16>
}

// Intermediate values of f64 do not need the C library's last digit.
// CHECK-LABEL: func.func @between(
// CHECK-NOT:     math.exp
// CHECK:         return
func.func @between(%x: tensor<65536xf32>) -> tensor<65536xf32> {
  %e = tensor.empty() : tensor<65536xf32>
  %0 = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]} ins(%x : tensor<65536xf32>) outs(%e : tensor<65536xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.extf %in : f32 to f64
    %2 = math.exp %1 : f64
    %3 = arith.truncf %2 : f64 to f32
    linalg.yield %3 : f32
  } -> tensor<65536xf32>
  return %0 : tensor<65536xf32>
}

// Results of f64 do.
// CHECK-LABEL: func.func @wide(
// CHECK:         math.exp %{{.*}} : f64
func.func @wide(%x: tensor<65536xf64>) -> tensor<65536xf64> {
  %e = tensor.empty() : tensor<65536xf64>
  %0 = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]} ins(%x : tensor<65536xf64>) outs(%e : tensor<65536xf64>) {
  ^bb0(%in: f64, %out: f64):
    %1 = math.exp %in : f64
    linalg.yield %1 : f64
  } -> tensor<65536xf64>
  return %0 : tensor<65536xf64>
}

// For a few elements, compiling the arithmetic would take longer than the calls.
// CHECK-LABEL: func.func @few(
// CHECK:         math.sin %{{.*}} : f32
func.func @few(%x: tensor<64xf32>) -> tensor<64xf32> {
  %e = tensor.empty() : tensor<64xf32>
  %0 = linalg.generic {indexing_maps = [#vector, #vector], iterator_types = ["parallel"]} ins(%x : tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = math.sin %in : f32
    linalg.yield %1 : f32
  } -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

// LLVM does not vectorize short sums. Without vectors, the C library's logarithm is faster.
// CHECK-LABEL: func.func @short_sum(
// CHECK-NOT:     math.log1p
// CHECK:         math.log %{{.*}} : f32
// CHECK-NOT:     math.log1p
// CHECK:         return
func.func @short_sum(%x: tensor<65536x8xf32>, %sum: tensor<65536xf32>) -> tensor<65536xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<65536x8xf32>) outs(%sum : tensor<65536xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = math.log1p %in : f32
    %2 = math.log %1 : f32
    %3 = arith.addf %out, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<65536xf32>
  return %0 : tensor<65536xf32>
}
