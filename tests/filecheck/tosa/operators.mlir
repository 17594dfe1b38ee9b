// RUN: unmess-opt --pipeline tosa-operators %s | filecheck %s

// Infinity stays infinite. The relu of integers is a maximum.
// CHECK-LABEL: func.func @relu(
// CHECK:         tosa.clamp %{{.*}} {max_val = 0x7F800000 : f32, min_val = 0.000000e+00 : f32}
// CHECK:         torch.aten.maximum %arg1, {{.*}} -> !torch.vtensor<[4],si32>
func.func @relu(%x: !torch.vtensor<[4],f32>, %y: !torch.vtensor<[4],si32>) -> (!torch.vtensor<[4],f32>, !torch.vtensor<[4],si32>) {
  %0 = torch.aten.relu %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %1 = torch.aten.relu %y : !torch.vtensor<[4],si32> -> !torch.vtensor<[4],si32>
  return %0, %1 : !torch.vtensor<[4],f32>, !torch.vtensor<[4],si32>
}

// The power with exponent 0.5 of -1 is NaN, that of -inf is not.
// CHECK-LABEL: func.func @sqrt(
// CHECK:         %[[LOWEST:.*]] = torch.vtensor.literal(dense<-1.000000e+00> : tensor<f16>)
// CHECK:         %[[X:.*]] = torch.aten.maximum %arg0, %[[LOWEST]]
// CHECK:         torch.aten.sqrt %[[X]]
func.func @sqrt(%x: !torch.vtensor<[4],f16>) -> !torch.vtensor<[4],f16> {
  %0 = torch.aten.sqrt %x : !torch.vtensor<[4],f16> -> !torch.vtensor<[4],f16>
  return %0 : !torch.vtensor<[4],f16>
}

// The rest is a difference minus the error of the product. It is corrected if the quotient is off by
// one, and replaced if the divisor is infinite.
// CHECK-LABEL: func.func @fmod(
// CHECK:         %[[A:.*]] = torch.aten.abs %arg0
// CHECK:         %[[B:.*]] = torch.aten.abs %arg1
// CHECK:         %[[RATIO:.*]] = torch.aten.div.Tensor %[[A]], %[[B]]
// CHECK:         %[[QUOTIENT:.*]] = torch.aten.floor %[[RATIO]]
// CHECK:         %[[PRODUCT:.*]] = torch.aten.mul.Tensor %[[QUOTIENT]], %[[B]]
// CHECK:         %[[PLAIN:.*]] = torch.aten.sub.Tensor %[[A]], %[[PRODUCT]]
// CHECK-COUNT-2: torch.constant.float 4.097000e+03
// CHECK:         %[[REST:.*]] = torch.aten.sub.Tensor %[[PLAIN]],
// CHECK:         %[[NEGATIVE:.*]] = torch.aten.lt.Scalar %[[REST]]
// CHECK:         torch.aten.ge.Tensor %{{.*}}, %[[B]]
// CHECK:         torch.aten.where.self %{{.*}}, %{{.*}}, %[[PLAIN]]
// CHECK:         %[[INFINITE:.*]] = torch.aten.eq.Scalar %[[B]]
// CHECK:         torch.aten.where.self %[[INFINITE]]
func.func @fmod(%x: !torch.vtensor<[4],f32>, %y: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %0 = torch.aten.fmod.Tensor %x, %y : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}

// f16 is computed in f32. Products with powers of two are exact.
// CHECK-LABEL: func.func @others(
// CHECK:         %[[X:.*]] = torch.aten.to.dtype %arg0, {{.*}} -> !torch.vtensor<[4],f32>
// CHECK:         torch.aten.abs %[[X]]
// CHECK:         torch.aten.remainder.Scalar %arg1
func.func @others(%x: !torch.vtensor<[4],f16>, %y: !torch.vtensor<[4],f32>) -> (!torch.vtensor<[4],f16>, !torch.vtensor<[4],f32>) {
  %tenth = torch.constant.float 1.000000e-01
  %two = torch.constant.float 2.000000e+00
  %0 = torch.aten.remainder.Scalar %x, %tenth : !torch.vtensor<[4],f16>, !torch.float -> !torch.vtensor<[4],f16>
  %1 = torch.aten.remainder.Scalar %y, %two : !torch.vtensor<[4],f32>, !torch.float -> !torch.vtensor<[4],f32>
  return %0, %1 : !torch.vtensor<[4],f16>, !torch.vtensor<[4],f32>
}

