// RUN: unmess-opt --pipeline narrow-casts %s | filecheck %s
// RUN: unmess-opt --pipeline linalg %s | filecheck %s --check-prefix LINALG

// CHECK-LABEL: func.func @main(
// CHECK:         %[[WIDE:.*]] = torch.aten.to.dtype %{{.*}} : !torch.vtensor<[2],f32>, {{.*}} -> !torch.vtensor<[2],si32>
// CHECK:         torch.aten.to.dtype %[[WIDE]], {{.*}} -> !torch.vtensor<[2],ui8>
// CHECK:         torch.aten.to.dtype %{{.*}} : !torch.vtensor<[2],f64>, {{.*}} -> !torch.vtensor<[2],si64>
// CHECK:         torch.aten.to.dtype %{{.*}} : !torch.vtensor<[2],f64>, {{.*}} -> !torch.vtensor<[2],si32>
// LINALG:      arith.fptosi %{{.*}} : f32 to i32
// LINALG:      arith.trunci %{{.*}} : i32 to i8

// Wider integers, and conversions of integers, do not change.
// CHECK-LABEL: func.func @others(
// CHECK-COUNT-2: torch.aten.to.dtype
// CHECK-NOT:     torch.aten.to.dtype
func.func @main(%x: !torch.vtensor<[2],f32>, %y: !torch.vtensor<[2],f64>) -> (!torch.vtensor<[2],ui8>, !torch.vtensor<[2],ui8>, !torch.vtensor<[2],si16>) {
  %false = torch.constant.bool false
  %none = torch.constant.none
  %ui8 = torch.constant.int 0
  %si16 = torch.constant.int 2
  %0 = torch.aten.to.dtype %x, %ui8, %false, %false, %none : !torch.vtensor<[2],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[2],ui8>
  %1 = torch.aten.to.dtype %y, %ui8, %false, %false, %none : !torch.vtensor<[2],f64>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[2],ui8>
  %2 = torch.aten.to.dtype %y, %si16, %false, %false, %none : !torch.vtensor<[2],f64>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[2],si16>
  return %0, %1, %2 : !torch.vtensor<[2],ui8>, !torch.vtensor<[2],ui8>, !torch.vtensor<[2],si16>
}
func.func @others(%x: !torch.vtensor<[2],f32>, %y: !torch.vtensor<[2],si32>) -> (!torch.vtensor<[2],si64>, !torch.vtensor<[2],ui8>) {
  %false = torch.constant.bool false
  %none = torch.constant.none
  %ui8 = torch.constant.int 0
  %si64 = torch.constant.int 4
  %0 = torch.aten.to.dtype %x, %si64, %false, %false, %none : !torch.vtensor<[2],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[2],si64>
  %1 = torch.aten.to.dtype %y, %ui8, %false, %false, %none : !torch.vtensor<[2],si32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[2],ui8>
  return %0, %1 : !torch.vtensor<[2],si64>, !torch.vtensor<[2],ui8>
}
