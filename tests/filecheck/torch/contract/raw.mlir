// RUN: not unmess contract --at raw %s | filecheck %s

// Of a raw module only what the pipeline to torch leaves is told: every unknown operator at once,
// PyTorch's own too, at which the pipeline itself would stop.

// CHECK:      user.py:2: mylib.op.default is an unknown operator
// CHECK-NEXT: user.py:3: aten.histc.default is an unknown operator
// CHECK-NEXT: raw.mlir breaks the backend contract in 2 places
func.func @main(%x: !torch.vtensor<[2,4],f32>) -> !torch.vtensor<[2,4],f32> {
  %int0 = torch.constant.int 0
  %none = torch.constant.none
  %1 = torch.aten.softmax.int %x, %int0, %none : !torch.vtensor<[2,4],f32>, !torch.int, !torch.none -> !torch.vtensor<[2,4],f32> loc("user.py":1:0)
  %2 = torch.operator "torch.mylib.op"(%1) : (!torch.vtensor<[2,4],f32>) -> !torch.vtensor<[2,4],f32> loc("user.py":2:0)
  %3 = torch.operator "torch.aten.histc"(%2) : (!torch.vtensor<[2,4],f32>) -> !torch.vtensor<[2,4],f32> loc("user.py":3:0)
  return %3 : !torch.vtensor<[2,4],f32>
}
