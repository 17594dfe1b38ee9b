// RUN: unmess-opt --pipeline linalg-transposed-convolutions %s | filecheck %s

// Each of the four kernels of 2x2 elements computes one of two rows and one of two columns. The results
// of a phase are next to those of the next phase at the end.
// CHECK-LABEL: func.func @even_kernel(
// CHECK-COUNT-4: torch.aten.convolution {{.*}} : !torch.vtensor<[1,2,{{.}},{{.}}],f32>, !torch.vtensor<[3,2,2,2],f32>, !torch.none, {{.*}} -> !torch.vtensor<[1,3,4,4],f32>
// CHECK:         torch.aten.cat {{.*}} -> !torch.vtensor<[1,3,2,2,4,4],f32>
// CHECK:         torch.aten.permute {{.*}} -> !torch.vtensor<[1,3,4,2,4,2],f32>
// CHECK:         torch.aten.flatten.using_ints {{.*}} -> !torch.vtensor<[1,3,8,4,2],f32>
// CHECK:         torch.aten.flatten.using_ints {{.*}} -> !torch.vtensor<[1,3,8,8],f32>
// CHECK:         torch.aten.add.Tensor {{.*}} -> !torch.vtensor<[1,3,8,8],f32>
func.func @even_kernel(%x: !torch.vtensor<[1,2,4,4],f32>, %w: !torch.vtensor<[2,3,4,4],f32>, %b: !torch.vtensor<[3],f32>) -> !torch.vtensor<[1,3,8,8],f32> {
  %0 = torch.constant.int 0
  %1 = torch.constant.int 1
  %2 = torch.constant.int 2
  %true = torch.constant.bool true
  %strides = torch.prim.ListConstruct %2, %2 : (!torch.int, !torch.int) -> !torch.list<int>
  %ones = torch.prim.ListConstruct %1, %1 : (!torch.int, !torch.int) -> !torch.list<int>
  %zeros = torch.prim.ListConstruct %0, %0 : (!torch.int, !torch.int) -> !torch.list<int>
  %r = torch.aten.convolution %x, %w, %b, %strides, %ones, %ones, %true, %zeros, %1 : !torch.vtensor<[1,2,4,4],f32>, !torch.vtensor<[2,3,4,4],f32>, !torch.vtensor<[3],f32>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool, !torch.list<int>, !torch.int -> !torch.vtensor<[1,3,8,8],f32>
  return %r : !torch.vtensor<[1,3,8,8],f32>
}

// Without padding, the kernels of all phases read the same elements: one convolution computes them as
// channels.
// CHECK-LABEL: func.func @no_padding(
// CHECK-NOT:     torch.aten.constant_pad_nd
// CHECK:         torch.aten.convolution {{.*}} : !torch.vtensor<[1,2,9],f32>, !torch.vtensor<[12,2,1],f32>, {{.*}} -> !torch.vtensor<[1,12,9],f32>
// CHECK-NOT:     torch.aten.convolution
// CHECK-NOT:     torch.aten.cat
// CHECK:         torch.aten.permute {{.*}} -> !torch.vtensor<[1,3,9,4],f32>
// CHECK:         return {{.*}} : !torch.vtensor<[1,3,36],f32>
func.func @no_padding(%x: !torch.vtensor<[1,2,9],f32>, %w: !torch.vtensor<[2,3,4],f32>) -> !torch.vtensor<[1,3,36],f32> {
  %0 = torch.constant.int 0
  %1 = torch.constant.int 1
  %4 = torch.constant.int 4
  %none = torch.constant.none
  %true = torch.constant.bool true
  %strides = torch.prim.ListConstruct %4 : (!torch.int) -> !torch.list<int>
  %ones = torch.prim.ListConstruct %1 : (!torch.int) -> !torch.list<int>
  %zeros = torch.prim.ListConstruct %0 : (!torch.int) -> !torch.list<int>
  %r = torch.aten.convolution %x, %w, %none, %strides, %zeros, %ones, %true, %zeros, %1 : !torch.vtensor<[1,2,9],f32>, !torch.vtensor<[2,3,4],f32>, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool, !torch.list<int>, !torch.int -> !torch.vtensor<[1,3,36],f32>
  return %r : !torch.vtensor<[1,3,36],f32>
}

