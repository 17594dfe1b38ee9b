// RUN: unmess-opt --pipeline stablehlo-operators %s | filecheck %s

// The last of the windows starts at 6 of 8. One element of padding is added after the last one.
// CHECK-LABEL: func.func @ceil(
// CHECK:         %[[LOW:.*]] = torch.constant.float 0xFFF0000000000000
// CHECK:         %[[PADDED:.*]] = torch.aten.constant_pad_nd %{{.*}}, %{{.*}}, %[[LOW]] {{.*}} -> !torch.vtensor<[1,2,9,9],f32>
// CHECK:         %[[NO:.*]] = torch.constant.bool false
// CHECK:         torch.aten.max_pool2d %[[PADDED]], {{.*}}, %[[NO]] :
func.func @ceil(%x: !torch.vtensor<[1,2,8,8],f32>) -> !torch.vtensor<[1,2,4,4],f32> {
  %true = torch.constant.bool true
  %0 = torch.constant.int 0
  %1 = torch.constant.int 1
  %2 = torch.constant.int 2
  %3 = torch.constant.int 3
  %kernel = torch.prim.ListConstruct %3, %3 : (!torch.int, !torch.int) -> !torch.list<int>
  %stride = torch.prim.ListConstruct %2, %2 : (!torch.int, !torch.int) -> !torch.list<int>
  %padding = torch.prim.ListConstruct %0, %0 : (!torch.int, !torch.int) -> !torch.list<int>
  %dilation = torch.prim.ListConstruct %1, %1 : (!torch.int, !torch.int) -> !torch.list<int>
  %r = torch.aten.max_pool2d %x, %kernel, %stride, %padding, %dilation, %true : !torch.vtensor<[1,2,8,8],f32>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool -> !torch.vtensor<[1,2,4,4],f32>
  return %r : !torch.vtensor<[1,2,4,4],f32>
}

// The divisor is added if the remainder and the divisor have different signs.
// CHECK-LABEL: func.func @remainder(
// CHECK:         %[[LEFT:.*]] = torch.aten.remainder.Tensor
// CHECK:         %[[MORE:.*]] = torch.aten.add.Tensor %[[LEFT]],
// CHECK:         torch.aten.where.self %{{.*}}, %[[MORE]], %[[LEFT]]
func.func @remainder(%x: !torch.vtensor<[3],f32>, %y: !torch.vtensor<[3],f32>) -> !torch.vtensor<[3],f32> {
  %r = torch.aten.remainder.Tensor %x, %y : !torch.vtensor<[3],f32>, !torch.vtensor<[3],f32> -> !torch.vtensor<[3],f32>
  return %r : !torch.vtensor<[3],f32>
}

// The sign of a constant divisor is known. For this one, the remainder must not be above 0.
// CHECK-LABEL: func.func @by_number(
// CHECK:         torch.aten.gt.Scalar
// CHECK-NOT:     torch.aten.lt
// CHECK:         return
func.func @by_number(%x: !torch.vtensor<[3],si64>) -> !torch.vtensor<[3],si64> {
  %y = torch.constant.int -3
  %r = torch.aten.remainder.Scalar %x, %y : !torch.vtensor<[3],si64>, !torch.int -> !torch.vtensor<[3],si64>
  return %r : !torch.vtensor<[3],si64>
}

// Shifts get operands of the same shape. A shift that has them stays.
// CHECK-LABEL: func.func @shift(
// CHECK:         %[[X:.*]] = torch.aten.add.Tensor %{{.*}} -> !torch.vtensor<[4,3],si32>
// CHECK:         %[[COUNT:.*]] = torch.aten.add.Tensor %{{.*}} -> !torch.vtensor<[4,3],si32>
// CHECK:         torch.aten.bitwise_right_shift.Tensor %[[X]], %[[COUNT]]
// CHECK-LABEL: func.func @shift_of_same_shapes(
// CHECK-NOT:     torch.aten.add
// CHECK:         torch.aten.bitwise_left_shift.Tensor %{{.*}}, %{{.*}}
func.func @shift(%x: !torch.vtensor<[4,1],si32>, %y: !torch.vtensor<[3],si32>) -> !torch.vtensor<[4,3],si32> {
  %r = torch.aten.bitwise_right_shift.Tensor %x, %y : !torch.vtensor<[4,1],si32>, !torch.vtensor<[3],si32> -> !torch.vtensor<[4,3],si32>
  return %r : !torch.vtensor<[4,3],si32>
}
func.func @shift_of_same_shapes(%x: !torch.vtensor<[3],si32>, %y: !torch.vtensor<[3],si32>) -> !torch.vtensor<[3],si32> {
  %r = torch.aten.bitwise_left_shift.Tensor %x, %y : !torch.vtensor<[3],si32>, !torch.vtensor<[3],si32> -> !torch.vtensor<[3],si32>
  return %r : !torch.vtensor<[3],si32>
}

