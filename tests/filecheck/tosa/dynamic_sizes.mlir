// RUN: unmess-opt --pipeline tosa-dynamic-sizes %s | filecheck %s

// The first elements of the other axes of %x give a tensor of the dynamic size. The condition always
// holds, and its sizes are those of the result.
// CHECK-LABEL: func.func @broadcast(
// CHECK:         %[[FIRST:.*]] = torch.aten.slice.Tensor %arg0, {{.*}} -> !torch.vtensor<[?,1],f32>
// CHECK:         %[[ROWS:.*]] = torch.aten.view %[[FIRST]], {{.*}} -> !torch.vtensor<[?,1,1],f32>
// CHECK:         %[[SAME:.*]] = torch.aten.eq.Tensor %[[ROWS]], %[[ROWS]] {{.*}} -> !torch.vtensor<[?,1,1],i1>
// CHECK:         %[[TRUE:.*]] = torch.vtensor.literal(dense<true> : tensor<1x2x4xi1>)
// CHECK:         %[[ALWAYS:.*]] = torch.aten.logical_or %[[SAME]], %[[TRUE]] {{.*}} -> !torch.vtensor<[?,2,4],i1>
// CHECK:         %[[ANOTHER:.*]] = torch.vtensor.literal(dense<8.500000e+01>
// CHECK:         torch.aten.where.self %[[ALWAYS]], %arg1, %[[ANOTHER]] {{.*}} -> !torch.vtensor<[?,2,4],f32>
// CHECK-NOT:     torch.aten.size.int
func.func @broadcast(%x: !torch.vtensor<[?,3],f32>, %y: !torch.vtensor<[1,4],f32>) -> !torch.vtensor<[?,2,4],f32> {
  %int0 = torch.constant.int 0
  %int2 = torch.constant.int 2
  %int4 = torch.constant.int 4
  %n = torch.aten.size.int %x, %int0 : !torch.vtensor<[?,3],f32>, !torch.int -> !torch.int
  %shape = torch.prim.ListConstruct %n, %int2, %int4 : (!torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.aten.broadcast_to %y, %shape : !torch.vtensor<[1,4],f32>, !torch.list<int> -> !torch.vtensor<[?,2,4],f32>
  return %0 : !torch.vtensor<[?,2,4],f32>
}

// CHECK-LABEL: func.func @joined(
// Elements 0 and 2 of the second axis.
// CHECK:         torch.vtensor.literal(dense<[0, 2]> : tensor<2xsi64>)
// CHECK:         tosa.gather %{{.*}}, %{{.*}} : (tensor<1x3x?xf32>, tensor<1x2xi32>) -> tensor<1x2x?xf32>
// CHECK:         tosa.concat {{.*}} {axis = 1 : i32} : (tensor<?x3xf32>, tensor<?x2xf32>) -> tensor<?x5xf32>
func.func @joined(%x: !torch.vtensor<[?,3],f32>) -> !torch.vtensor<[?,5],f32> {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int2 = torch.constant.int 2
  %int3 = torch.constant.int 3
  %0 = torch.aten.slice.Tensor %x, %int1, %int0, %int3, %int2 : !torch.vtensor<[?,3],f32>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[?,2],f32>
  %1 = torch.prim.ListConstruct %x, %0 : (!torch.vtensor<[?,3],f32>, !torch.vtensor<[?,2],f32>) -> !torch.list<vtensor>
  %2 = torch.aten.cat %1, %int1 : !torch.list<vtensor>, !torch.int -> !torch.vtensor<[?,5],f32>
  return %2 : !torch.vtensor<[?,5],f32>
}

// The first index selects all rows of %x: only the other one remains.
// CHECK-LABEL: func.func @indexed(
// CHECK-NOT:     torch.aten.arange
// CHECK:         tosa.gather %{{.*}} : (tensor<1x3x?xf32>, tensor<1x4xi32>) -> tensor<1x4x?xf32>
// The number of rows is that of another tensor, which may have fewer.
// CHECK-LABEL: func.func @indexed_by_another_size(
// CHECK:         torch.aten.index.Tensor_hacked_twin
func.func @indexed(%x: !torch.vtensor<[?,3],f32>, %i: !torch.vtensor<[4],si64>) -> !torch.vtensor<[?,4],f32> {
  %none = torch.constant.none
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %n = torch.aten.size.int %x, %int0 : !torch.vtensor<[?,3],f32>, !torch.int -> !torch.int
  %0 = torch.aten.arange.start_step %int0, %n, %int1, %none, %none, %none, %none : !torch.int, !torch.int, !torch.int, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.vtensor<[?],si64>
  %1 = torch.aten.unsqueeze %0, %int1 : !torch.vtensor<[?],si64>, !torch.int -> !torch.vtensor<[?,1],si64>
  %2 = torch.prim.ListConstruct %1, %i : (!torch.vtensor<[?,1],si64>, !torch.vtensor<[4],si64>) -> !torch.list<vtensor>
  %3 = torch.aten.index.Tensor_hacked_twin %x, %2 : !torch.vtensor<[?,3],f32>, !torch.list<vtensor> -> !torch.vtensor<[?,4],f32>
  return %3 : !torch.vtensor<[?,4],f32>
}
func.func @indexed_by_another_size(%x: !torch.vtensor<[?,3],f32>, %y: !torch.vtensor<[?,3],f32>, %i: !torch.vtensor<[4],si64>) -> !torch.vtensor<[?,4],f32> {
  %none = torch.constant.none
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %n = torch.aten.size.int %y, %int0 : !torch.vtensor<[?,3],f32>, !torch.int -> !torch.int
  %0 = torch.aten.arange.start_step %int0, %n, %int1, %none, %none, %none, %none : !torch.int, !torch.int, !torch.int, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.vtensor<[?],si64>
  %1 = torch.aten.unsqueeze %0, %int1 : !torch.vtensor<[?],si64>, !torch.int -> !torch.vtensor<[?,1],si64>
  %2 = torch.prim.ListConstruct %1, %i : (!torch.vtensor<[?,1],si64>, !torch.vtensor<[4],si64>) -> !torch.list<vtensor>
  %3 = torch.aten.index.Tensor_hacked_twin %x, %2 : !torch.vtensor<[?,3],f32>, !torch.list<vtensor> -> !torch.vtensor<[?,4],f32>
  return %3 : !torch.vtensor<[?,4],f32>
}

// The index has as many rows as %x: in captured programs, sums do not broadcast dynamic sizes.
// CHECK-LABEL: func.func @gather(
// CHECK:         %[[INDEX:.*]] = torch.aten.unsqueeze %{{.*}} -> !torch.vtensor<[?,2,1],si64>
// CHECK:         %[[MASK:.*]] = torch.aten.eq.Tensor %[[INDEX]], {{.*}} -> !torch.vtensor<[?,2,3],i1>
// CHECK:         %[[ROWS:.*]] = torch.aten.unsqueeze %arg0, {{.*}} -> !torch.vtensor<[?,1,3],f32>
// CHECK:         %[[OWN:.*]] = torch.aten.where.self %[[MASK]], %[[ROWS]]
// CHECK:         torch.aten.max.dim %[[OWN]], %int2
func.func @gather(%x: !torch.vtensor<[?,3],f32>, %i: !torch.vtensor<[?,2],si64>) -> !torch.vtensor<[?,2],f32> attributes {torch.assume_strict_symbolic_shapes} {
  %false = torch.constant.bool false
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int2 = torch.constant.int 2
  %int4 = torch.constant.int 4
  %none = torch.constant.none
  %0 = torch.aten.slice.Tensor %x, %int1, %int0, %int2, %int1 : !torch.vtensor<[?,3],f32>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[?,2],f32>
  %1 = torch.aten.to.dtype %0, %int4, %false, %false, %none : !torch.vtensor<[?,2],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,2],si64>
  %2 = torch.aten.add.Tensor %1, %i, %int1 : !torch.vtensor<[?,2],si64>, !torch.vtensor<[?,2],si64>, !torch.int -> !torch.vtensor<[?,2],si64>
  %3 = torch.aten.gather %x, %int1, %2, %false : !torch.vtensor<[?,3],f32>, !torch.int, !torch.vtensor<[?,2],si64>, !torch.bool -> !torch.vtensor<[?,2],f32>
  return %3 : !torch.vtensor<[?,2],f32>
}

