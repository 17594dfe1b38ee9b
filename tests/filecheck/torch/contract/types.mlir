// RUN: not unmess contract %s | filecheck %s

// Each type that violates the contract is one line, in arguments, results and inside other types.

// CHECK:      types.mlir:6: func.func @arguments has a tensor of unknown rank (argument 1: !torch.vtensor<*,f32>)
func.func @arguments(%x: !torch.vtensor<[2],f32>, %y: !torch.vtensor<*,f32>, %z: !torch.vtensor<[?],unk>) {
// CHECK-NEXT: func.func @arguments has a tensor of unknown dtype (argument 2: !torch.vtensor<[?],unk>)
  return
}
// CHECK-NEXT: user.py:2: aten.relu has a tensor of unknown rank (result 0: !torch.vtensor)
// CHECK-NEXT: user.py:2: aten.relu has a tensor of unknown dtype (result 0: !torch.vtensor)
// CHECK-NEXT: user.py:3: copy.to_tensor has a tensor that is not value-semantic (result 0: !torch.tensor<[2],f32>)
func.func @results(%x: !torch.vtensor<[2],f32>) {
  %0 = torch.aten.relu %x : !torch.vtensor<[2],f32> -> !torch.vtensor loc("user.py":2:0)
  %1 = torch.copy.to_tensor %x : !torch.tensor<[2],f32> loc("user.py":3:0)
  return
}
// The types of a list's elements are not checked here, because elements are values of their own.
// CHECK-NEXT: func.func @inside has a tensor that is not value-semantic (argument 1: !torch.list<tensor<[2],f32>>)
// CHECK-NEXT: func.func @inside has a tensor of unknown rank (argument 2: !torch.tuple<int, vtensor<*,f32>>)
// CHECK-NEXT: func.func @inside has a type that is not supported by backends (argument 3: !torch.optional<any>)
// CHECK-NEXT: violates the backend contract in 8 places
func.func @inside(%a: !torch.list<vtensor>, %b: !torch.list<tensor<[2],f32>>, %c: !torch.tuple<int, vtensor<*,f32>>, %d: !torch.optional<any>, %e: !torch.tuple<list<int>, optional<vtensor<[2,3],f32>>>) {
  return
}
