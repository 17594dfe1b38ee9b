// RUN: not unmess contract --at raw %s | filecheck %s

// At raw, only violations that remain after the pipeline to torch are listed. All unknown operators
// are listed at once, including PyTorch's own, at which the pipeline would stop.

// CHECK:      user.py:2: mylib.op.default is an unknown operator
// CHECK-NEXT: user.py:3: aten.histc.default is an unknown operator
// CHECK-NEXT: raw.mlir violates the backend contract in 2 places
func.func @main(%x: !torch.vtensor<[2,4],f32>) -> !torch.vtensor<[2,4],f32> {
  %int0 = torch.constant.int 0
  %none = torch.constant.none
  %1 = torch.aten.softmax.int %x, %int0, %none : !torch.vtensor<[2,4],f32>, !torch.int, !torch.none -> !torch.vtensor<[2,4],f32> loc("user.py":1:0)
  %2 = torch.operator "torch.mylib.op"(%1) : (!torch.vtensor<[2,4],f32>) -> !torch.vtensor<[2,4],f32> loc("user.py":2:0)
  %3 = torch.operator "torch.aten.histc"(%2) : (!torch.vtensor<[2,4],f32>) -> !torch.vtensor<[2,4],f32> loc("user.py":3:0)
  return %3 : !torch.vtensor<[2,4],f32>
}
