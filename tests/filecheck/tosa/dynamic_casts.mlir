// RUN: unmess-opt --pipeline tosa-dynamic-casts %s | filecheck %s
// RUN: unmess-opt --pipeline tosa %s | filecheck %s --check-prefix TOSA

// TOSA's cast rounds to the nearest integer. PyTorch's conversion rounds toward zero.
// CHECK-LABEL: func.func @to_integers(
// CHECK:         %[[X:.*]] = torch_c.to_builtin_tensor %{{.*}} -> tensor<?x3xf32>
// CHECK:         %[[ZERO:.*]] = "tosa.const"() {{.*}} -> tensor<1x1xf32>
// CHECK:         %[[NEGATIVE:.*]] = tosa.greater %[[ZERO]], %[[X]]
// CHECK:         %[[UP:.*]] = tosa.ceil %[[X]]
// CHECK:         %[[DOWN:.*]] = tosa.floor %[[X]]
// CHECK:         %[[TRUNCATED:.*]] = tosa.select %[[NEGATIVE]], %[[UP]], %[[DOWN]]
// CHECK:         tosa.cast %[[TRUNCATED]] : (tensor<?x3xf32>) -> tensor<?x3xi64>
// TOSA-LABEL:  func.func @to_integers({{.*}}: tensor<?x3xf32>{{.*}}) -> tensor<?x3xi64>
func.func @to_integers(%x: !torch.vtensor<[?,3],f32>) -> !torch.vtensor<[?,3],si64> {
  %4 = torch.constant.int 4
  %no = torch.constant.bool false
  %none = torch.constant.none
  %r = torch.aten.to.dtype %x, %4, %no, %no, %none : !torch.vtensor<[?,3],f32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?,3],si64>
  return %r : !torch.vtensor<[?,3],si64>
}

// A bool is true if the number is not zero.
// CHECK-LABEL: func.func @to_truths(
// CHECK:         %[[ZERO:.*]] = tosa.equal
// CHECK-NEXT:    tosa.logical_not %[[ZERO]]
// TOSA-LABEL:  func.func @to_truths({{.*}}) -> tensor<?xi1>
func.func @to_truths(%x: !torch.vtensor<[?],si32>) -> !torch.vtensor<[?],i1> {
  %11 = torch.constant.int 11
  %no = torch.constant.bool false
  %none = torch.constant.none
  %r = torch.aten.to.dtype %x, %11, %no, %no, %none : !torch.vtensor<[?],si32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[?],i1>
  return %r : !torch.vtensor<[?],i1>
}

// torch-mlir lowers casts with static sizes.
// CHECK-LABEL: func.func @static(
// CHECK:         torch.aten.to.dtype
func.func @static(%x: !torch.vtensor<[2],si32>) -> !torch.vtensor<[2],f32> {
  %6 = torch.constant.int 6
  %no = torch.constant.bool false
  %none = torch.constant.none
  %r = torch.aten.to.dtype %x, %6, %no, %no, %none : !torch.vtensor<[2],si32>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[2],f32>
  return %r : !torch.vtensor<[2],f32>
}
