// RUN: not unmess-opt --pipeline stablehlo %s 2>&1 | filecheck %s

// Indices into the padded input are not indices into the input.
// CHECK:      stablehlo: aten.max_pool2d_with_indices with ceil_mode has windows beyond its input
// CHECK-NEXT:   at: net.py:7
// CHECK-NEXT:   hint: pad the input in the model
// CHECK-NEXT:   repro:
func.func @ceil(%x: !torch.vtensor<[1,2,8,8],f32>) -> !torch.vtensor<[1,2,4,4],si64> {
  %true = torch.constant.bool true
  %0 = torch.constant.int 0
  %1 = torch.constant.int 1
  %2 = torch.constant.int 2
  %3 = torch.constant.int 3
  %kernel = torch.prim.ListConstruct %3, %3 : (!torch.int, !torch.int) -> !torch.list<int>
  %stride = torch.prim.ListConstruct %2, %2 : (!torch.int, !torch.int) -> !torch.list<int>
  %padding = torch.prim.ListConstruct %0, %0 : (!torch.int, !torch.int) -> !torch.list<int>
  %dilation = torch.prim.ListConstruct %1, %1 : (!torch.int, !torch.int) -> !torch.list<int>
  %r:2 = torch.aten.max_pool2d_with_indices %x, %kernel, %stride, %padding, %dilation, %true : !torch.vtensor<[1,2,8,8],f32>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool -> !torch.vtensor<[1,2,4,4],f32>, !torch.vtensor<[1,2,4,4],si64> loc("net.py":7:0)
  return %r#1 : !torch.vtensor<[1,2,4,4],si64>
}
