// RUN: unmess-opt --pipeline 'linalg-fuse-elementwise-ops' --pipeline %S/Inputs/user_pass.py:mark %s | filecheck %s
// RUN: unmess-opt --pass-pipeline 'builtin.module(func.func(linalg-fuse-elementwise-ops))' %s | filecheck %s --check-prefix SPELLED
// RUN: not unmess-opt --pass-pipeline 'builtin.module(stablehlo-aggressive-simplification)' %s 2>&1 | filecheck %s --check-prefix NESTING

// A pass, and then a user's function.
// CHECK:        attributes {my.mark = "first"}
// CHECK:          math.exp
// CHECK-NEXT:     math.tanh

// SPELLED-NOT:  my.mark
// SPELLED:        math.exp
// SPELLED-NEXT:   math.tanh

// --pass-pipeline uses MLIR's syntax, so unmess does not wrap passes.
// NESTING:      usage: cannot parse --pass-pipeline: Can't add pass 'StablehloAggressiveSimplificationPass' restricted to 'func.func'
#id = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %e = tensor.empty() : tensor<2xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<2xf32>) outs(%e : tensor<2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = math.exp %in : f32
    linalg.yield %2 : f32
  } -> tensor<2xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%0 : tensor<2xf32>) outs(%e : tensor<2xf32>) {
  ^bb0(%in: f32, %out: f32):
    %2 = math.tanh %in : f32
    linalg.yield %2 : f32
  } -> tensor<2xf32>
  return %1 : tensor<2xf32>
}
