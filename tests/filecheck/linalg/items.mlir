// RUN: unmess-opt --pipeline linalg %s | filecheck %s

// `item` extracts an element. The sizes of a tensor become a tensor.

// CHECK-LABEL: func.func @main(%arg0: tensor<i64>, %arg1: tensor<?x3xf32>) -> (i64, tensor<2xi64>)
// CHECK-DAG:     %[[ITEM:.*]] = tensor.extract %arg0[] : tensor<i64>
// CHECK-DAG:     %[[DIM:.*]] = tensor.dim %arg1
// CHECK-DAG:     %[[SIZE:.*]] = arith.index_cast %[[DIM]]
// CHECK:         %[[SHAPE:.*]] = tensor.from_elements %[[SIZE]], %c3{{.*}} : tensor<2xi64>
// CHECK-NEXT:    return %[[ITEM]], %[[SHAPE]]
func.func @main(%x: !torch.vtensor<[],si64>, %y: !torch.vtensor<[?,3],f32>) -> (!torch.int, !torch.vtensor<[2],si64>) {
  %0 = torch.aten.item %x : !torch.vtensor<[],si64> -> !torch.int
  %1 = torch.aten._shape_as_tensor %y : !torch.vtensor<[?,3],f32> -> !torch.vtensor<[2],si64>
  return %0, %1 : !torch.int, !torch.vtensor<[2],si64>
}