// x * 0 becomes x - x, which is not folded. The product of integers stays.
// CHECK-LABEL: func.func @zero(
// CHECK:         torch.aten.sub.Tensor %arg0, %arg0
// CHECK:         torch.aten.mul.Scalar %arg1
func.func @zero(%x: !torch.vtensor<[4],f32>, %y: !torch.vtensor<[4],si32>) -> (!torch.vtensor<[4],f32>, !torch.vtensor<[4],si32>) {
  %zero = torch.constant.int 0
  %0 = torch.aten.mul.Scalar %x, %zero : !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[4],f32>
  %1 = torch.aten.mul.Scalar %y, %zero : !torch.vtensor<[4],si32>, !torch.int -> !torch.vtensor<[4],si32>
  return %0, %1 : !torch.vtensor<[4],f32>, !torch.vtensor<[4],si32>
}

// Scalars become f64 tensors if they are combined with f64. For f32 they stay.
// CHECK-LABEL: func.func @scalars(
// CHECK:         %[[TENTH:.*]] = torch.vtensor.literal(dense<1.000000e-01> : tensor<f64>)
// CHECK:         torch.aten.mul.Tensor %arg0, %[[TENTH]]
// CHECK:         torch.aten.mul.Scalar %arg1
// CHECK:         torch.aten.pow.Tensor_Tensor %{{.*}}, %arg0
func.func @scalars(%x: !torch.vtensor<[4],f64>, %y: !torch.vtensor<[4],f32>) -> (!torch.vtensor<[4],f64>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f64>) {
  %tenth = torch.constant.float 1.000000e-01
  %0 = torch.aten.mul.Scalar %x, %tenth : !torch.vtensor<[4],f64>, !torch.float -> !torch.vtensor<[4],f64>
  %1 = torch.aten.mul.Scalar %y, %tenth : !torch.vtensor<[4],f32>, !torch.float -> !torch.vtensor<[4],f32>
  %2 = torch.aten.pow.Scalar %tenth, %x : !torch.float, !torch.vtensor<[4],f64> -> !torch.vtensor<[4],f64>
  return %0, %1, %2 : !torch.vtensor<[4],f64>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f64>
}

// The result is corrected by the rounding error of the exponential, or of 1 + x.
// CHECK-LABEL: func.func @close_to_zero(
// CHECK:         %[[POWER:.*]] = torch.aten.exp %arg0
// CHECK:         %[[LOG:.*]] = torch.aten.log %[[POWER]]
// CHECK:         %[[RATIO:.*]] = torch.aten.div.Tensor %arg0, %[[LOG]]
// CHECK:         %[[SUM:.*]] = torch.aten.add.Scalar %arg0
// CHECK:         %[[LOG_1:.*]] = torch.aten.log %[[SUM]]
// CHECK:         %[[ONE:.*]] = torch.aten.eq.Scalar %[[SUM]]
// CHECK:         torch.aten.where.self %[[ONE]], %arg0
func.func @close_to_zero(%x: !torch.vtensor<[4],f32>) -> (!torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>) {
  %0 = torch.aten.expm1 %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %1 = torch.aten.log1p %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %0, %1 : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>
}

// CHECK-LABEL: func.func @casts(
// CHECK:         %[[WIDE:.*]] = torch.aten.to.dtype %arg0, {{.*}} -> !torch.vtensor<[4],f32>
// CHECK:         torch.aten.to.dtype %[[WIDE]], {{.*}} : !torch.vtensor<[4],f32>, {{.*}} -> !torch.vtensor<[4],f16>
func.func @casts(%x: !torch.vtensor<[4],bf16>) -> !torch.vtensor<[4],f16> {
  %dtype = torch.constant.int 5
  %false = torch.constant.bool false
  %none = torch.constant.none
  %0 = torch.aten.to.dtype %x, %dtype, %false, %false, %none : !torch.vtensor<[4],bf16>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[4],f16>
  return %0 : !torch.vtensor<[4],f16>
}

