// RUN: unmess-opt --pipeline tosa-dynamic-slices %s | filecheck %s

// The rest of a dynamic axis is -1. Positions from the end, or out of range, become positions.
// CHECK-LABEL: func.func @slice(
// CHECK-DAG:     %[[STARTS:.*]] = tosa.const_shape {values = dense<[0, 3]> : tensor<2xindex>}
// CHECK-DAG:     %[[SIZES:.*]] = tosa.const_shape {values = dense<[-1, 2]> : tensor<2xindex>}
// CHECK:         tosa.slice %{{.*}}, %[[STARTS]], %[[SIZES]] : (tensor<?x5xf32>, {{.*}}) -> tensor<?x2xf32>
func.func @slice(%x: !torch.vtensor<[?,5],f32>) -> !torch.vtensor<[?,2],f32> {
  %axis = torch.constant.int 1
  %start = torch.constant.int -2
  %end = torch.constant.int 9223372036854775807
  %step = torch.constant.int 1
  %0 = torch.aten.slice.Tensor %x, %axis, %start, %end, %step : !torch.vtensor<[?,5],f32>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[?,2],f32>
  return %0 : !torch.vtensor<[?,2],f32>
}

// Steps, slices of the dynamic axis itself, and static sizes do not change.
// CHECK-LABEL: func.func @others(
// CHECK-NOT:     tosa
// CHECK:         return
func.func @others(%x: !torch.vtensor<[?,5],f32>, %y: !torch.vtensor<[4,5],f32>) -> (!torch.vtensor<[?,3],f32>, !torch.vtensor<[?,5],f32>, !torch.vtensor<[4,2],f32>) {
  %0 = torch.constant.int 0
  %1 = torch.constant.int 1
  %2 = torch.constant.int 2
  %5 = torch.constant.int 5
  %a = torch.aten.slice.Tensor %x, %1, %0, %5, %2 : !torch.vtensor<[?,5],f32>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[?,3],f32>
  %b = torch.aten.slice.Tensor %x, %0, %1, %5, %1 : !torch.vtensor<[?,5],f32>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[?,5],f32>
  %c = torch.aten.slice.Tensor %y, %1, %0, %2, %1 : !torch.vtensor<[4,5],f32>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[4,2],f32>
  return %a, %b, %c : !torch.vtensor<[?,3],f32>, !torch.vtensor<[?,5],f32>, !torch.vtensor<[4,2],f32>
}