// In other programs they may.
// CHECK-LABEL: func.func @gather_of_an_unknown_program(
// CHECK:         torch.aten.gather
func.func @gather_of_an_unknown_program(%x: !torch.vtensor<[?,3],f32>, %i: !torch.vtensor<[?,2],si64>) -> !torch.vtensor<[?,2],f32> {
  %false = torch.constant.bool false
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int2 = torch.constant.int 2
  %int4 = torch.constant.int 4
  %none = torch.constant.none
  %0 = torch.aten.slice.Tensor %x, %int1, %int0, %int2, %int1 : !torch.vtensor<[?,3],f32>, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor<[?,2],f32>
  %1 = torch.aten.to.dtype %0, %int4, %false, %false, %none : !torch.vtensor<[?,2],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,2],si64>
  %2 = torch.aten.add.Tensor %1, %i, %int1 : !torch.vtensor<[?,2],si64>, !torch.vtensor<[?,2],si64>, !torch.int -> !torch.vtensor<[?,2],si64>
  %3 = torch.aten.gather %x, %int1, %2, %false : !torch.vtensor<[?,3],f32>, !torch.int, !torch.vtensor<[?,2],si64>, !torch.bool -> !torch.vtensor<[?,2],f32>
  return %3 : !torch.vtensor<[?,2],f32>
}

