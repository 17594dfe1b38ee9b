// RUN: unmess-opt --pipeline cumulative-operators %s | filecheck %s

// Axis 0 of the mask is that of the result, axis 1 that of the factors.
// CHECK-LABEL: func.func @floats(
// CHECK-DAG:     %[[FACTOR:.*]] = torch.vtensor.literal(dense<{{\[\[\[0\], \[1\], \[2\]\]\]}}> : tensor<1x3x1xsi64>)
// CHECK-DAG:     %[[PLACE:.*]] = torch.vtensor.literal(dense<{{\[\[\[0\]\], \[\[1\]\], \[\[2\]\]\]}}> : tensor<3x1x1xsi64>)
// CHECK:         %[[MASK:.*]] = torch.aten.le.Tensor %[[FACTOR]], %[[PLACE]] {{.*}} -> !torch.vtensor<[3,3,1],i1>
// CHECK:         %[[X:.*]] = torch.aten.unsqueeze %arg0, {{.*}} -> !torch.vtensor<[1,3,?],f32>
// CHECK:         %[[ONE:.*]] = torch.vtensor.literal(dense<1.000000e+00> : tensor<f32>)
// CHECK:         %[[FACTORS:.*]] = torch.aten.where.self %[[MASK]], %[[X]], %[[ONE]] {{.*}} -> !torch.vtensor<[3,3,?],f32>
// CHECK:         torch.aten.prod.dim_int %[[FACTORS]], %int1{{.*}} -> !torch.vtensor<[3,?],f32>
func.func @floats(%x: !torch.vtensor<[3,?],f32>) -> !torch.vtensor<[3,?],f32> {
  %none = torch.constant.none
  %axis = torch.constant.int -2
  %0 = torch.aten.cumprod %x, %axis, %none : !torch.vtensor<[3,?],f32>, !torch.int, !torch.none -> !torch.vtensor<[3,?],f32>
  return %0 : !torch.vtensor<[3,?],f32>
}

// Products of integers are i64.
// CHECK-LABEL: func.func @integers(
// CHECK:         torch.aten.to.dtype %arg0, %int4{{.*}} -> !torch.vtensor<[3],si64>
// CHECK:         torch.aten.prod.dim_int {{.*}} -> !torch.vtensor<[3],si64>
func.func @integers(%x: !torch.vtensor<[3],si32>) -> !torch.vtensor<[3],si64> {
  %none = torch.constant.none
  %axis = torch.constant.int 0
  %0 = torch.aten.cumprod %x, %axis, %none : !torch.vtensor<[3],si32>, !torch.int, !torch.none -> !torch.vtensor<[3],si64>
  return %0 : !torch.vtensor<[3],si64>
}

// The places along an axis of dynamic size are computed.
// CHECK-LABEL: func.func @dynamic(
// CHECK:         %[[SIZE:.*]] = torch.aten.size.int %arg0, %int1
// CHECK:         torch.aten.arange.start_step %int0{{.*}}, %[[SIZE]],
// CHECK:         torch.aten.sum.dim_IntList {{.*}} -> !torch.vtensor<[3,?],f32>
func.func @dynamic(%x: !torch.vtensor<[3,?],f32>) -> !torch.vtensor<[3,?],f32> {
  %none = torch.constant.none
  %axis = torch.constant.int 1
  %0 = torch.aten.cumsum %x, %axis, %none : !torch.vtensor<[3,?],f32>, !torch.int, !torch.none -> !torch.vtensor<[3,?],f32>
  return %0 : !torch.vtensor<[3,?],f32>
}

// torch-mlir lowers sums of static sizes.
// CHECK-LABEL: func.func @static(
// CHECK:         torch.aten.cumsum
func.func @static(%x: !torch.vtensor<[3,4],f32>) -> !torch.vtensor<[3,4],f32> {
  %none = torch.constant.none
  %axis = torch.constant.int 1
  %0 = torch.aten.cumsum %x, %axis, %none : !torch.vtensor<[3,4],f32>, !torch.int, !torch.none -> !torch.vtensor<[3,4],f32>
  return %0 : !torch.vtensor<[3,4],f32>
}