// A kernel that the stride does not divide: one phase reads two of three elements, the other one reads
// one. The batch and the length are dynamic. The second phase of the last element is behind the end
// of the result.
// CHECK-LABEL: func.func @odd_kernel(
// CHECK:         torch.aten.convolution {{.*}} : !torch.vtensor<[?,4,?],f32>, !torch.vtensor<[6,2,1],f32>, {{.*}} -> !torch.vtensor<[?,6,?],f32>
// CHECK:         torch.aten.cat {{.*}} -> !torch.vtensor<[6,2,2],f32>
// CHECK:         torch.aten.convolution {{.*}} : !torch.vtensor<[?,4,?],f32>, !torch.vtensor<[6,2,2],f32>, {{.*}} -> !torch.vtensor<[?,6,?],f32>
// CHECK:         %[[ALL:.*]] = torch.aten.flatten.using_ints {{.*}} -> !torch.vtensor<[?,6,?],f32>
// CHECK:         %[[END:.*]] = torch.constant.int -1
// CHECK:         torch.aten.slice.Tensor %[[ALL]], %{{.*}}, %{{.*}}, %[[END]], {{.*}} -> !torch.vtensor<[?,6,?],f32>
func.func @odd_kernel(%x: !torch.vtensor<[?,4,?],f32>, %w: !torch.vtensor<[4,3,3],f32>) -> !torch.vtensor<[?,6,?],f32> {
  %0 = torch.constant.int 0
  %1 = torch.constant.int 1
  %2 = torch.constant.int 2
  %none = torch.constant.none
  %true = torch.constant.bool true
  %strides = torch.prim.ListConstruct %2 : (!torch.int) -> !torch.list<int>
  %ones = torch.prim.ListConstruct %1 : (!torch.int) -> !torch.list<int>
  %zeros = torch.prim.ListConstruct %0 : (!torch.int) -> !torch.list<int>
  %r = torch.aten.convolution %x, %w, %none, %strides, %ones, %ones, %true, %zeros, %2 : !torch.vtensor<[?,4,?],f32>, !torch.vtensor<[4,3,3],f32>, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool, !torch.list<int>, !torch.int -> !torch.vtensor<[?,6,?],f32>
  return %r : !torch.vtensor<[?,6,?],f32>
}

// The kernel is smaller than the stride: the last two of three phases are zeros.
// CHECK-LABEL: func.func @small_kernel(
// CHECK:         torch.aten.convolution {{.*}} -> !torch.vtensor<[1,3,9],f32>
// CHECK-NOT:     torch.aten.convolution
// CHECK:         torch.aten.constant_pad_nd {{.*}} -> !torch.vtensor<[1,3,3,9],f32>
// CHECK:         torch.aten.slice.Tensor {{.*}} -> !torch.vtensor<[1,3,25],f32>
func.func @small_kernel(%x: !torch.vtensor<[1,2,9],f32>, %w: !torch.vtensor<[2,3,1],f32>) -> !torch.vtensor<[1,3,25],f32> {
  %0 = torch.constant.int 0
  %1 = torch.constant.int 1
  %3 = torch.constant.int 3
  %none = torch.constant.none
  %true = torch.constant.bool true
  %strides = torch.prim.ListConstruct %3 : (!torch.int) -> !torch.list<int>
  %ones = torch.prim.ListConstruct %1 : (!torch.int) -> !torch.list<int>
  %zeros = torch.prim.ListConstruct %0 : (!torch.int) -> !torch.list<int>
  %r = torch.aten.convolution %x, %w, %none, %strides, %zeros, %ones, %true, %zeros, %1 : !torch.vtensor<[1,2,9],f32>, !torch.vtensor<[2,3,1],f32>, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool, !torch.list<int>, !torch.int -> !torch.vtensor<[1,3,25],f32>
  return %r : !torch.vtensor<[1,3,25],f32>
}

// Not rewritten: without strides, no zeros are inserted; with strides and dilations, phases read
// elements of the kernel in another order.
// CHECK-LABEL: func.func @others(
// CHECK-COUNT-2: torch.aten.convolution {{.*}} : !torch.vtensor<[1,2,9],f32>, !torch.vtensor<[2,3,4],f32>,
// CHECK-NOT:     torch.aten.convolution
// CHECK:         return
func.func @others(%x: !torch.vtensor<[1,2,9],f32>, %w: !torch.vtensor<[2,3,4],f32>) -> (!torch.vtensor<[1,3,12],f32>, !torch.vtensor<[1,3,23],f32>) {
  %0 = torch.constant.int 0
  %1 = torch.constant.int 1
  %2 = torch.constant.int 2
  %none = torch.constant.none
  %true = torch.constant.bool true
  %twos = torch.prim.ListConstruct %2 : (!torch.int) -> !torch.list<int>
  %ones = torch.prim.ListConstruct %1 : (!torch.int) -> !torch.list<int>
  %zeros = torch.prim.ListConstruct %0 : (!torch.int) -> !torch.list<int>
  %r = torch.aten.convolution %x, %w, %none, %ones, %zeros, %ones, %true, %zeros, %1 : !torch.vtensor<[1,2,9],f32>, !torch.vtensor<[2,3,4],f32>, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool, !torch.list<int>, !torch.int -> !torch.vtensor<[1,3,12],f32>
  %s = torch.aten.convolution %x, %w, %none, %twos, %zeros, %twos, %true, %zeros, %1 : !torch.vtensor<[1,2,9],f32>, !torch.vtensor<[2,3,4],f32>, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool, !torch.list<int>, !torch.int -> !torch.vtensor<[1,3,23],f32>
  return %r, %s : !torch.vtensor<[1,3,12],f32>, !torch.vtensor<[1,3,23],f32>
}
