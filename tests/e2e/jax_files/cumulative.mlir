module @jit_cumulative attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x7xf32>, %arg1: tensor<6xi32>) -> (tensor<3x7xf32> {jax.result_info = "result[0]"}, tensor<3x7xf32> {jax.result_info = "result[1]"}, tensor<3x7xf32> {jax.result_info = "result[2]"}, tensor<6xi32> {jax.result_info = "result[3]"}, tensor<3x7xf32> {jax.result_info = "result[4]"}, tensor<3x7xf32> {jax.result_info = "result[5][0]"}, tensor<3x7xf32> {jax.result_info = "result[5][1]"}) {
    %0 = call @cumsum(%arg0) : (tensor<3x7xf32>) -> tensor<3x7xf32>
    %1 = call @cumprod(%arg0) : (tensor<3x7xf32>) -> tensor<3x7xf32>
    %2 = call @cummax(%arg0) : (tensor<3x7xf32>) -> tensor<3x7xf32>
    %3 = call @cumsum_2(%arg1) : (tensor<6xi32>) -> tensor<6xi32>
    %4 = call @cumlogsumexp(%arg0) : (tensor<3x7xf32>) -> tensor<3x7xf32>
    %5 = stablehlo.slice %arg0 [0:3, 0:6:2] : (tensor<3x7xf32>) -> tensor<3x3xf32>
    %6 = stablehlo.slice %arg0 [0:3, 0:6:2] : (tensor<3x7xf32>) -> tensor<3x3xf32>
    %7 = stablehlo.slice %arg0 [0:3, 1:7:2] : (tensor<3x7xf32>) -> tensor<3x3xf32>
    %8 = stablehlo.slice %arg0 [0:3, 1:7:2] : (tensor<3x7xf32>) -> tensor<3x3xf32>
    %9 = stablehlo.multiply %5, %7 : tensor<3x3xf32>
    %10 = stablehlo.multiply %6, %7 : tensor<3x3xf32>
    %11 = stablehlo.add %10, %8 : tensor<3x3xf32>
    %12 = stablehlo.slice %9 [0:3, 0:2:2] : (tensor<3x3xf32>) -> tensor<3x1xf32>
    %13 = stablehlo.slice %11 [0:3, 0:2:2] : (tensor<3x3xf32>) -> tensor<3x1xf32>
    %14 = stablehlo.slice %9 [0:3, 1:3:2] : (tensor<3x3xf32>) -> tensor<3x1xf32>
    %15 = stablehlo.slice %11 [0:3, 1:3:2] : (tensor<3x3xf32>) -> tensor<3x1xf32>
    %16 = stablehlo.multiply %12, %14 : tensor<3x1xf32>
    %17 = stablehlo.multiply %13, %14 : tensor<3x1xf32>
    %18 = stablehlo.add %17, %15 : tensor<3x1xf32>
    %19 = stablehlo.slice %9 [0:3, 2:3:2] : (tensor<3x3xf32>) -> tensor<3x1xf32>
    %20 = stablehlo.slice %11 [0:3, 2:3:2] : (tensor<3x3xf32>) -> tensor<3x1xf32>
    %21 = stablehlo.multiply %16, %19 : tensor<3x1xf32>
    %22 = stablehlo.multiply %18, %19 : tensor<3x1xf32>
    %23 = stablehlo.add %22, %20 : tensor<3x1xf32>
    %24 = stablehlo.slice %9 [0:3, 0:1] : (tensor<3x3xf32>) -> tensor<3x1xf32>
    %25 = stablehlo.concatenate %24, %21, dim = 1 : (tensor<3x1xf32>, tensor<3x1xf32>) -> tensor<3x2xf32>
    %26 = stablehlo.slice %11 [0:3, 0:1] : (tensor<3x3xf32>) -> tensor<3x1xf32>
    %27 = stablehlo.concatenate %26, %23, dim = 1 : (tensor<3x1xf32>, tensor<3x1xf32>) -> tensor<3x2xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %28 = stablehlo.pad %25, %cst, low = [0, 0], high = [0, 0], interior = [0, 1] : (tensor<3x2xf32>, tensor<f32>) -> tensor<3x3xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %29 = stablehlo.pad %16, %cst_0, low = [0, 1], high = [0, 1], interior = [0, 1] : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x3xf32>
    %30 = stablehlo.add %28, %29 : tensor<3x3xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %31 = stablehlo.pad %27, %cst_1, low = [0, 0], high = [0, 0], interior = [0, 1] : (tensor<3x2xf32>, tensor<f32>) -> tensor<3x3xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %32 = stablehlo.pad %18, %cst_2, low = [0, 1], high = [0, 1], interior = [0, 1] : (tensor<3x1xf32>, tensor<f32>) -> tensor<3x3xf32>
    %33 = stablehlo.add %31, %32 : tensor<3x3xf32>
    %34 = stablehlo.slice %arg0 [0:3, 2:7:2] : (tensor<3x7xf32>) -> tensor<3x3xf32>
    %35 = stablehlo.slice %arg0 [0:3, 2:7:2] : (tensor<3x7xf32>) -> tensor<3x3xf32>
    %36 = stablehlo.multiply %30, %34 : tensor<3x3xf32>
    %37 = stablehlo.multiply %33, %34 : tensor<3x3xf32>
    %38 = stablehlo.add %37, %35 : tensor<3x3xf32>
    %39 = stablehlo.slice %arg0 [0:3, 0:1] : (tensor<3x7xf32>) -> tensor<3x1xf32>
    %40 = stablehlo.concatenate %39, %36, dim = 1 : (tensor<3x1xf32>, tensor<3x3xf32>) -> tensor<3x4xf32>
    %41 = stablehlo.slice %arg0 [0:3, 0:1] : (tensor<3x7xf32>) -> tensor<3x1xf32>
    %42 = stablehlo.concatenate %41, %38, dim = 1 : (tensor<3x1xf32>, tensor<3x3xf32>) -> tensor<3x4xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %43 = stablehlo.pad %40, %cst_3, low = [0, 0], high = [0, 0], interior = [0, 1] : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x7xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %44 = stablehlo.pad %30, %cst_4, low = [0, 1], high = [0, 1], interior = [0, 1] : (tensor<3x3xf32>, tensor<f32>) -> tensor<3x7xf32>
    %45 = stablehlo.add %43, %44 : tensor<3x7xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %46 = stablehlo.pad %42, %cst_5, low = [0, 0], high = [0, 0], interior = [0, 1] : (tensor<3x4xf32>, tensor<f32>) -> tensor<3x7xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %47 = stablehlo.pad %33, %cst_6, low = [0, 1], high = [0, 1], interior = [0, 1] : (tensor<3x3xf32>, tensor<f32>) -> tensor<3x7xf32>
    %48 = stablehlo.add %46, %47 : tensor<3x7xf32>
    return %0, %1, %2, %3, %4, %45, %48 : tensor<3x7xf32>, tensor<3x7xf32>, tensor<3x7xf32>, tensor<6xi32>, tensor<3x7xf32>, tensor<3x7xf32>, tensor<3x7xf32>
  }
  func.func private @cumsum(%arg0: tensor<3x7xf32>) -> tensor<3x7xf32> {
    %0 = call @cumsum_0(%arg0) : (tensor<3x7xf32>) -> tensor<3x7xf32>
    return %0 : tensor<3x7xf32>
  }
  func.func private @cumsum_0(%arg0: tensor<3x7xf32>) -> tensor<3x7xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<f32>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{base_dilations = array<i64: 1, 1>, padding = dense<[[0, 0], [6, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 1, 7>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %2 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<3x7xf32>, tensor<f32>) -> tensor<3x7xf32>
    return %1 : tensor<3x7xf32>
  }
  func.func private @cumprod(%arg0: tensor<3x7xf32>) -> tensor<3x7xf32> {
    %0 = call @cumprod_1(%arg0) : (tensor<3x7xf32>) -> tensor<3x7xf32>
    return %0 : tensor<3x7xf32>
  }
  func.func private @cumprod_1(%arg0: tensor<3x7xf32>) -> tensor<3x7xf32> {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %0 = "stablehlo.reduce_window"(%arg0, %cst) <{base_dilations = array<i64: 1, 1>, padding = dense<[[2, 0], [0, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 3, 1>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = stablehlo.multiply %arg1, %arg2 : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<3x7xf32>, tensor<f32>) -> tensor<3x7xf32>
    return %0 : tensor<3x7xf32>
  }
  func.func private @cummax(%arg0: tensor<3x7xf32>) -> tensor<3x7xf32> {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<f32>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{base_dilations = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 6]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 1, 7>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %2 = stablehlo.maximum %arg1, %arg2 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<3x7xf32>, tensor<f32>) -> tensor<3x7xf32>
    return %1 : tensor<3x7xf32>
  }
  func.func private @cumsum_2(%arg0: tensor<6xi32>) -> tensor<6xi32> {
    %0 = call @cumsum_3(%arg0) : (tensor<6xi32>) -> tensor<6xi32>
    return %0 : tensor<6xi32>
  }
  func.func private @cumsum_3(%arg0: tensor<6xi32>) -> tensor<6xi32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<i32>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{base_dilations = array<i64: 1>, padding = dense<[[5, 0]]> : tensor<1x2xi64>, window_dilations = array<i64: 1>, window_dimensions = array<i64: 6>, window_strides = array<i64: 1>}> ({
    ^bb0(%arg1: tensor<i32>, %arg2: tensor<i32>):
      %2 = stablehlo.add %arg1, %arg2 : tensor<i32>
      stablehlo.return %2 : tensor<i32>
    }) : (tensor<6xi32>, tensor<i32>) -> tensor<6xi32>
    return %1 : tensor<6xi32>
  }
  func.func private @cumlogsumexp(%arg0: tensor<3x7xf32>) -> tensor<3x7xf32> {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = "stablehlo.reduce_window"(%arg0, %cst) <{base_dilations = array<i64: 1, 1>, padding = dense<[[0, 0], [6, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 1, 7>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = stablehlo.maximum %arg1, %arg2 : tensor<f32>
      %2 = stablehlo.subtract %arg1, %arg2 : tensor<f32>
      %3 = stablehlo.compare NE, %2, %2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %4 = stablehlo.add %arg1, %arg2 : tensor<f32>
      %5 = stablehlo.abs %2 : tensor<f32>
      %6 = stablehlo.negate %5 : tensor<f32>
      %7 = stablehlo.exponential %6 : tensor<f32>
      %8 = stablehlo.log_plus_one %7 : tensor<f32>
      %9 = stablehlo.add %1, %8 : tensor<f32>
      %10 = stablehlo.select %3, %4, %9 : tensor<i1>, tensor<f32>
      stablehlo.return %10 : tensor<f32>
    }) : (tensor<3x7xf32>, tensor<f32>) -> tensor<3x7xf32>
    return %0 : tensor<3x7xf32>
  }
}
