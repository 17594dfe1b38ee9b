// RUN: not unmess contract %s | filecheck %s
// RUN: not unmess contract --backend-legal-op aten.softmax.int --backend-legal-op aten.matmul %s | filecheck %s --check-prefix LEGAL

// CHECK:      user.py:1: mylib.op.default is an unknown operator (of vtensor<[2,4],f32>)
// CHECK-NEXT: user.py:2: aten.softmax.int is not decomposed (of vtensor<[2,4],f32>, int, none)
// A product of two matrices must be aten.mm. Other products have no simpler form.
// CHECK-NEXT: user.py:3: aten.matmul is not decomposed (of vtensor<[2,4],f32>, vtensor<[4,2],f32>)
// Flattening stays, because it records which dimensions belong together.
// CHECK-NEXT: operators.mlir violates the backend contract in 3 places

// LEGAL:      mylib.op.default is an unknown operator
// LEGAL-NEXT: violates the backend contract in 1 place
func.func @main(%x: !torch.vtensor<[2,4],f32>, %y: !torch.vtensor<[4,2],f32>, %z: !torch.vtensor<[4],f32>) -> !torch.vtensor<[8],f32> {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %none = torch.constant.none
  %0 = torch.operator "torch.mylib.op"(%x) : (!torch.vtensor<[2,4],f32>) -> !torch.vtensor<[2,4],f32> loc("user.py":1:0)
  %1 = torch.aten.softmax.int %0, %int0, %none : !torch.vtensor<[2,4],f32>, !torch.int, !torch.none -> !torch.vtensor<[2,4],f32> loc("user.py":2:0)
  %2 = torch.aten.matmul %x, %y : !torch.vtensor<[2,4],f32>, !torch.vtensor<[4,2],f32> -> !torch.vtensor<[2,2],f32> loc("user.py":3:0)
  %3 = torch.aten.matmul %x, %z : !torch.vtensor<[2,4],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor<[2],f32> loc("user.py":4:0)
  %4 = torch.aten.flatten.using_ints %1, %int0, %int1 : !torch.vtensor<[2,4],f32>, !torch.int, !torch.int -> !torch.vtensor<[8],f32> loc("user.py":5:0)
  return %4 : !torch.vtensor<[8],f32>
}
