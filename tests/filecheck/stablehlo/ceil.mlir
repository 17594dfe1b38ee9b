// RUN: unmess-opt --pipeline stablehlo %s | filecheck %s

// The last of the windows starts at 6 of 8. Padding is added after the last element only.
// CHECK:         stablehlo.pad {{.*}} low = [0, 0, 0, 0], high = [0, 0, 1, 1]
// CHECK:         "stablehlo.reduce_window"{{.*}}padding = dense<0>
func.func @main(%x: !torch.vtensor<[1,2,8,8],f32>) -> !torch.vtensor<[1,2,4,4],f32> {
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
