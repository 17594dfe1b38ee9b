// RUN: unmess-opt --pipeline linalg %s | filecheck %s

// A loop that reads row k and writes row k of two tensors becomes an `scf.for` with slices at its
// induction variable. Nothing in it checks an index.

// CHECK-LABEL: func.func @rows
// CHECK:         scf.for %[[K:.*]] = %c0 to %c4 step %c1
// CHECK-NOT:       tm_tensor
// CHECK:           tensor.extract_slice %arg0[%[[K]], 0] [1, 2] [1, 1]
// CHECK-NOT:       tm_tensor
// CHECK:           tensor.insert_slice {{.*}}[%[[K]], 0] [1, 2] [1, 1]
func.func @rows(%x: !torch.vtensor<[4,2],f32>, %y: !torch.vtensor<[4,2],f32>) -> !torch.vtensor<[4,2],f32> {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int4 = torch.constant.int 4
  %true = torch.constant.bool true
  %false = torch.constant.bool false
  %zero = torch.vtensor.literal(dense<0> : tensor<si64>) : !torch.vtensor<[],si64>
  %0:2 = torch.prim.Loop %int4, %true, init(%zero, %y) {
  ^bb0(%i: !torch.int, %k: !torch.vtensor<[],si64>, %out: !torch.vtensor<[4,2],f32>):
    %1 = torch.aten.unsqueeze %k, %int0 : !torch.vtensor<[],si64>, !torch.int -> !torch.vtensor<[1],si64>
    %2 = torch.aten.index_select %x, %int0, %1 : !torch.vtensor<[4,2],f32>, !torch.int, !torch.vtensor<[1],si64> -> !torch.vtensor<[1,2],f32>
    %3 = torch.aten.tanh %2 : !torch.vtensor<[1,2],f32> -> !torch.vtensor<[1,2],f32>
    %4 = torch.prim.ListConstruct %1 : (!torch.vtensor<[1],si64>) -> !torch.list<vtensor>
    %5 = torch.aten.index_put.hacked_twin %out, %4, %3, %false : !torch.vtensor<[4,2],f32>, !torch.list<vtensor>, !torch.vtensor<[1,2],f32>, !torch.bool -> !torch.vtensor<[4,2],f32>
    %6 = torch.aten.add.Scalar %k, %int1, %int1 : !torch.vtensor<[],si64>, !torch.int, !torch.int -> !torch.vtensor<[],si64>
    torch.prim.Loop.condition %true, iter(%6, %5 : !torch.vtensor<[],si64>, !torch.vtensor<[4,2],f32>)
  } : (!torch.int, !torch.bool, !torch.vtensor<[],si64>, !torch.vtensor<[4,2],f32>) -> (!torch.vtensor<[],si64>, !torch.vtensor<[4,2],f32>)
  return %0#1 : !torch.vtensor<[4,2],f32>
}

// Row k + 1 of the last round does not exist: the index and its check stay.

// CHECK-LABEL: func.func @beyond
// CHECK:         scf.for
// CHECK-NOT:       tensor.extract_slice %arg0
// CHECK:           tensor.extract %arg0
func.func @beyond(%x: !torch.vtensor<[4,2],f32>, %y: !torch.vtensor<[1,2],f32>) -> !torch.vtensor<[1,2],f32> {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int4 = torch.constant.int 4
  %true = torch.constant.bool true
  %zero = torch.vtensor.literal(dense<0> : tensor<si64>) : !torch.vtensor<[],si64>
  %0:2 = torch.prim.Loop %int4, %true, init(%zero, %y) {
  ^bb0(%i: !torch.int, %k: !torch.vtensor<[],si64>, %sum: !torch.vtensor<[1,2],f32>):
    %1 = torch.aten.add.Scalar %k, %int1, %int1 : !torch.vtensor<[],si64>, !torch.int, !torch.int -> !torch.vtensor<[],si64>
    %2 = torch.aten.unsqueeze %1, %int0 : !torch.vtensor<[],si64>, !torch.int -> !torch.vtensor<[1],si64>
    %3 = torch.aten.index_select %x, %int0, %2 : !torch.vtensor<[4,2],f32>, !torch.int, !torch.vtensor<[1],si64> -> !torch.vtensor<[1,2],f32>
    %4 = torch.aten.add.Tensor %sum, %3, %int1 : !torch.vtensor<[1,2],f32>, !torch.vtensor<[1,2],f32>, !torch.int -> !torch.vtensor<[1,2],f32>
    torch.prim.Loop.condition %true, iter(%1, %4 : !torch.vtensor<[],si64>, !torch.vtensor<[1,2],f32>)
  } : (!torch.int, !torch.bool, !torch.vtensor<[],si64>, !torch.vtensor<[1,2],f32>) -> (!torch.vtensor<[],si64>, !torch.vtensor<[1,2],f32>)
  return %0#1 : !torch.vtensor<[1,2],f32>
}
