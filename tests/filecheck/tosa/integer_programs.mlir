// RUN: unmess-opt --pipeline tosa-integer-programs %s | filecheck %s

// The last row and column of the padded image are in no window, so they are not padded: TOSA
// requires this. A grouped convolution becomes one convolution per group.

// CHECK-LABEL: func.func @convolution
// CHECK:         tosa.transpose {{.*}} {perms = array<i32: 0, 2, 3, 1>}
// CHECK-COUNT-2: tosa.conv2d {{.*}} {acc_type = i32, dilation = array<i64: 1, 1>, pad = array<i64: 1, 0, 1, 0>, stride = array<i64: 2, 2>}
// CHECK:         tosa.concat {{.*}} {axis = 3 : i32}
// CHECK:         tosa.transpose {{.*}} {perms = array<i32: 0, 3, 1, 2>}

// The channels that a scale belongs to are last in TOSA.

// CHECK-LABEL: func.func @rescale
// CHECK:         %[[POINT:.*]] = "tosa.const"() <{values = dense<-126> : tensor<1xi8>}>
// CHECK:         %[[MOVED:.*]] = tosa.transpose {{.*}} {perms = array<i32: 0, 2, 1>}
// CHECK:         tosa.rescale %[[MOVED]], {{.*}}, %[[POINT]] {input_unsigned = false, output_unsigned = true, per_channel = true, rounding_mode = SINGLE_ROUND, scale32 = true}
// CHECK:         tosa.transpose {{.*}} {perms = array<i32: 0, 2, 1>}
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
