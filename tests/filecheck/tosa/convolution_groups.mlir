// RUN: unmess-opt --pipeline tosa-convolution-groups %s | filecheck %s

// A transposed convolution: the kernel has the input channels first.
// CHECK-LABEL: func.func @transposed(
// CHECK-COUNT-2: torch.aten.convolution %{{.*}} : !torch.vtensor<[?,2,4,4],f32>, !torch.vtensor<[2,3,3,3],f32>, !torch.vtensor<[3],f32>, {{.*}} -> !torch.vtensor<[?,3,6,6],f32>
// CHECK:         %[[PARTS:.*]] = torch.prim.ListConstruct
// CHECK:         torch.aten.cat %[[PARTS]], {{.*}} -> !torch.vtensor<[?,6,6,6],f32>
func.func @transposed(%x: !torch.vtensor<[?,4,4,4],f32>, %w: !torch.vtensor<[4,3,3,3],f32>, %b: !torch.vtensor<[6],f32>) -> !torch.vtensor<[?,6,6,6],f32> {
  %0 = torch.constant.int 0
  %1 = torch.constant.int 1
  %2 = torch.constant.int 2
  %true = torch.constant.bool true
  %ones = torch.prim.ListConstruct %1, %1 : (!torch.int, !torch.int) -> !torch.list<int>
  %zeros = torch.prim.ListConstruct %0, %0 : (!torch.int, !torch.int) -> !torch.list<int>
  %r = torch.aten.convolution %x, %w, %b, %ones, %zeros, %ones, %true, %zeros, %2 : !torch.vtensor<[?,4,4,4],f32>, !torch.vtensor<[4,3,3,3],f32>, !torch.vtensor<[6],f32>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool, !torch.list<int>, !torch.int -> !torch.vtensor<[?,6,6,6],f32>
  return %r : !torch.vtensor<[?,6,6,6],f32>
}

// CHECK-LABEL: func.func @many(
// CHECK-COUNT-32: torch.aten.convolution %{{.*}}, %none, {{.*}} : !torch.vtensor<[1,2,4],f32>, !torch.vtensor<[1,2,3],f32>, !torch.none, {{.*}} -> !torch.vtensor<[1,1,2],f32>
// CHECK-NOT:     torch.aten.convolution
// CHECK:         return
func.func @many(%x: !torch.vtensor<[1,64,4],f32>, %w: !torch.vtensor<[32,2,3],f32>) -> !torch.vtensor<[1,32,2],f32> {
  %none = torch.constant.none
  %0 = torch.constant.int 0
  %1 = torch.constant.int 1
  %32 = torch.constant.int 32
  %false = torch.constant.bool false
  %one = torch.prim.ListConstruct %1 : (!torch.int) -> !torch.list<int>
  %zero = torch.prim.ListConstruct %0 : (!torch.int) -> !torch.list<int>
  %r = torch.aten.convolution %x, %w, %none, %one, %zero, %one, %false, %zero, %32 : !torch.vtensor<[1,64,4],f32>, !torch.vtensor<[32,2,3],f32>, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool, !torch.list<int>, !torch.int -> !torch.vtensor<[1,32,2],f32>
  return %r : !torch.vtensor<[1,32,2],f32>
}

// torch-mlir lowers depthwise convolutions, with any number of groups.
// CHECK-LABEL: func.func @depthwise(
// CHECK:         torch.aten.convolution %arg0, %arg1,
// CHECK-NOT:     torch.aten.convolution
func.func @depthwise(%x: !torch.vtensor<[1,64,4],f32>, %w: !torch.vtensor<[64,1,3],f32>) -> !torch.vtensor<[1,64,2],f32> {
  %none = torch.constant.none
  %0 = torch.constant.int 0
  %1 = torch.constant.int 1
  %64 = torch.constant.int 64
  %false = torch.constant.bool false
  %one = torch.prim.ListConstruct %1 : (!torch.int) -> !torch.list<int>
  %zero = torch.prim.ListConstruct %0 : (!torch.int) -> !torch.list<int>
  %r = torch.aten.convolution %x, %w, %none, %one, %zero, %one, %false, %zero, %64 : !torch.vtensor<[1,64,4],f32>, !torch.vtensor<[64,1,3],f32>, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool, !torch.list<int>, !torch.int -> !torch.vtensor<[1,64,2],f32>
  return %r : !torch.vtensor<[1,64,2],f32>
}