// CHECK-LABEL: func.func @root(
// CHECK:         torch.aten.sqrt
// CHECK-LABEL: func.func @square(
// CHECK:         torch.aten.pow.Tensor_Scalar
func.func @root(%x: !torch.vtensor<[3],f32>) -> !torch.vtensor<[3],f32> {
  %y = torch.constant.float 5.0e-01
  %r = torch.aten.pow.Tensor_Scalar %x, %y : !torch.vtensor<[3],f32>, !torch.float -> !torch.vtensor<[3],f32>
  return %r : !torch.vtensor<[3],f32>
}
func.func @square(%x: !torch.vtensor<[3],f32>) -> !torch.vtensor<[3],f32> {
  %y = torch.constant.float 2.0
  %r = torch.aten.pow.Tensor_Scalar %x, %y : !torch.vtensor<[3],f32>, !torch.float -> !torch.vtensor<[3],f32>
  return %r : !torch.vtensor<[3],f32>
}

// Sizes that are not known are computed.
// CHECK-LABEL: func.func @flat(
// CHECK:         %[[SHAPE:.*]] = torch.prim.ListConstruct %int6, %int4
// CHECK:         torch.aten.view %{{.*}}, %[[SHAPE]]
// CHECK-LABEL: func.func @flat_rows(
// CHECK:         %[[ROWS:.*]] = torch.aten.size.int %{{.*}}, %int0
// CHECK:         %[[PRODUCT:.*]] = torch.aten.mul.int %[[ROWS]], %int3
// CHECK:         %[[SHAPE:.*]] = torch.prim.ListConstruct %[[PRODUCT]], %int4
// CHECK:         torch.aten.view %{{.*}}, %[[SHAPE]]
// CHECK-LABEL: func.func @split_rows(
// CHECK:         %[[COLUMNS:.*]] = torch.aten.size.int %{{.*}}, %int1
// CHECK:         %[[SHAPE:.*]] = torch.prim.ListConstruct %{{.*}}, %int-1, %[[COLUMNS]]
// CHECK:         torch.aten.view %{{.*}}, %[[SHAPE]]
func.func @flat(%x: !torch.vtensor<[2,3,4],f32>) -> !torch.vtensor<[6,4],f32> {
  %0 = torch.constant.int 0
  %1 = torch.constant.int 1
  %r = torch.aten.flatten.using_ints %x, %0, %1 : !torch.vtensor<[2,3,4],f32>, !torch.int, !torch.int -> !torch.vtensor<[6,4],f32>
  return %r : !torch.vtensor<[6,4],f32>
}
func.func @flat_rows(%x: !torch.vtensor<[?,3,4],f32>) -> !torch.vtensor<[?,4],f32> {
  %0 = torch.constant.int 0
  %1 = torch.constant.int 1
  %r = torch.aten.flatten.using_ints %x, %0, %1 : !torch.vtensor<[?,3,4],f32>, !torch.int, !torch.int -> !torch.vtensor<[?,4],f32>
  return %r : !torch.vtensor<[?,4],f32>
}
func.func @split_rows(%x: !torch.vtensor<[6,?],f32>) -> !torch.vtensor<[2,3,?],f32> {
  %0 = torch.constant.int 0
  %2 = torch.constant.int 2
  %rest = torch.constant.int -1
  %parts = torch.prim.ListConstruct %2, %rest : (!torch.int, !torch.int) -> !torch.list<int>
  %r = torch.aten.unflatten.int %x, %0, %parts : !torch.vtensor<[6,?],f32>, !torch.int, !torch.list<int> -> !torch.vtensor<[2,3,?],f32>
  return %r : !torch.vtensor<[2,3,?],f32>
}

// Elements (1, 0) and (2, 1) of the last and the first axis are 4 and 9 of the flat matrix.
// CHECK-LABEL: func.func @diagonal(
// CHECK:         torch.aten.permute %arg0, {{.*}} -> !torch.vtensor<[?,3,4],f32>
// CHECK:         torch.aten.view {{.*}} -> !torch.vtensor<[?,12],f32>
// CHECK:         torch.vtensor.literal(dense<[4, 9]> : tensor<2xsi64>)
// CHECK:         torch.aten.index_select {{.*}} -> !torch.vtensor<[?,2],f32>
func.func @diagonal(%x: !torch.vtensor<[4,?,3],f32>) -> !torch.vtensor<[?,2],f32> {
  %offset = torch.constant.int -1
  %rows = torch.constant.int -1
  %columns = torch.constant.int 0
  %0 = torch.aten.diagonal %x, %offset, %rows, %columns : !torch.vtensor<[4,?,3],f32>, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[?,2],f32>
  return %0 : !torch.vtensor<[?,2],f32>
}

// CHECK-LABEL: func.func @shift_by_number(
// CHECK:         %[[TWO:.*]] = torch.vtensor.literal(dense<2> : tensor<si32>)
// CHECK:         %[[COUNTS:.*]] = torch.aten.add.Tensor %[[TWO]], {{.*}} -> !torch.vtensor<[3],si32>
// CHECK:         torch.aten.bitwise_right_shift.Tensor %arg0, %[[COUNTS]]
func.func @shift_by_number(%x: !torch.vtensor<[3],si32>) -> !torch.vtensor<[3],si32> {
  %count = torch.constant.int 2
  %0 = torch.aten.__rshift__.Scalar %x, %count : !torch.vtensor<[3],si32>, !torch.int -> !torch.vtensor<[3],si32>
  return %0 : !torch.vtensor<[3],si32>
}
