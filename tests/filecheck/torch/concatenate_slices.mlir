// RUN: unmess-opt --pipeline concatenate-slices %s | filecheck %s

// An exporter writes 2 ** 63 - 1 for the end of `x[:, 2:] = y`.
// CHECK-LABEL: func.func @to_the_end(
// CHECK-SAME:    %[[X:.*]]: !torch.vtensor<[4,6],f32>, %[[Y:.*]]: !torch
// CHECK-DAG:     %[[START:.*]] = torch.constant.int 0
// CHECK-DAG:     %[[END:.*]] = torch.constant.int 2
// CHECK:         %[[BEFORE:.*]] = torch.aten.slice.Tensor %[[X]], %int-1{{.*}}, %[[START]], %[[END]], {{.*}} -> !torch.vtensor<[4,2],f32>
// CHECK:         %[[PARTS:.*]] = torch.prim.ListConstruct %[[BEFORE]], %[[Y]]
// CHECK:         torch.aten.cat %[[PARTS]], %{{.*}} -> !torch.vtensor<[4,6],f32>
// CHECK-NOT:     slice_scatter
func.func @to_the_end(%x: !torch.vtensor<[4,6],f32>, %y: !torch.vtensor<[4,4],f32>) -> !torch.vtensor<[4,6],f32> {
  %axis = torch.constant.int -1
  %start = torch.constant.int -4
  %end = torch.constant.int 9223372036854775807
  %step = torch.constant.int 1
  %0 = torch.aten.slice_scatter %x, %y, %axis, %start, %end, %step : !torch.vtensor<[4,6],f32>, !torch.vtensor<[4,4],f32>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[4,6],f32>
  return %0 : !torch.vtensor<[4,6],f32>
}

// CHECK-LABEL: func.func @in_the_middle(
// CHECK-SAME:    %[[X:.*]]: !torch.vtensor<[?,6],f32>, %[[Y:.*]]: !torch
// CHECK:         %[[BEFORE:.*]] = torch.aten.slice.Tensor %[[X]], {{.*}} -> !torch.vtensor<[?,1],f32>
// CHECK:         %[[AFTER:.*]] = torch.aten.slice.Tensor %[[X]], {{.*}} -> !torch.vtensor<[?,3],f32>
// CHECK:         torch.prim.ListConstruct %[[BEFORE]], %[[Y]], %[[AFTER]]
func.func @in_the_middle(%x: !torch.vtensor<[?,6],f32>, %y: !torch.vtensor<[?,2],f32>) -> !torch.vtensor<[?,6],f32> {
  %axis = torch.constant.int 1
  %start = torch.constant.int 1
  %end = torch.constant.int 3
  %step = torch.constant.int 1
  %0 = torch.aten.slice_scatter %x, %y, %axis, %start, %end, %step : !torch.vtensor<[?,6],f32>, !torch.vtensor<[?,2],f32>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[?,6],f32>
  return %0 : !torch.vtensor<[?,6],f32>
}

// CHECK-LABEL: func.func @without_ends(
// CHECK:         torch.aten.slice_scatter %arg0, %arg1, %int0, %int0_{{[0-9]+}}, %int5, %int2 :
func.func @without_ends(%x: !torch.vtensor<[5,6],f32>, %y: !torch.vtensor<[3,6],f32>) -> !torch.vtensor<[5,6],f32> {
  %axis = torch.constant.int 0
  %none = torch.constant.none
  %step = torch.constant.int 2
  %0 = torch.aten.slice_scatter %x, %y, %axis, %none, %none, %step : !torch.vtensor<[5,6],f32>, !torch.vtensor<[3,6],f32>, !torch.int, !torch.none, !torch.none, !torch.int -> !torch.vtensor<[5,6],f32>
  return %0 : !torch.vtensor<[5,6],f32>
}

// CHECK-LABEL: func.func @empty(
// CHECK-SAME:    %[[X:[a-z0-9]*]]: !torch
// CHECK:         return %[[X]]
func.func @empty(%x: !torch.vtensor<[4,6],f32>, %y: !torch.vtensor<[0,6],f32>) -> !torch.vtensor<[4,6],f32> {
  %axis = torch.constant.int 0
  %start = torch.constant.int 3
  %end = torch.constant.int -2
  %step = torch.constant.int 1
  %0 = torch.aten.slice_scatter %x, %y, %axis, %start, %end, %step : !torch.vtensor<[4,6],f32>, !torch.vtensor<[0,6],f32>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[4,6],f32>
  return %0 : !torch.vtensor<[4,6],f32>
}

// CHECK-LABEL: func.func @dynamic(
// CHECK-DAG:     %[[START:.*]] = torch.constant.int -4
// CHECK-DAG:     %[[END:.*]] = torch.constant.int 9223372036854775807
// CHECK:         torch.aten.slice_scatter %{{.*}}, %{{.*}}, %{{.*}}, %[[START]], %[[END]],
func.func @dynamic(%x: !torch.vtensor<[?,6],f32>, %y: !torch.vtensor<[4,6],f32>) -> !torch.vtensor<[?,6],f32> {
  %axis = torch.constant.int 0
  %start = torch.constant.int -4
  %end = torch.constant.int 9223372036854775807
  %step = torch.constant.int 1
  %0 = torch.aten.slice_scatter %x, %y, %axis, %start, %end, %step : !torch.vtensor<[?,6],f32>, !torch.vtensor<[4,6],f32>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[?,6],f32>
  return %0 : !torch.vtensor<[?,6],f32>
}
