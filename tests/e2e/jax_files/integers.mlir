module @jit_integers attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<7xi32>, %arg1: tensor<7xi32>, %arg2: tensor<7xf32>, %arg3: tensor<7xui8>) -> (tensor<8x7xi32> {jax.result_info = "result[0]"}, tensor<5x7xi32> {jax.result_info = "result[1]"}, tensor<7x7xi32> {jax.result_info = "result[2]"}, tensor<7xi32> {jax.result_info = "result[3][0]"}, tensor<7xi8> {jax.result_info = "result[3][1]"}, tensor<7xui8> {jax.result_info = "result[3][2]"}, tensor<7xi1> {jax.result_info = "result[3][3]"}, tensor<7xui8> {jax.result_info = "result[4][0]"}, tensor<7xui8> {jax.result_info = "result[4][1]"}, tensor<7xui8> {jax.result_info = "result[4][2]"}, tensor<7xf32> {jax.result_info = "result[4][3]"}, tensor<7xi32> {jax.result_info = "result[5][0]"}, tensor<7xi1> {jax.result_info = "result[5][1]"}, tensor<ui8> {jax.result_info = "result[5][2]"}, tensor<ui32> {jax.result_info = "result[5][3]"}, tensor<7xi8> {jax.result_info = "result[5][4]"}, tensor<7xi32> {jax.result_info = "result[6][0]"}, tensor<7xf32> {jax.result_info = "result[6][1]"}) {
    %0 = call @floor_divide(%arg0, %arg1) : (tensor<7xi32>, tensor<7xi32>) -> tensor<7xi32>
    %1 = call @remainder(%arg0, %arg1) : (tensor<7xi32>, tensor<7xi32>) -> tensor<7xi32>
    %2 = stablehlo.divide %arg0, %arg1 : tensor<7xi32>
    %3 = stablehlo.remainder %arg0, %arg1 : tensor<7xi32>
    %4 = stablehlo.shift_left %arg0, %arg1 : tensor<7xi32>
    %5 = stablehlo.shift_right_arithmetic %arg0, %arg1 : tensor<7xi32>
    %6 = stablehlo.and %arg0, %arg1 : tensor<7xi32>
    %7 = stablehlo.or %arg0, %arg1 : tensor<7xi32>
    %8 = stablehlo.broadcast_in_dim %0, dims = [1] : (tensor<7xi32>) -> tensor<1x7xi32>
    %9 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<7xi32>) -> tensor<1x7xi32>
    %10 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<7xi32>) -> tensor<1x7xi32>
    %11 = stablehlo.broadcast_in_dim %3, dims = [1] : (tensor<7xi32>) -> tensor<1x7xi32>
    %12 = stablehlo.broadcast_in_dim %4, dims = [1] : (tensor<7xi32>) -> tensor<1x7xi32>
    %13 = stablehlo.broadcast_in_dim %5, dims = [1] : (tensor<7xi32>) -> tensor<1x7xi32>
    %14 = stablehlo.broadcast_in_dim %6, dims = [1] : (tensor<7xi32>) -> tensor<1x7xi32>
    %15 = stablehlo.broadcast_in_dim %7, dims = [1] : (tensor<7xi32>) -> tensor<1x7xi32>
    %16 = stablehlo.concatenate %8, %9, %10, %11, %12, %13, %14, %15, dim = 0 : (tensor<1x7xi32>, tensor<1x7xi32>, tensor<1x7xi32>, tensor<1x7xi32>, tensor<1x7xi32>, tensor<1x7xi32>, tensor<1x7xi32>, tensor<1x7xi32>) -> tensor<8x7xi32>
    %17 = stablehlo.xor %arg0, %arg1 : tensor<7xi32>
    %18 = stablehlo.not %arg0 : tensor<7xi32>
    %19 = stablehlo.shift_right_logical %arg0, %arg1 : tensor<7xi32>
    %20 = stablehlo.popcnt %arg0 : tensor<7xi32>
    %21 = stablehlo.count_leading_zeros %arg0 : tensor<7xi32>
    %22 = stablehlo.broadcast_in_dim %17, dims = [1] : (tensor<7xi32>) -> tensor<1x7xi32>
    %23 = stablehlo.broadcast_in_dim %18, dims = [1] : (tensor<7xi32>) -> tensor<1x7xi32>
    %24 = stablehlo.broadcast_in_dim %19, dims = [1] : (tensor<7xi32>) -> tensor<1x7xi32>
    %25 = stablehlo.broadcast_in_dim %20, dims = [1] : (tensor<7xi32>) -> tensor<1x7xi32>
    %26 = stablehlo.broadcast_in_dim %21, dims = [1] : (tensor<7xi32>) -> tensor<1x7xi32>
    %27 = stablehlo.concatenate %22, %23, %24, %25, %26, dim = 0 : (tensor<1x7xi32>, tensor<1x7xi32>, tensor<1x7xi32>, tensor<1x7xi32>, tensor<1x7xi32>) -> tensor<5x7xi32>
    %28 = stablehlo.abs %arg0 : tensor<7xi32>
    %29 = stablehlo.sign %arg0 : tensor<7xi32>
    %30 = stablehlo.negate %arg0 : tensor<7xi32>
    %31 = stablehlo.multiply %arg0, %arg1 : tensor<7xi32>
    %32 = stablehlo.multiply %arg0, %arg0 : tensor<7xi32>
    %33 = stablehlo.minimum %arg0, %arg1 : tensor<7xi32>
    %c = stablehlo.constant dense<-3> : tensor<i32>
    %c_0 = stablehlo.constant dense<3> : tensor<i32>
    %34 = call @clip(%arg0, %c, %c_0) : (tensor<7xi32>, tensor<i32>, tensor<i32>) -> tensor<7xi32>
    %35 = stablehlo.broadcast_in_dim %28, dims = [1] : (tensor<7xi32>) -> tensor<1x7xi32>
    %36 = stablehlo.broadcast_in_dim %29, dims = [1] : (tensor<7xi32>) -> tensor<1x7xi32>
    %37 = stablehlo.broadcast_in_dim %30, dims = [1] : (tensor<7xi32>) -> tensor<1x7xi32>
    %38 = stablehlo.broadcast_in_dim %31, dims = [1] : (tensor<7xi32>) -> tensor<1x7xi32>
    %39 = stablehlo.broadcast_in_dim %32, dims = [1] : (tensor<7xi32>) -> tensor<1x7xi32>
    %40 = stablehlo.broadcast_in_dim %33, dims = [1] : (tensor<7xi32>) -> tensor<1x7xi32>
    %41 = stablehlo.broadcast_in_dim %34, dims = [1] : (tensor<7xi32>) -> tensor<1x7xi32>
    %42 = stablehlo.concatenate %35, %36, %37, %38, %39, %40, %41, dim = 0 : (tensor<1x7xi32>, tensor<1x7xi32>, tensor<1x7xi32>, tensor<1x7xi32>, tensor<1x7xi32>, tensor<1x7xi32>, tensor<1x7xi32>) -> tensor<7x7xi32>
    %43 = stablehlo.convert %arg2 : (tensor<7xf32>) -> tensor<7xi32>
    %44 = stablehlo.convert %arg2 : (tensor<7xf32>) -> tensor<7xi8>
    %45 = stablehlo.convert %arg2 : (tensor<7xf32>) -> tensor<7xui8>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %46 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<7xf32>
    %47 = stablehlo.compare NE, %arg2, %46, FLOAT : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xi1>
    %48 = stablehlo.convert %47 : tensor<7xi1>
    %49 = stablehlo.add %arg3, %arg3 : tensor<7xui8>
    %c_1 = stablehlo.constant dense<1> : tensor<ui8>
    %50 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<ui8>) -> tensor<7xui8>
    %51 = stablehlo.shift_right_logical %arg3, %50 : tensor<7xui8>
    %52 = stablehlo.convert %arg1 : (tensor<7xi32>) -> tensor<7xui8>
    %53 = call @floor_divide_0(%arg3, %52) : (tensor<7xui8>, tensor<7xui8>) -> tensor<7xui8>
    %54 = stablehlo.convert %arg3 : (tensor<7xui8>) -> tensor<7xf32>
    %55 = stablehlo.convert %arg3 : (tensor<7xui8>) -> tensor<7xi32>
    %c_2 = stablehlo.constant dense<3> : tensor<ui8>
    %56 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<ui8>) -> tensor<7xui8>
    %57 = stablehlo.compare GT, %arg3, %56, UNSIGNED : (tensor<7xui8>, tensor<7xui8>) -> tensor<7xi1>
    %c_3 = stablehlo.constant dense<0> : tensor<ui8>
    %58 = stablehlo.reduce(%arg3 init: %c_3) applies stablehlo.maximum across dimensions = [0] : (tensor<7xui8>, tensor<ui8>) -> tensor<ui8>
    %59 = stablehlo.convert %arg3 : (tensor<7xui8>) -> tensor<7xui32>
    %c_4 = stablehlo.constant dense<0> : tensor<ui32>
    %60 = stablehlo.reduce(%59 init: %c_4) applies stablehlo.add across dimensions = [0] : (tensor<7xui32>, tensor<ui32>) -> tensor<ui32>
    %61 = stablehlo.convert %arg3 : (tensor<7xui8>) -> tensor<7xi8>
    %62 = stablehlo.bitcast_convert %arg2 : (tensor<7xf32>) -> tensor<7xi32>
    %63 = call @round(%arg2) : (tensor<7xf32>) -> tensor<7xf32>
    return %16, %27, %42, %43, %44, %45, %48, %49, %51, %53, %54, %55, %57, %58, %60, %61, %62, %63 : tensor<8x7xi32>, tensor<5x7xi32>, tensor<7x7xi32>, tensor<7xi32>, tensor<7xi8>, tensor<7xui8>, tensor<7xi1>, tensor<7xui8>, tensor<7xui8>, tensor<7xui8>, tensor<7xf32>, tensor<7xi32>, tensor<7xi1>, tensor<ui8>, tensor<ui32>, tensor<7xi8>, tensor<7xi32>, tensor<7xf32>
  }
  func.func private @floor_divide(%arg0: tensor<7xi32>, %arg1: tensor<7xi32>) -> tensor<7xi32> {
    %0 = stablehlo.divide %arg0, %arg1 : tensor<7xi32>
    %1 = stablehlo.sign %arg0 : tensor<7xi32>
    %2 = stablehlo.sign %arg1 : tensor<7xi32>
    %3 = stablehlo.compare NE, %1, %2, SIGNED : (tensor<7xi32>, tensor<7xi32>) -> tensor<7xi1>
    %4 = stablehlo.remainder %arg0, %arg1 : tensor<7xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %5 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<7xi32>
    %6 = stablehlo.compare NE, %4, %5, SIGNED : (tensor<7xi32>, tensor<7xi32>) -> tensor<7xi1>
    %7 = stablehlo.and %3, %6 : tensor<7xi1>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %8 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<7xi32>
    %9 = stablehlo.subtract %0, %8 : tensor<7xi32>
    %10 = call @_where(%7, %9, %0) : (tensor<7xi1>, tensor<7xi32>, tensor<7xi32>) -> tensor<7xi32>
    return %10 : tensor<7xi32>
  }
  func.func private @_where(%arg0: tensor<7xi1>, %arg1: tensor<7xi32>, %arg2: tensor<7xi32>) -> tensor<7xi32> {
    %0 = stablehlo.select %arg0, %arg1, %arg2 : tensor<7xi1>, tensor<7xi32>
    return %0 : tensor<7xi32>
  }
  func.func private @remainder(%arg0: tensor<7xi32>, %arg1: tensor<7xi32>) -> tensor<7xi32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<7xi32>
    %1 = stablehlo.compare EQ, %arg1, %0, SIGNED : (tensor<7xi32>, tensor<7xi32>) -> tensor<7xi1>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<7xi32>
    %3 = call @_where(%1, %2, %arg1) : (tensor<7xi1>, tensor<7xi32>, tensor<7xi32>) -> tensor<7xi32>
    %4 = stablehlo.remainder %arg0, %3 : tensor<7xi32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %5 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<7xi32>
    %6 = stablehlo.compare NE, %4, %5, SIGNED : (tensor<7xi32>, tensor<7xi32>) -> tensor<7xi1>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %7 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<7xi32>
    %8 = stablehlo.compare LT, %4, %7, SIGNED : (tensor<7xi32>, tensor<7xi32>) -> tensor<7xi1>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %9 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<7xi32>
    %10 = stablehlo.compare LT, %3, %9, SIGNED : (tensor<7xi32>, tensor<7xi32>) -> tensor<7xi1>
    %11 = stablehlo.compare NE, %8, %10, UNSIGNED : (tensor<7xi1>, tensor<7xi1>) -> tensor<7xi1>
    %12 = stablehlo.and %11, %6 : tensor<7xi1>
    %13 = stablehlo.add %4, %3 : tensor<7xi32>
    %14 = stablehlo.select %12, %13, %4 : tensor<7xi1>, tensor<7xi32>
    return %14 : tensor<7xi32>
  }
  func.func private @clip(%arg0: tensor<7xi32>, %arg1: tensor<i32>, %arg2: tensor<i32>) -> tensor<7xi32> {
    %0 = stablehlo.convert %arg1 : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i32>) -> tensor<7xi32>
    %2 = stablehlo.maximum %1, %arg0 : tensor<7xi32>
    %3 = stablehlo.convert %arg2 : tensor<i32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<i32>) -> tensor<7xi32>
    %5 = stablehlo.minimum %4, %2 : tensor<7xi32>
    return %5 : tensor<7xi32>
  }
  func.func private @floor_divide_0(%arg0: tensor<7xui8>, %arg1: tensor<7xui8>) -> tensor<7xui8> {
    %0 = stablehlo.divide %arg0, %arg1 : tensor<7xui8>
    return %0 : tensor<7xui8>
  }
  func.func private @round(%arg0: tensor<7xf32>) -> tensor<7xf32> {
    %0 = stablehlo.round_nearest_even %arg0 : tensor<7xf32>
    return %0 : tensor<7xf32>
  }
}
