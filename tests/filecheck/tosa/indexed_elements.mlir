// RUN: unmess-opt --pipeline tosa-indexed-elements %s | filecheck %s

// Each of the 3 rows selects the values whose index is its number, and adds their sum.
// CHECK-LABEL: func.func @add(
// CHECK:         %[[PLACES:.*]] = torch.vtensor.literal(dense<{{\[\[\[0\]\], \[\[1\]\], \[\[2\]\]\]}}> : tensor<3x1x1xsi64>)
// CHECK:         %[[INDEX:.*]] = torch.aten.unsqueeze %arg1, {{.*}} -> !torch.vtensor<[1,2,4],si64>
// CHECK:         %[[MASK:.*]] = torch.aten.eq.Tensor %[[INDEX]], %[[PLACES]] {{.*}} -> !torch.vtensor<[3,2,4],i1>
// CHECK:         %[[CHOSEN:.*]] = torch.aten.where.self %[[MASK]], {{.*}} -> !torch.vtensor<[3,2,4],f32>
// CHECK:         %[[SUM:.*]] = torch.aten.sum.dim_IntList %[[CHOSEN]], {{.*}} -> !torch.vtensor<[3,4],f32>
// CHECK:         torch.aten.add.Tensor %arg0, %[[SUM]]
func.func @add(%x: !torch.vtensor<[3,4],f32>, %i: !torch.vtensor<[2,4],si64>, %y: !torch.vtensor<[2,4],f32>) -> !torch.vtensor<[3,4],f32> {
  %axis = torch.constant.int 0
  %0 = torch.aten.scatter_add %x, %axis, %i, %y : !torch.vtensor<[3,4],f32>, !torch.int, !torch.vtensor<[2,4],si64>, !torch.vtensor<[2,4],f32> -> !torch.vtensor<[3,4],f32>
  return %0 : !torch.vtensor<[3,4],f32>
}

// More indices than rows: the last of the values for a row stays, and rows without an index stay.
// CHECK-LABEL: func.func @put(
// CHECK:         %[[FROM_END:.*]] = torch.aten.add.Tensor %arg1
// CHECK:         torch.aten.where.self %{{.*}}, %[[FROM_END]], %arg1
// CHECK:         %[[LATEST:.*]], %{{.*}} = torch.aten.max.dim {{.*}} -> !torch.vtensor<[2],si64>
// CHECK:         %[[WRITTEN:.*]] = torch.aten.ge.Tensor %[[LATEST]]
// CHECK:         %[[VALUES:.*]] = torch.aten.index_select
// CHECK:         %[[ROWS:.*]] = torch.aten.unsqueeze %[[WRITTEN]]
// CHECK:         torch.aten.where.self %[[ROWS]], %[[VALUES]]
func.func @put(%x: !torch.vtensor<[2,4],f32>, %i: !torch.vtensor<[3],si64>, %y: !torch.vtensor<[3,4],f32>) -> !torch.vtensor<[2,4],f32> {
  %false = torch.constant.bool false
  %indices = torch.prim.ListConstruct %i : (!torch.vtensor<[3],si64>) -> !torch.list<vtensor>
  %0 = torch.aten.index_put.hacked_twin %x, %indices, %y, %false : !torch.vtensor<[2,4],f32>, !torch.list<vtensor>, !torch.vtensor<[3,4],f32>, !torch.bool -> !torch.vtensor<[2,4],f32>
  return %0 : !torch.vtensor<[2,4],f32>
}

// TOSA's scatter replaces rows if there are not more indices. Indices of fewer columns than the
// tensor has, and dynamic sizes, do not change.
// CHECK-LABEL: func.func @others(
// CHECK:         torch.aten.index_put.hacked_twin
// CHECK:         torch.aten.scatter_add
// CHECK:         torch.aten.scatter_add
func.func @others(%x: !torch.vtensor<[2,4],f32>, %i: !torch.vtensor<[2],si64>, %y: !torch.vtensor<[2,4],f32>, %j: !torch.vtensor<[2,1],si64>, %z: !torch.vtensor<[?,4],f32>, %k: !torch.vtensor<[?,4],si64>) -> (!torch.vtensor<[2,4],f32>, !torch.vtensor<[2,4],f32>, !torch.vtensor<[?,4],f32>) {
  %false = torch.constant.bool false
  %axis = torch.constant.int 0
  %indices = torch.prim.ListConstruct %i : (!torch.vtensor<[2],si64>) -> !torch.list<vtensor>
  %0 = torch.aten.index_put.hacked_twin %x, %indices, %y, %false : !torch.vtensor<[2,4],f32>, !torch.list<vtensor>, !torch.vtensor<[2,4],f32>, !torch.bool -> !torch.vtensor<[2,4],f32>
  %1 = torch.aten.scatter_add %x, %axis, %j, %y : !torch.vtensor<[2,4],f32>, !torch.int, !torch.vtensor<[2,1],si64>, !torch.vtensor<[2,4],f32> -> !torch.vtensor<[2,4],f32>
  %2 = torch.aten.scatter_add %z, %axis, %k, %z : !torch.vtensor<[?,4],f32>, !torch.int, !torch.vtensor<[?,4],si64>, !torch.vtensor<[?,4],f32> -> !torch.vtensor<[?,4],f32>
  return %0, %1, %2 : !torch.vtensor<[2,4],f32>, !torch.vtensor<[2,4],f32>, !torch.vtensor<[?,4],f32>
}
