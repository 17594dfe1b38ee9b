// RUN: unmess-opt --pipeline torch %s | filecheck %s

// An axis that is computed from constants is folded before the mean is decomposed.

// CHECK-LABEL: func.func @main
// CHECK-NOT:     torch.aten.mean
// CHECK-DAG:     %[[FOUR:.*]] = torch.constant.int 4
// CHECK-DAG:     %[[ONE:.*]] = torch.constant.int 1
// CHECK:         %[[AXES:.*]] = torch.prim.ListConstruct %[[ONE]]
// CHECK:         %[[SUM:.*]] = torch.aten.sum.dim_IntList %{{.*}}, %[[AXES]]
// CHECK-NEXT:    torch.aten.div.Scalar %[[SUM]], %[[FOUR]]
func.func @main(%x: !torch.vtensor<[2,4],f32>) -> !torch.vtensor<[2],f32> {
  %int1 = torch.constant.int 1
  %int2 = torch.constant.int 2
  %none = torch.constant.none
  %false = torch.constant.bool false
  %d = torch.aten.sub.int %int2, %int1 : !torch.int, !torch.int -> !torch.int
  %dims = torch.prim.ListConstruct %d : (!torch.int) -> !torch.list<int>
  %0 = torch.aten.mean.dim %x, %dims, %false, %none : !torch.vtensor<[2,4],f32>, !torch.list<int>, !torch.bool, !torch.none -> !torch.vtensor<[2],f32>
  return %0 : !torch.vtensor<[2],f32>
}
