// RUN: not unmess-opt --pipeline stablehlo %s 2>&1 | filecheck %s
// RUN: not unmess-opt --pipeline tosa %s 2>&1 | filecheck %s --check-prefix TOSA

// torch-mlir rounds the number of windows down.
// CHECK:      stablehlo: aten.avg_pool1d with ceil_mode has a dynamic number of windows
// CHECK-NEXT:   at: net.py:7
// CHECK-NEXT:   hint: make the size of the image static
// TOSA:       tosa: aten.avg_pool1d with strides has a dynamic number of windows
func.func @ceil(%x: !torch.vtensor<[1,2,?],f32>) -> !torch.vtensor<[1,2,?],f32> {
  %true = torch.constant.bool true
  %0 = torch.constant.int 0
  %2 = torch.constant.int 2
  %two = torch.prim.ListConstruct %2 : (!torch.int) -> !torch.list<int>
  %none = torch.prim.ListConstruct %0 : (!torch.int) -> !torch.list<int>
  %r = torch.aten.avg_pool1d %x, %two, %two, %none, %true, %true : !torch.vtensor<[1,2,?],f32>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool, !torch.bool -> !torch.vtensor<[1,2,?],f32> loc("net.py":7:0)
  return %r : !torch.vtensor<[1,2,?],f32>
}
