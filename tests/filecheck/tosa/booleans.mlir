// RUN: unmess-opt --pipeline boolean-operators %s | filecheck %s

// CHECK-LABEL: func.func @sum(
// CHECK:         torch.aten.logical_or %arg0, %arg1
func.func @sum(%x: !torch.vtensor<[3],i1>, %y: !torch.vtensor<[3],i1>) -> !torch.vtensor<[3],i1> {
  %1 = torch.constant.int 1
  %r = torch.aten.add.Tensor %x, %y, %1 : !torch.vtensor<[3],i1>, !torch.vtensor<[3],i1>, !torch.int -> !torch.vtensor<[3],i1>
  return %r : !torch.vtensor<[3],i1>
}

// CHECK-LABEL: func.func @numbers(
// CHECK:         torch.aten.add.Tensor
// CHECK:         torch.aten.maximum
func.func @numbers(%x: !torch.vtensor<[3],f32>, %y: !torch.vtensor<[3],f32>) -> !torch.vtensor<[3],f32> {
  %1 = torch.constant.int 1
  %r = torch.aten.add.Tensor %x, %y, %1 : !torch.vtensor<[3],f32>, !torch.vtensor<[3],f32>, !torch.int -> !torch.vtensor<[3],f32>
  %m = torch.aten.maximum %r, %y : !torch.vtensor<[3],f32>, !torch.vtensor<[3],f32> -> !torch.vtensor<[3],f32>
  return %m : !torch.vtensor<[3],f32>
}

// True is above False: x > y is x and not y.
// CHECK-LABEL: func.func @above(
// CHECK:         %[[NOT:.*]] = torch.aten.logical_not %arg1
// CHECK:         torch.aten.logical_and %arg0, %[[NOT]]
func.func @above(%x: !torch.vtensor<[3],i1>, %y: !torch.vtensor<[3],i1>) -> !torch.vtensor<[3],i1> {
  %r = torch.aten.gt.Tensor %x, %y : !torch.vtensor<[3],i1>, !torch.vtensor<[3],i1> -> !torch.vtensor<[3],i1>
  return %r : !torch.vtensor<[3],i1>
}

// x <= y is y or not x, of the broadcast shape.
// CHECK-LABEL: func.func @at_most(
// CHECK:         %[[NOT:.*]] = torch.aten.logical_not %arg0 : !torch.vtensor<[],i1>
// CHECK:         torch.aten.logical_or %[[NOT]], %arg1 {{.*}} -> !torch.vtensor<[3],i1>
func.func @at_most(%x: !torch.vtensor<[],i1>, %y: !torch.vtensor<[3],i1>) -> !torch.vtensor<[3],i1> {
  %r = torch.aten.le.Tensor %x, %y : !torch.vtensor<[],i1>, !torch.vtensor<[3],i1> -> !torch.vtensor<[3],i1>
  return %r : !torch.vtensor<[3],i1>
}

// CHECK-LABEL: func.func @extreme(
// CHECK:         %[[WIDE:.*]] = torch.aten.to.dtype %arg0, {{.*}} -> !torch.vtensor<[2,3],si32>
// CHECK:         %[[VALUES:.*]], %[[PLACES:.*]] = torch.aten.min.dim %[[WIDE]], {{.*}} -> !torch.vtensor<[2],si32>, !torch.vtensor<[2],si64>
// CHECK:         %[[TRUTHS:.*]] = torch.aten.to.dtype %[[VALUES]], {{.*}} -> !torch.vtensor<[2],i1>
// CHECK:         return %[[TRUTHS]], %[[PLACES]]
func.func @extreme(%x: !torch.vtensor<[2,3],i1>) -> (!torch.vtensor<[2],i1>, !torch.vtensor<[2],si64>) {
  %dim = torch.constant.int 1
  %keep = torch.constant.bool false
  %values, %places = torch.aten.min.dim %x, %dim, %keep : !torch.vtensor<[2,3],i1>, !torch.int, !torch.bool -> !torch.vtensor<[2],i1>, !torch.vtensor<[2],si64>
  return %values, %places : !torch.vtensor<[2],i1>, !torch.vtensor<[2],si64>
}
