module @jit_mlp_bf16 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x8xbf16>, %arg1: tensor<8x16xbf16>, %arg2: tensor<16xbf16>) -> (tensor<4x16xbf16> {jax.result_info = "result[0]"}, tensor<16xbf16> {jax.result_info = "result[1]"}, tensor<f32> {jax.result_info = "result[2]"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xbf16>
    %1 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<16xbf16>) -> tensor<1x16xbf16>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x16xbf16>) -> tensor<4x16xbf16>
    %3 = stablehlo.add %0, %2 : tensor<4x16xbf16>
    %4 = stablehlo.multiply %3, %3 : tensor<4x16xbf16>
    %5 = stablehlo.multiply %4, %3 : tensor<4x16xbf16>
    %cst = stablehlo.constant dense<4.467770e-02> : tensor<bf16>
    %6 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<bf16>) -> tensor<4x16xbf16>
    %7 = stablehlo.multiply %6, %5 : tensor<4x16xbf16>
    %8 = stablehlo.add %3, %7 : tensor<4x16xbf16>
    %cst_0 = stablehlo.constant dense<7.968750e-01> : tensor<bf16>
    %9 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<bf16>) -> tensor<4x16xbf16>
    %10 = stablehlo.multiply %9, %8 : tensor<4x16xbf16>
    %11 = stablehlo.tanh %10 : tensor<4x16xbf16>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<bf16>
    %12 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<bf16>) -> tensor<4x16xbf16>
    %13 = stablehlo.add %12, %11 : tensor<4x16xbf16>
    %cst_2 = stablehlo.constant dense<5.000000e-01> : tensor<bf16>
    %14 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<bf16>) -> tensor<4x16xbf16>
    %15 = stablehlo.multiply %14, %13 : tensor<4x16xbf16>
    %16 = stablehlo.multiply %3, %15 : tensor<4x16xbf16>
    %17 = stablehlo.convert %16 : (tensor<4x16xbf16>) -> tensor<4x16xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %18 = stablehlo.reduce(%17 init: %cst_3) applies stablehlo.add across dimensions = [0] : (tensor<4x16xf32>, tensor<f32>) -> tensor<16xf32>
    %19 = stablehlo.convert %18 : (tensor<16xf32>) -> tensor<16xbf16>
    %20 = stablehlo.convert %16 : (tensor<4x16xbf16>) -> tensor<4x16xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %21 = stablehlo.reduce(%20 init: %cst_4) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<f32>
    %cst_5 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %22 = stablehlo.divide %21, %cst_5 : tensor<f32>
    return %16, %19, %22 : tensor<4x16xbf16>, tensor<16xbf16>, tensor<f32>
  }
}
