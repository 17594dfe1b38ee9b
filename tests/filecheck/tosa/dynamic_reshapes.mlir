// RUN: unmess-opt --pipeline dynamic-sizes %s | filecheck %s

// The dynamic size becomes -1, and its computation is removed.
// CHECK-LABEL: func.func @split(
// CHECK-NOT:     torch.aten.size.int
// CHECK:         %[[OPEN:.*]] = torch.constant.int -1
// CHECK:         %[[SHAPE:.*]] = torch.prim.ListConstruct %[[OPEN]], %{{.*}}, %{{.*}} :
// CHECK:         torch.aten.view %arg0, %[[SHAPE]]
func.func @split(%x: !torch.vtensor<[?,6],f32>) -> !torch.vtensor<[?,2,3],f32> {
  %0 = torch.constant.int 0
  %1 = torch.constant.int 1
  %2 = torch.constant.int 2
  %3 = torch.constant.int 3
  %n = torch.aten.size.int %x, %0 : !torch.vtensor<[?,6],f32>, !torch.int -> !torch.int
  %m = torch.aten.mul.int %n, %1 : !torch.int, !torch.int -> !torch.int
  %sizes = torch.prim.ListConstruct %m, %2, %3 : (!torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %r = torch.aten.reshape %x, %sizes : !torch.vtensor<[?,6],f32>, !torch.list<int> -> !torch.vtensor<[?,2,3],f32>
  return %r : !torch.vtensor<[?,2,3],f32>
}

// A reshape with two unknown sizes is not changed.
// CHECK-LABEL: func.func @two(
// CHECK:         torch.aten.unflatten.int
func.func @two(%x: !torch.vtensor<[?,?],f32>, %n: !torch.int) -> !torch.vtensor<[?,?,3],f32> {
  %1 = torch.constant.int 1
  %3 = torch.constant.int 3
  %sizes = torch.prim.ListConstruct %n, %3 : (!torch.int, !torch.int) -> !torch.list<int>
  %r = torch.aten.unflatten.int %x, %1, %sizes : !torch.vtensor<[?,?],f32>, !torch.int, !torch.list<int> -> !torch.vtensor<[?,?,3],f32>
  return %r : !torch.vtensor<[?,?,3],f32>
}

// A broadcast to the sizes of another operand is removed, because elementwise operators broadcast.
// CHECK-LABEL: func.func @strict(
// CHECK-NOT:     broadcast_to
// CHECK:         torch.aten.add.Tensor %arg0, %arg1
func.func @strict(%x: !torch.vtensor<[?,3],f32>, %y: !torch.vtensor<[3],f32>) -> !torch.vtensor<[?,3],f32> attributes {torch.assume_strict_symbolic_shapes} {
  %0 = torch.constant.int 0
  %1 = torch.constant.int 1
  %3 = torch.constant.int 3
  %n = torch.aten.size.int %x, %0 : !torch.vtensor<[?,3],f32>, !torch.int -> !torch.int
  %sizes = torch.prim.ListConstruct %n, %3 : (!torch.int, !torch.int) -> !torch.list<int>
  %b = torch.aten.broadcast_to %y, %sizes : !torch.vtensor<[3],f32>, !torch.list<int> -> !torch.vtensor<[?,3],f32>
  %r = torch.aten.add.Tensor %x, %b, %1 : !torch.vtensor<[?,3],f32>, !torch.vtensor<[?,3],f32>, !torch.int -> !torch.vtensor<[?,3],f32>
  return %r : !torch.vtensor<[?,3],f32>
}

// The broadcast stays if the operand may have size 1 where the result has not.
// CHECK-LABEL: func.func @stretched(
// CHECK:         torch.aten.broadcast_to
func.func @stretched(%x: !torch.vtensor<[?],f32>, %n: !torch.int) -> !torch.vtensor<[?],f32> {
  %sizes = torch.prim.ListConstruct %n : (!torch.int) -> !torch.list<int>
  %r = torch.aten.broadcast_to %x, %sizes : !torch.vtensor<[?],f32>, !torch.list<int> -> !torch.vtensor<[?],f32>
  return %r : !torch.vtensor<[?],f32>
}

// A check that a size equals itself is removed.
// CHECK-LABEL: func.func @itself(
// CHECK-NOT:     "n is n"
// CHECK:         torch.runtime.assert %{{.*}}, "n is m"
func.func @itself(%x: !torch.vtensor<[?],f32>, %y: !torch.vtensor<[?],f32>) {
  %0 = torch.constant.int 0
  %n = torch.aten.size.int %x, %0 : !torch.vtensor<[?],f32>, !torch.int -> !torch.int
  %again = torch.aten.size.int %x, %0 : !torch.vtensor<[?],f32>, !torch.int -> !torch.int
  %m = torch.aten.size.int %y, %0 : !torch.vtensor<[?],f32>, !torch.int -> !torch.int
  %same = torch.aten.eq.int %n, %again : !torch.int, !torch.int -> !torch.bool
  torch.runtime.assert %same, "n is n"
  %other = torch.aten.eq.int %n, %m : !torch.int, !torch.int -> !torch.bool
  torch.runtime.assert %other, "n is m"
  return
}
