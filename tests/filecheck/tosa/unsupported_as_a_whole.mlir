// RUN: not unmess-opt --pipeline tosa %s 2>&1 | filecheck %s

// Here, the pass fails and rolls back everything even as a partial conversion. The error names only
// the operator that the pass does not lower by itself.

// CHECK:      tosa: no lowering for aten.unflatten.int (pass func.func(convert-torch-to-tosa
// CHECK-NEXT:   at: user.py:3
func.func @main(%x: !torch.vtensor<[?,?],f32>, %n: !torch.int) -> !torch.vtensor<[?,?,3],f32> {
  %1 = torch.constant.int 1
  %3 = torch.constant.int 3
  %sizes = torch.prim.ListConstruct %n, %3 : (!torch.int, !torch.int) -> !torch.list<int>
  %r = torch.aten.relu %x : !torch.vtensor<[?,?],f32> -> !torch.vtensor<[?,?],f32> loc("user.py":2:0)
  %u = torch.aten.unflatten.int %r, %1, %sizes : !torch.vtensor<[?,?],f32>, !torch.int, !torch.list<int> -> !torch.vtensor<[?,?,3],f32> loc("user.py":3:0)
  %a = torch.aten.add.Scalar %u, %3, %1 : !torch.vtensor<[?,?,3],f32>, !torch.int, !torch.int -> !torch.vtensor<[?,?,3],f32> loc("user.py":4:0)
  return %a : !torch.vtensor<[?,?,3],f32>
}