// Sums of i64 are computed in i64. Smaller operands are widened, and get the same rank.
// CHECK-LABEL: func.func @integers(
// CHECK:         %[[WIDE:.*]] = torch.aten.to.dtype %arg1, {{.*}} -> !torch.vtensor<[4],si64>
// CHECK:         %[[THRICE:.*]] = torch.aten.mul.Scalar %[[WIDE]]
// CHECK:         %[[ROW:.*]] = torch.aten.unsqueeze %[[THRICE]], {{.*}} -> !torch.vtensor<[1,4],si64>
// CHECK:         tosa.sub %{{.*}}, %{{.*}} : (tensor<2x4xi64>, tensor<1x4xi64>) -> tensor<2x4xi64>
// CHECK:         torch.aten.add.Tensor %arg1, %arg1
func.func @integers(%x: !torch.vtensor<[2,4],si64>, %y: !torch.vtensor<[4],si32>) -> (!torch.vtensor<[2,4],si64>, !torch.vtensor<[4],si32>) {
  %one = torch.constant.int 1
  %three = torch.constant.int 3
  %0 = torch.aten.sub.Tensor %x, %y, %three : !torch.vtensor<[2,4],si64>, !torch.vtensor<[4],si32>, !torch.int -> !torch.vtensor<[2,4],si64>
  %1 = torch.aten.add.Tensor %y, %y, %one : !torch.vtensor<[4],si32>, !torch.vtensor<[4],si32>, !torch.int -> !torch.vtensor<[4],si32>
  return %0, %1 : !torch.vtensor<[2,4],si64>, !torch.vtensor<[4],si32>
}

// The minimum of integers is that of their inverted bits.
// CHECK-LABEL: func.func @minimum(
// CHECK:         %[[INVERTED:.*]] = torch.aten.bitwise_not %arg0
// CHECK:         %[[VALUES:.*]], %[[PLACES:.*]] = torch.aten.max.dim %[[INVERTED]], {{.*}}
// CHECK:         %[[RESULT:.*]] = torch.aten.bitwise_not %[[VALUES]]
// CHECK:         return %[[RESULT]], %[[PLACES]]
func.func @minimum(%x: !torch.vtensor<[2,3],si64>) -> (!torch.vtensor<[2],si64>, !torch.vtensor<[2],si64>) {
  %dim = torch.constant.int 1
  %keep = torch.constant.bool false
  %values, %places = torch.aten.min.dim %x, %dim, %keep : !torch.vtensor<[2,3],si64>, !torch.int, !torch.bool -> !torch.vtensor<[2],si64>, !torch.vtensor<[2],si64>
  return %values, %places : !torch.vtensor<[2],si64>, !torch.vtensor<[2],si64>
}

// Elements (0, 1) and (1, 2) are 1 and 5 of the flat matrix.
// CHECK-LABEL: func.func @diagonal(
// CHECK:         torch.vtensor.literal(dense<[1, 5]> : tensor<2xsi64>)
// CHECK:         torch.aten.index_select {{.*}} -> !torch.vtensor<[2],f32>
func.func @diagonal(%x: !torch.vtensor<[2,3],f32>) -> !torch.vtensor<[2],f32> {
  %offset = torch.constant.int 1
  %rows = torch.constant.int 0
  %0 = torch.aten.diagonal %x, %offset, %rows, %offset : !torch.vtensor<[2,3],f32>, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[2],f32>
  return %0 : !torch.vtensor<[2],f32>
}

// Only a quotient that is rounded to an integer is corrected, by the remainder over the divisor.
// CHECK-LABEL: func.func @quotients(
// CHECK:         %[[PLAIN:.*]] = torch.aten.div.Tensor %arg0, %arg1
// CHECK:         %[[QUOTIENT:.*]] = torch.aten.div.Tensor %arg0, %arg1
// CHECK:         %[[MORE:.*]] = torch.aten.div.Tensor %{{.*}}, %arg1
// CHECK:         %[[SUM:.*]] = torch.aten.add.Tensor %[[QUOTIENT]], %[[MORE]], %{{.*}}
// CHECK:         %[[FINITE:.*]] = torch.aten.where.self %{{.*}}, %[[SUM]], %[[QUOTIENT]]
// CHECK:         %[[CORRECTED:.*]] = torch.aten.where.self %{{.*}}, %[[QUOTIENT]], %[[FINITE]]
// CHECK:         %[[FLOOR:.*]] = torch.aten.floor %[[CORRECTED]]
// CHECK:         return %[[PLAIN]], %[[FLOOR]]
func.func @quotients(%x: !torch.vtensor<[4],f32>, %y: !torch.vtensor<[4],f32>) -> (!torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>) {
  %0 = torch.aten.div.Tensor %x, %y : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %1 = torch.aten.div.Tensor %x, %y : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  %2 = torch.aten.floor %1 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %0, %2 : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>
}
