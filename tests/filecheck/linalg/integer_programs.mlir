// RUN: unmess-opt --pipeline linalg-integer-programs %s | filecheck %s

// A grouped convolution is a named operation with zero points. Padding has the value of the zero
// point, and sums begin with the bias. The batch may be dynamic.

// CHECK-LABEL: func.func @convolution
// CHECK-DAG:     %[[POINT:.*]] = arith.constant -3 : i32
// CHECK-DAG:     %[[PAD:.*]] = arith.constant -3 : i8
// CHECK:         tensor.pad {{.*}} low[0, 0, 1, 1] high[0, 0, 1, 1]
// CHECK:           tensor.yield %[[PAD]] : i8
// CHECK:         %[[INITIAL:.*]] = linalg.broadcast ins({{.*}} : tensor<8xi32>) outs({{.*}} : tensor<?x8x3x3xi32>) dimensions = [0, 2, 3]
// CHECK:         %[[SUMS:.*]] = tensor.expand_shape %[[INITIAL]]
// CHECK:         linalg.conv_2d_ngchw_gfchw_q {{.*}}strides = dense<2>{{.*}} ins({{.*}}, {{.*}}, %[[POINT]], {{.*}} : tensor<?x2x2x8x8xi8>, tensor<2x4x2x3x3xi8>, i32, i32) outs(%[[SUMS]] : tensor<?x2x4x3x3xi32>)

// Rescaling multiplies in 64 bits, adds one half before the shift, and clamps.

// CHECK-LABEL: func.func @rescale
// CHECK:         linalg.generic
// CHECK:           arith.extsi {{.*}} : i32 to i64
// CHECK:           %[[PRODUCT:.*]] = arith.muli
// CHECK:           %[[HALF:.*]] = arith.shli
// CHECK:           %[[SUM:.*]] = arith.addi %[[PRODUCT]], %[[HALF]]
// CHECK:           arith.shrsi %[[SUM]]
// CHECK:           arith.maxsi
// CHECK:           arith.minsi
// CHECK:           arith.trunci {{.*}} : i64 to i8
func.func @convolution(%x: !torch.vtensor<[?,4,6,6],si8>, %weight: !torch.vtensor<[8,2,3,3],si8>, %bias: !torch.vtensor<[8],si32>) -> !torch.vtensor<[?,8,3,3],si32> {
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %two = torch.constant.int 2
  %point = torch.constant.int -3
  %points = torch.prim.ListConstruct %point, %zero : (!torch.int, !torch.int) -> !torch.list<int>
  %stride = torch.prim.ListConstruct %two, %two : (!torch.int, !torch.int) -> !torch.list<int>
  %ones = torch.prim.ListConstruct %one, %one : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.operator "torch.unmess.integer_convolution"(%x, %weight, %bias, %points, %stride, %ones, %ones, %two) : (!torch.vtensor<[?,4,6,6],si8>, !torch.vtensor<[8,2,3,3],si8>, !torch.vtensor<[8],si32>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.int) -> !torch.vtensor<[?,8,3,3],si32>
  return %0 : !torch.vtensor<[?,8,3,3],si32>
}

func.func @rescale(%x: !torch.vtensor<[2,3,4],si32>) -> !torch.vtensor<[2,3,4],ui8> {
  %multiplier = torch.vtensor.literal(dense<[1073741824, 1200000000, 2000000000]> : tensor<3xsi32>) : !torch.vtensor<[3],si32>
  %shift = torch.vtensor.literal(dense<[38, 39, 40]> : tensor<3xsi8>) : !torch.vtensor<[3],si8>
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %point = torch.constant.int 130
  %points = torch.prim.ListConstruct %zero, %point : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.operator "torch.unmess.rescale"(%x, %multiplier, %shift, %one, %points, %zero) : (!torch.vtensor<[2,3,4],si32>, !torch.vtensor<[3],si32>, !torch.vtensor<[3],si8>, !torch.int, !torch.list<int>, !torch.int) -> !torch.vtensor<[2,3,4],ui8>
  return %0 : !torch.vtensor<[2,3,4],ui8>
}
