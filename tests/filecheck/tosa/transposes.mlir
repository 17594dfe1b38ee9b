// RUN: unmess-opt --pipeline tosa %s | filecheck %s

// TOSA's convolutions are channels-last. No transposition is left between two of them.

// CHECK-LABEL: func.func @main
// CHECK:         tosa.transpose %arg0
// CHECK:         tosa.conv2d
// CHECK-NOT:     tosa.transpose
// CHECK:         tosa.clamp
// CHECK-NOT:     tosa.transpose
// CHECK:         tosa.conv2d
// CHECK:         tosa.transpose
func.func @main(%x: !torch.vtensor<[1,2,5,5],f32>, %w: !torch.vtensor<[2,2,1,1],f32>) -> !torch.vtensor<[1,2,5,5],f32> {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %none = torch.constant.none
  %false = torch.constant.bool false
  %ones = torch.prim.ListConstruct %int1, %int1 : (!torch.int, !torch.int) -> !torch.list<int>
  %zeros = torch.prim.ListConstruct %int0, %int0 : (!torch.int, !torch.int) -> !torch.list<int>
  %no = torch.prim.ListConstruct  : () -> !torch.list<int>
  %0 = torch.aten.convolution %x, %w, %none, %ones, %zeros, %ones, %false, %no, %int1 : !torch.vtensor<[1,2,5,5],f32>, !torch.vtensor<[2,2,1,1],f32>, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool, !torch.list<int>, !torch.int -> !torch.vtensor<[1,2,5,5],f32>
  %1 = torch.aten.relu %0 : !torch.vtensor<[1,2,5,5],f32> -> !torch.vtensor<[1,2,5,5],f32>
  %2 = torch.aten.convolution %1, %w, %none, %ones, %zeros, %ones, %false, %no, %int1 : !torch.vtensor<[1,2,5,5],f32>, !torch.vtensor<[2,2,1,1],f32>, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool, !torch.list<int>, !torch.int -> !torch.vtensor<[1,2,5,5],f32>
  return %2 : !torch.vtensor<[1,2,5,5],f32>
}
