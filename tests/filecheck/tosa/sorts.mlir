// RUN: unmess-opt --pipeline tosa-sorts %s | filecheck %s

// The larger elements, NaN before numbers, and earlier ones of the same value come first. The place
// of an element is their number.
// CHECK-LABEL: func.func @descending(
// CHECK:         %[[MINE:.*]] = torch.aten.unsqueeze %{{.*}} -> !torch.vtensor<[?,4,1],f32>
// CHECK:         %[[OTHER:.*]] = torch.aten.unsqueeze %{{.*}} -> !torch.vtensor<[?,1,4],f32>
// CHECK:         torch.aten.gt.Tensor %[[OTHER]], %[[MINE]] {{.*}} -> !torch.vtensor<[?,4,4],i1>
// CHECK:         torch.aten.eq.Tensor %[[OTHER]], %[[MINE]]
// CHECK:         %[[OTHER_NAN:.*]] = torch.aten.ne.Tensor %[[OTHER]], %[[OTHER]]
// CHECK:         %[[MINE_NAN:.*]] = torch.aten.ne.Tensor %[[MINE]], %[[MINE]]
// CHECK:         %[[NUMBER:.*]] = torch.aten.logical_not %[[MINE_NAN]]
// CHECK:         torch.aten.logical_and %[[OTHER_NAN]], %[[NUMBER]]
// CHECK:         %[[PLACE:.*]] = torch.aten.sum.dim_IntList {{.*}} -> !torch.vtensor<[?,4],si64>
// CHECK:         %[[ROW:.*]] = torch.aten.unsqueeze %[[PLACE]], {{.*}} -> !torch.vtensor<[?,1,4],si64>
// CHECK:         %[[CHOSEN:.*]] = torch.aten.eq.Tensor %[[ROW]], {{.*}} -> !torch.vtensor<[?,4,4],i1>
// CHECK:         torch.aten.where.self %[[CHOSEN]], {{.*}} -> !torch.vtensor<[?,4,4],si64>
// CHECK:         %[[ORDER:.*]] = torch.aten.sum.dim_IntList {{.*}} -> !torch.vtensor<[?,4],si64>
// CHECK:         torch.aten.gather %arg0, %int1{{.*}} -> !torch.vtensor<[?,4],f32>
func.func @descending(%x: !torch.vtensor<[?,4],f32>) -> (!torch.vtensor<[?,4],f32>, !torch.vtensor<[?,4],si64>) {
  %true = torch.constant.bool true
  %axis = torch.constant.int -1
  %0:2 = torch.aten.sort %x, %axis, %true : !torch.vtensor<[?,4],f32>, !torch.int, !torch.bool -> !torch.vtensor<[?,4],f32>, !torch.vtensor<[?,4],si64>
  return %0#0, %0#1 : !torch.vtensor<[?,4],f32>, !torch.vtensor<[?,4],si64>
}

// CHECK-LABEL: func.func @others(
// CHECK:         torch.aten.sort
// CHECK:         torch.aten.sort
func.func @others(%x: !torch.vtensor<[?],f32>, %y: !torch.vtensor<[4097],si64>) -> (!torch.vtensor<[?],f32>, !torch.vtensor<[4097],si64>) {
  %false = torch.constant.bool false
  %axis = torch.constant.int 0
  %0:2 = torch.aten.sort %x, %axis, %false : !torch.vtensor<[?],f32>, !torch.int, !torch.bool -> !torch.vtensor<[?],f32>, !torch.vtensor<[?],si64>
  %1:2 = torch.aten.sort %y, %axis, %false : !torch.vtensor<[4097],si64>, !torch.int, !torch.bool -> !torch.vtensor<[4097],si64>, !torch.vtensor<[4097],si64>
  return %0#0, %1#0 : !torch.vtensor<[?],f32>, !torch.vtensor<[4097],si64>
}