// The values of the loop have the batch of %x: they are carried from it, and computed from it.
// CHECK-LABEL: func.func @rows_in_a_loop(
// CHECK:         torch.prim.Loop
// CHECK:         tosa.scatter %{{.*}} : (tensor<1x5x?xf32>, tensor<1x1xi32>, tensor<1x1x?xf32>) -> tensor<1x5x?xf32>
func.func @rows_in_a_loop(%x: !torch.vtensor<[5,?,3],f32>) -> !torch.vtensor<[5,?,3],f32> {
  %false = torch.constant.bool false
  %true = torch.constant.bool true
  %int0 = torch.constant.int 0
  %int5 = torch.constant.int 5
  %i = torch.vtensor.literal(dense<2> : tensor<1xsi64>) : !torch.vtensor<[1],si64>
  %0 = torch.prim.Loop %int5, %true, init(%x) {
  ^bb0(%n: !torch.int, %rows: !torch.vtensor<[5,?,3],f32>):
    %1 = torch.aten.index_select %rows, %int0, %i : !torch.vtensor<[5,?,3],f32>, !torch.int, !torch.vtensor<[1],si64> -> !torch.vtensor<[1,?,3],f32>
    %2 = torch.aten.sigmoid %1 : !torch.vtensor<[1,?,3],f32> -> !torch.vtensor<[1,?,3],f32>
    %3 = torch.prim.ListConstruct %i : (!torch.vtensor<[1],si64>) -> !torch.list<vtensor>
    %4 = torch.aten.index_put.hacked_twin %rows, %3, %2, %false : !torch.vtensor<[5,?,3],f32>, !torch.list<vtensor>, !torch.vtensor<[1,?,3],f32>, !torch.bool -> !torch.vtensor<[5,?,3],f32>
    torch.prim.Loop.condition %true, iter(%4 : !torch.vtensor<[5,?,3],f32>)
  } : (!torch.int, !torch.bool, !torch.vtensor<[5,?,3],f32>) -> !torch.vtensor<[5,?,3],f32>
  return %0 : !torch.vtensor<[5,?,3],f32>
}
