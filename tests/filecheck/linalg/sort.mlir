// RUN: unmess-opt --pipeline linalg %s | filecheck %s

// linalg cannot express a sort, so it becomes a tm_tensor operation. NaN is the largest value.

// CHECK-LABEL: func.func @main(%arg0: tensor<6xf32>) -> tensor<6xf32>
// CHECK:         tm_tensor.sort dimension(0)
// CHECK:         %[[ORDER:.*]] = arith.cmpf ole, %[[A:.*]], %[[B:.*]] : f32
// CHECK-NEXT:    %[[NAN:.*]] = arith.cmpf uno, %[[B]], %[[B]] : f32
// CHECK-NEXT:    arith.ori %[[ORDER]], %[[NAN]]
func.func @main(%x: !torch.vtensor<[6],f32>) -> !torch.vtensor<[6],f32> {
  %dim = torch.constant.int 0
  %false = torch.constant.bool false
  %values, %indices = torch.aten.sort %x, %dim, %false : !torch.vtensor<[6],f32>, !torch.int, !torch.bool -> !torch.vtensor<[6],f32>, !torch.vtensor<[6],si64>
  return %values : !torch.vtensor<[6],f32>
}
