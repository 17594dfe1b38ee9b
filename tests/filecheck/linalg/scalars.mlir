// RUN: unmess-opt --pipeline linalg %s | filecheck %s

// Python integers are i64, sizes are cast to i64, and an assertion keeps its message.

// CHECK-LABEL: func.func @main(%arg0: tensor<?xf32>, %arg1: i64) -> i64
// CHECK:         %[[SIZE:.*]] = arith.index_cast %{{.*}} : index to i64
// CHECK-NEXT:    %[[PRODUCT:.*]] = arith.muli %[[SIZE]], %arg1
// CHECK-NEXT:    %[[MORE:.*]] = arith.cmpi sgt, %[[PRODUCT]], %c2
// CHECK-NEXT:    cf.assert %[[MORE]], "more than two"
// CHECK-NEXT:    return %[[PRODUCT]] : i64
func.func @main(%x: !torch.vtensor<[?],f32>, %i: !torch.int) -> !torch.int {
  %int0 = torch.constant.int 0
  %int2 = torch.constant.int 2
  %0 = torch.aten.size.int %x, %int0 : !torch.vtensor<[?],f32>, !torch.int -> !torch.int
  %1 = torch.aten.mul.int %0, %i : !torch.int, !torch.int -> !torch.int
  %2 = torch.aten.gt.int %1, %int2 : !torch.int, !torch.int -> !torch.bool
  torch.runtime.assert %2, "more than two"
  return %1 : !torch.int
}
