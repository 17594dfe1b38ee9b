module @jit_functions attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<19xf32>, %arg1: tensor<19xf32>) -> (tensor<38x19xf32> {jax.result_info = "result[0]"}, tensor<4x19xi1> {jax.result_info = "result[1]"}) {
    %cst = stablehlo.constant dense<-9.900000e-01> : tensor<f32>
    %cst_0 = stablehlo.constant dense<9.900000e-01> : tensor<f32>
    %0 = call @clip(%arg0, %cst, %cst_0) : (tensor<19xf32>, tensor<f32>, tensor<f32>) -> tensor<19xf32>
    %1 = chlo.erf %arg0 : tensor<19xf32> -> tensor<19xf32>
    %2 = chlo.erfc %arg0 : tensor<19xf32> -> tensor<19xf32>
    %3 = chlo.erf_inv %0 : tensor<19xf32> -> tensor<19xf32>
    %4 = chlo.lgamma %arg0 : tensor<19xf32> -> tensor<19xf32>
    %5 = stablehlo.abs %arg0 : tensor<19xf32>
    %cst_1 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %6 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<19xf32>
    %7 = stablehlo.add %5, %6 : tensor<19xf32>
    %8 = chlo.digamma %7 : tensor<19xf32> -> tensor<19xf32>
    %9 = stablehlo.tan %0 : tensor<19xf32>
    %10 = stablehlo.atan2 %arg0, %arg1 : tensor<19xf32>
    %11 = stablehlo.exponential_minus_one %arg0 : tensor<19xf32>
    %12 = stablehlo.abs %arg0 : tensor<19xf32>
    %13 = stablehlo.log_plus_one %12 : tensor<19xf32>
    %14 = chlo.sinh %0 : tensor<19xf32> -> tensor<19xf32>
    %15 = chlo.asin %0 : tensor<19xf32> -> tensor<19xf32>
    %16 = chlo.acos %0 : tensor<19xf32> -> tensor<19xf32>
    %17 = chlo.atan %arg0 : tensor<19xf32> -> tensor<19xf32>
    %18 = chlo.asinh %arg0 : tensor<19xf32> -> tensor<19xf32>
    %19 = chlo.atanh %0 : tensor<19xf32> -> tensor<19xf32>
    %20 = stablehlo.cbrt %arg0 : tensor<19xf32>
    %21 = stablehlo.abs %arg0 : tensor<19xf32>
    %22 = stablehlo.rsqrt %21 : tensor<19xf32>
    %23 = stablehlo.sign %arg0 : tensor<19xf32>
    %24 = stablehlo.floor %arg0 : tensor<19xf32>
    %25 = stablehlo.ceil %arg0 : tensor<19xf32>
    %26 = stablehlo.round_nearest_afz %arg0 : tensor<19xf32>
    %27 = call @round(%arg0) : (tensor<19xf32>) -> tensor<19xf32>
    %28 = stablehlo.abs %arg0 : tensor<19xf32>
    %29 = stablehlo.power %28, %arg1 : tensor<19xf32>
    %30 = call @remainder(%arg0, %arg1) : (tensor<19xf32>, tensor<19xf32>) -> tensor<19xf32>
    %31 = stablehlo.negate %arg0 : tensor<19xf32>
    %32 = stablehlo.exponential %31 : tensor<19xf32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %33 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<19xf32>
    %34 = stablehlo.add %33, %32 : tensor<19xf32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %35 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<19xf32>
    %36 = stablehlo.divide %35, %34 : tensor<19xf32>
    %37 = stablehlo.sqrt %arg0 : tensor<19xf32>
    %38 = call @softplus(%arg0) : (tensor<19xf32>) -> tensor<19xf32>
    %cst_4 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %39 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<19xf32>
    %40 = stablehlo.multiply %39, %arg0 : tensor<19xf32>
    %41 = stablehlo.negate %arg0 : tensor<19xf32>
    %cst_5 = stablehlo.constant dense<0.707106769> : tensor<f32>
    %42 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<19xf32>
    %43 = stablehlo.multiply %41, %42 : tensor<19xf32>
    %44 = chlo.erfc %43 : tensor<19xf32> -> tensor<19xf32>
    %45 = stablehlo.multiply %40, %44 : tensor<19xf32>
    %46 = stablehlo.maximum %arg0, %arg1 : tensor<19xf32>
    %47 = stablehlo.cosine %0 : tensor<19xf32>
    %48 = stablehlo.minimum %arg1, %arg0 : tensor<19xf32>
    %cst_6 = stablehlo.constant dense<0.693147182> : tensor<f32>
    %49 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<19xf32>
    %50 = stablehlo.multiply %49, %arg0 : tensor<19xf32>
    %51 = stablehlo.exponential %50 : tensor<19xf32>
    %52 = stablehlo.abs %arg0 : tensor<19xf32>
    %53 = stablehlo.log %52 : tensor<19xf32>
    %54 = chlo.next_after %arg0, %arg1 : tensor<19xf32>, tensor<19xf32> -> tensor<19xf32>
    %55 = stablehlo.sine %0 : tensor<19xf32>
    %c = stablehlo.constant dense<-1> : tensor<i32>
    %c_7 = stablehlo.constant dense<1> : tensor<i32>
    %56 = call @clip_0(%arg0, %c, %c_7) : (tensor<19xf32>, tensor<i32>, tensor<i32>) -> tensor<19xf32>
    %57 = stablehlo.reduce_precision %arg0, format = e5m10 : tensor<19xf32>
    %58 = stablehlo.maximum %arg0, %arg1 : tensor<19xf32>
    %59 = stablehlo.subtract %arg0, %arg1 : tensor<19xf32>
    %60 = stablehlo.compare NE, %59, %59, FLOAT : (tensor<19xf32>, tensor<19xf32>) -> tensor<19xi1>
    %61 = stablehlo.add %arg0, %arg1 : tensor<19xf32>
    %62 = stablehlo.abs %59 : tensor<19xf32>
    %63 = stablehlo.negate %62 : tensor<19xf32>
    %64 = stablehlo.exponential %63 : tensor<19xf32>
    %65 = stablehlo.log_plus_one %64 : tensor<19xf32>
    %66 = stablehlo.add %58, %65 : tensor<19xf32>
    %67 = stablehlo.select %60, %61, %66 : tensor<19xi1>, tensor<19xf32>
    %68 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %69 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %70 = stablehlo.broadcast_in_dim %3, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %71 = stablehlo.broadcast_in_dim %4, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %72 = stablehlo.broadcast_in_dim %8, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %73 = stablehlo.broadcast_in_dim %9, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %74 = stablehlo.broadcast_in_dim %10, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %75 = stablehlo.broadcast_in_dim %11, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %76 = stablehlo.broadcast_in_dim %13, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %77 = stablehlo.broadcast_in_dim %14, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %78 = stablehlo.broadcast_in_dim %15, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %79 = stablehlo.broadcast_in_dim %16, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %80 = stablehlo.broadcast_in_dim %17, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %81 = stablehlo.broadcast_in_dim %18, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %82 = stablehlo.broadcast_in_dim %19, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %83 = stablehlo.broadcast_in_dim %20, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %84 = stablehlo.broadcast_in_dim %22, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %85 = stablehlo.broadcast_in_dim %23, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %86 = stablehlo.broadcast_in_dim %24, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %87 = stablehlo.broadcast_in_dim %25, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %88 = stablehlo.broadcast_in_dim %26, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %89 = stablehlo.broadcast_in_dim %27, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %90 = stablehlo.broadcast_in_dim %29, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %91 = stablehlo.broadcast_in_dim %30, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %92 = stablehlo.broadcast_in_dim %36, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %93 = stablehlo.broadcast_in_dim %37, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %94 = stablehlo.broadcast_in_dim %38, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %95 = stablehlo.broadcast_in_dim %45, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %96 = stablehlo.broadcast_in_dim %46, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %97 = stablehlo.broadcast_in_dim %47, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %98 = stablehlo.broadcast_in_dim %48, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %99 = stablehlo.broadcast_in_dim %51, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %100 = stablehlo.broadcast_in_dim %53, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %101 = stablehlo.broadcast_in_dim %54, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %102 = stablehlo.broadcast_in_dim %55, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %103 = stablehlo.broadcast_in_dim %56, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %104 = stablehlo.broadcast_in_dim %57, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %105 = stablehlo.broadcast_in_dim %67, dims = [1] : (tensor<19xf32>) -> tensor<1x19xf32>
    %106 = stablehlo.concatenate %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83, dim = 0 : (tensor<1x19xf32>, tensor<1x19xf32>, tensor<1x19xf32>, tensor<1x19xf32>, tensor<1x19xf32>, tensor<1x19xf32>, tensor<1x19xf32>, tensor<1x19xf32>, tensor<1x19xf32>, tensor<1x19xf32>, tensor<1x19xf32>, tensor<1x19xf32>, tensor<1x19xf32>, tensor<1x19xf32>, tensor<1x19xf32>, tensor<1x19xf32>) -> tensor<16x19xf32>
    %107 = stablehlo.concatenate %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, dim = 0 : (tensor<1x19xf32>, tensor<1x19xf32>, tensor<1x19xf32>, tensor<1x19xf32>, tensor<1x19xf32>, tensor<1x19xf32>, tensor<1x19xf32>, tensor<1x19xf32>, tensor<1x19xf32>, tensor<1x19xf32>, tensor<1x19xf32>, tensor<1x19xf32>, tensor<1x19xf32>, tensor<1x19xf32>, tensor<1x19xf32>, tensor<1x19xf32>) -> tensor<16x19xf32>
    %108 = stablehlo.concatenate %100, %101, %102, %103, %104, %105, dim = 0 : (tensor<1x19xf32>, tensor<1x19xf32>, tensor<1x19xf32>, tensor<1x19xf32>, tensor<1x19xf32>, tensor<1x19xf32>) -> tensor<6x19xf32>
    %109 = stablehlo.concatenate %106, %107, %108, dim = 0 : (tensor<16x19xf32>, tensor<16x19xf32>, tensor<6x19xf32>) -> tensor<38x19xf32>
    %110 = stablehlo.is_finite %arg0 : (tensor<19xf32>) -> tensor<19xi1>
    %111 = stablehlo.compare NE, %arg0, %arg0, FLOAT : (tensor<19xf32>, tensor<19xf32>) -> tensor<19xi1>
    %112 = stablehlo.compare EQ, %arg0, %arg1, FLOAT : (tensor<19xf32>, tensor<19xf32>) -> tensor<19xi1>
    %113 = stablehlo.compare LT, %arg0, %arg1, FLOAT : (tensor<19xf32>, tensor<19xf32>) -> tensor<19xi1>
    %114 = stablehlo.broadcast_in_dim %110, dims = [1] : (tensor<19xi1>) -> tensor<1x19xi1>
    %115 = stablehlo.broadcast_in_dim %111, dims = [1] : (tensor<19xi1>) -> tensor<1x19xi1>
    %116 = stablehlo.broadcast_in_dim %112, dims = [1] : (tensor<19xi1>) -> tensor<1x19xi1>
    %117 = stablehlo.broadcast_in_dim %113, dims = [1] : (tensor<19xi1>) -> tensor<1x19xi1>
    %118 = stablehlo.concatenate %114, %115, %116, %117, dim = 0 : (tensor<1x19xi1>, tensor<1x19xi1>, tensor<1x19xi1>, tensor<1x19xi1>) -> tensor<4x19xi1>
    return %109, %118 : tensor<38x19xf32>, tensor<4x19xi1>
  }
  func.func private @clip(%arg0: tensor<19xf32>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> tensor<19xf32> {
    %0 = stablehlo.convert %arg1 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<19xf32>
    %2 = stablehlo.maximum %1, %arg0 : tensor<19xf32>
    %3 = stablehlo.convert %arg2 : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<f32>) -> tensor<19xf32>
    %5 = stablehlo.minimum %4, %2 : tensor<19xf32>
    return %5 : tensor<19xf32>
  }
  func.func private @round(%arg0: tensor<19xf32>) -> tensor<19xf32> {
    %0 = stablehlo.round_nearest_even %arg0 : tensor<19xf32>
    return %0 : tensor<19xf32>
  }
  func.func private @remainder(%arg0: tensor<19xf32>, %arg1: tensor<19xf32>) -> tensor<19xf32> {
    %0 = stablehlo.remainder %arg0, %arg1 : tensor<19xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<19xf32>
    %2 = stablehlo.compare NE, %0, %1, FLOAT : (tensor<19xf32>, tensor<19xf32>) -> tensor<19xi1>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<19xf32>
    %4 = stablehlo.compare LT, %0, %3, FLOAT : (tensor<19xf32>, tensor<19xf32>) -> tensor<19xi1>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<19xf32>
    %6 = stablehlo.compare LT, %arg1, %5, FLOAT : (tensor<19xf32>, tensor<19xf32>) -> tensor<19xi1>
    %7 = stablehlo.compare NE, %4, %6, UNSIGNED : (tensor<19xi1>, tensor<19xi1>) -> tensor<19xi1>
    %8 = stablehlo.and %7, %2 : tensor<19xi1>
    %9 = stablehlo.add %0, %arg1 : tensor<19xf32>
    %10 = stablehlo.select %8, %9, %0 : tensor<19xi1>, tensor<19xf32>
    return %10 : tensor<19xf32>
  }
  func.func private @softplus(%arg0: tensor<19xf32>) -> tensor<19xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<19xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<19xf32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<19xf32>
    %3 = stablehlo.subtract %arg0, %2 : tensor<19xf32>
    %4 = stablehlo.compare NE, %3, %3, FLOAT : (tensor<19xf32>, tensor<19xf32>) -> tensor<19xi1>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<19xf32>
    %6 = stablehlo.add %arg0, %5 : tensor<19xf32>
    %7 = stablehlo.abs %3 : tensor<19xf32>
    %8 = stablehlo.negate %7 : tensor<19xf32>
    %9 = stablehlo.exponential %8 : tensor<19xf32>
    %10 = stablehlo.log_plus_one %9 : tensor<19xf32>
    %11 = stablehlo.add %1, %10 : tensor<19xf32>
    %12 = stablehlo.select %4, %6, %11 : tensor<19xi1>, tensor<19xf32>
    return %12 : tensor<19xf32>
  }
  func.func private @clip_0(%arg0: tensor<19xf32>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<19xf32> {
    %0 = stablehlo.convert %arg1 : (tensor<i32>) -> tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<19xf32>
    %2 = stablehlo.maximum %1, %arg0 : tensor<19xf32>
    %3 = stablehlo.convert %arg2 : (tensor<i32>) -> tensor<f32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<f32>) -> tensor<19xf32>
    %5 = stablehlo.minimum %4, %2 : tensor<19xf32>
    return %5 : tensor<19xf32>
  }
}
