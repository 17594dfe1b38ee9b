// RUN: unmess-opt --pipeline linalg-cumulative-f64 %s | filecheck %s

// CHECK-LABEL: func.func @main(
// CHECK:         %[[WIDE:.*]] = torch.aten.to.dtype %{{.*}} : !torch.vtensor<[2,3],f32>, {{.*}} -> !torch.vtensor<[2,3],f64>
// CHECK:         %[[SUMS:.*]] = torch.aten.cumsum %[[WIDE]], {{.*}} -> !torch.vtensor<[2,3],f64>
// CHECK:         torch.aten.to.dtype %[[SUMS]], {{.*}} -> !torch.vtensor<[2,3],f32>
// CHECK:         torch.aten.cumprod %{{.*}} : !torch.vtensor<[2,3],f64>

// Other dtypes do not change.
// CHECK-LABEL: func.func @others(
// CHECK-NOT:     torch.aten.to.dtype
func.func @main(%x: !torch.vtensor<[2,3],f32>) -> (!torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32>) {
  %int1 = torch.constant.int 1
  %none = torch.constant.none
  %0 = torch.aten.cumsum %x, %int1, %none : !torch.vtensor<[2,3],f32>, !torch.int, !torch.none -> !torch.vtensor<[2,3],f32>
  %1 = torch.aten.cumprod %x, %int1, %none : !torch.vtensor<[2,3],f32>, !torch.int, !torch.none -> !torch.vtensor<[2,3],f32>
  return %0, %1 : !torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32>
}
func.func @others(%x: !torch.vtensor<[3],si32>, %y: !torch.vtensor<[3],f64>) -> (!torch.vtensor<[3],si64>, !torch.vtensor<[3],f64>) {
  %int0 = torch.constant.int 0
  %none = torch.constant.none
  %0 = torch.aten.cumsum %x, %int0, %none : !torch.vtensor<[3],si32>, !torch.int, !torch.none -> !torch.vtensor<[3],si64>
  %1 = torch.aten.cumsum %y, %int0, %none : !torch.vtensor<[3],f64>, !torch.int, !torch.none -> !torch.vtensor<[3],f64>
  return %0, %1 : !torch.vtensor<[3],si64>, !torch.vtensor<[3],f64>
}
