// RUN: unmess-opt --pipeline torch --pipeline linalg %s | filecheck %s

// Signed integers of torch become signless integers, and bool becomes i1.

// CHECK-LABEL: func.func @main(%arg0: tensor<3xi64>, %arg1: tensor<3xi64>) -> tensor<3xi1>
// CHECK:         arith.cmpi slt,
func.func @main(%x: !torch.vtensor<[3],si64>, %y: !torch.vtensor<[3],si64>) -> !torch.vtensor<[3],i1> {
  %0 = torch.aten.lt.Tensor %x, %y : !torch.vtensor<[3],si64>, !torch.vtensor<[3],si64> -> !torch.vtensor<[3],i1>
  return %0 : !torch.vtensor<[3],i1>
}
