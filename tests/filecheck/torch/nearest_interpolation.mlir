// RUN: unmess-opt --pipeline nearest-interpolation %s | filecheck %s

// The height is doubled: elements are repeated. The width is not: indices select its elements.
// CHECK-LABEL: func.func @by_size(
// CHECK:         %[[PLACES:.*]] = torch.vtensor.literal(dense<[0, 0, 1, 2, 2, 3, 4]> : tensor<7xsi64>)
// CHECK:         %[[WIDE:.*]] = torch.aten.index_select %arg0, %int3, %[[PLACES]] : {{.*}} -> !torch.vtensor<[?,2,4,7],f32>
// CHECK:         %[[ONE:.*]] = torch.aten.unsqueeze %[[WIDE]], %int3_{{.*}} -> !torch.vtensor<[?,2,4,1,7],f32>
// CHECK:         %[[TWO:.*]] = torch.aten.broadcast_to %[[ONE]], {{.*}} -> !torch.vtensor<[?,2,4,2,7],f32>
// CHECK:         torch.aten.flatten.using_ints %[[TWO]], {{.*}} -> !torch.vtensor<[?,2,8,7],f32>
func.func @by_size(%x: !torch.vtensor<[?,2,4,5],f32>) -> !torch.vtensor<[?,2,8,7],f32> {
  %none = torch.constant.none
  %false = torch.constant.bool false
  %mode = torch.constant.str "nearest"
  %int8 = torch.constant.int 8
  %int7 = torch.constant.int 7
  %size = torch.prim.ListConstruct %int8, %int7 : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = torch.aten.__interpolate.size_list_scale_list %x, %size, %none, %mode, %none, %none, %false : !torch.vtensor<[?,2,4,5],f32>, !torch.list<int>, !torch.none, !torch.str, !torch.none, !torch.none, !torch.bool -> !torch.vtensor<[?,2,8,7],f32>
  return %0 : !torch.vtensor<[?,2,8,7],f32>
}

// A factor of 1.3 selects other elements than the quotient of the sizes, 6 / 5.
// CHECK-LABEL: func.func @by_factors(
// CHECK:         torch.vtensor.literal(dense<[0, 0, 1, 2, 3, 3]> : tensor<6xsi64>)
// CHECK-NOT:     __interpolate
// CHECK:         return
func.func @by_factors(%x: !torch.vtensor<[1,2,4,5],f32>) -> !torch.vtensor<[1,2,4,6],f32> {
  %none = torch.constant.none
  %false = torch.constant.bool false
  %mode = torch.constant.str "nearest"
  %one = torch.constant.float 1.000000e+00
  %more = torch.constant.float 1.300000e+00
  %factors = torch.prim.ListConstruct %one, %more : (!torch.float, !torch.float) -> !torch.list<float>
  %0 = torch.aten.__interpolate.size_list_scale_list %x, %none, %factors, %mode, %none, %none, %false : !torch.vtensor<[1,2,4,5],f32>, !torch.none, !torch.list<float>, !torch.str, !torch.none, !torch.none, !torch.bool -> !torch.vtensor<[1,2,4,6],f32>
  return %0 : !torch.vtensor<[1,2,4,6],f32>
}

// CHECK-LABEL: func.func @others(
// CHECK:         torch.aten.__interpolate
// CHECK:         torch.aten.__interpolate
func.func @others(%x: !torch.vtensor<[1,2,4,5],f32>, %y: !torch.vtensor<[1,2,?,5],f32>) -> (!torch.vtensor<[1,2,8,10],f32>, !torch.vtensor<[1,2,?,10],f32>) {
  %none = torch.constant.none
  %false = torch.constant.bool false
  %bilinear = torch.constant.str "bilinear"
  %nearest = torch.constant.str "nearest"
  %two = torch.constant.float 2.000000e+00
  %factors = torch.prim.ListConstruct %two, %two : (!torch.float, !torch.float) -> !torch.list<float>
  %0 = torch.aten.__interpolate.size_list_scale_list %x, %none, %factors, %bilinear, %none, %none, %false : !torch.vtensor<[1,2,4,5],f32>, !torch.none, !torch.list<float>, !torch.str, !torch.none, !torch.none, !torch.bool -> !torch.vtensor<[1,2,8,10],f32>
  %1 = torch.aten.__interpolate.size_list_scale_list %y, %none, %factors, %nearest, %none, %none, %false : !torch.vtensor<[1,2,?,5],f32>, !torch.none, !torch.list<float>, !torch.str, !torch.none, !torch.none, !torch.bool -> !torch.vtensor<[1,2,?,10],f32>
  return %0, %1 : !torch.vtensor<[1,2,8,10],f32>, !torch.vtensor<[1,2,?,10],f32>
}
