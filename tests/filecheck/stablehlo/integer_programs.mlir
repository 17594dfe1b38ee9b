// RUN: unmess-opt --pipeline stablehlo-integer-programs %s | filecheck %s

// CHECK-LABEL: func.func @convolution
// CHECK:         %[[POINT:.*]] = stablehlo.constant dense<-3>
// CHECK:         %[[WIDE:.*]] = stablehlo.convert {{.*}} : (tensor<?x4x6x6xi8>) -> tensor<?x4x6x6xi32>
// CHECK:         %[[X:.*]] = chlo.broadcast_subtract %[[WIDE]], %[[POINT]]
// CHECK:         stablehlo.convolution(%[[X]], {{.*}}) {{.*}}pad = {{\[\[}}1, 1], [1, 1]]{{.*}}feature_group_count = 2

// CHECK-LABEL: func.func @rescale
// CHECK:         %[[PRODUCT:.*]] = chlo.broadcast_multiply {{.*}} : (tensor<2x3x4xi64>, tensor<1x3x1xi64>) -> tensor<2x3x4xi64>
// CHECK:         %[[SUM:.*]] = chlo.broadcast_add %[[PRODUCT]]
// CHECK:         chlo.broadcast_shift_right_arithmetic %[[SUM]]
// CHECK:         chlo.broadcast_maximum
// CHECK:         chlo.broadcast_minimum
// CHECK:         stablehlo.convert {{.*}} : (tensor<2x3x4xi64>) -> tensor<2x3x4xui8>
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
