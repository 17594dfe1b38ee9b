// RUN: unmess-opt --pipeline tosa-integers %s | filecheck %s
// RUN: not unmess-opt --pipeline tosa %S/Inputs/bytes.mlir 2>&1 | filecheck %s --check-prefix BYTES
// RUN: not unmess-opt --pipeline tosa %S/Inputs/booleans.mlir 2>&1 | filecheck %s --check-prefix BOOLEANS

// TOSA's i8 is signed, so casts of uint8 use the low 8 bits of a wider integer.
// CHECK-LABEL: func.func @converted(
// CHECK:         %[[SIGNED:.*]] = torch.aten.to.dtype %{{.*}} -> !torch.vtensor<[3],si32>
// CHECK:         %[[MASK:.*]] = torch.constant.int 255
// CHECK:         %[[VALUE:.*]] = torch.aten.bitwise_and.Scalar %[[SIGNED]], %[[MASK]]
// CHECK:         torch.aten.to.dtype %[[VALUE]], {{.*}} -> !torch.vtensor<[3],f32>
func.func @converted(%x: !torch.vtensor<[3],ui8>) -> !torch.vtensor<[3],f32> {
  %6 = torch.constant.int 6
  %no = torch.constant.bool false
  %none = torch.constant.none
  %r = torch.aten.to.dtype %x, %6, %no, %no, %none : !torch.vtensor<[3],ui8>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[3],f32>
  return %r : !torch.vtensor<[3],f32>
}

// Signed integers, and operations that only move uint8 elements, are not changed.
// CHECK-LABEL: func.func @others(
// CHECK-NOT:     bitwise_and
// CHECK:         torch.aten.flip
func.func @others(%x: !torch.vtensor<[3],si8>, %y: !torch.vtensor<[3],ui8>) -> (!torch.vtensor<[3],f32>, !torch.vtensor<[3],ui8>) {
  %0 = torch.constant.int 0
  %6 = torch.constant.int 6
  %no = torch.constant.bool false
  %none = torch.constant.none
  %r = torch.aten.to.dtype %x, %6, %no, %no, %none : !torch.vtensor<[3],si8>, !torch.int, !torch.bool, !torch.bool, !torch.none -> !torch.vtensor<[3],f32>
  %axes = torch.prim.ListConstruct %0 : (!torch.int) -> !torch.list<int>
  %f = torch.aten.flip %y, %axes : !torch.vtensor<[3],ui8>, !torch.list<int> -> !torch.vtensor<[3],ui8>
  return %r, %f : !torch.vtensor<[3],f32>, !torch.vtensor<[3],ui8>
}

// BYTES:       tosa: aten.add.Tensor of unsigned integers, which TOSA does not have
// BYTES-NEXT:    at: net.py:5
// BYTES-NEXT:    hint: convert them to int32 first

// BOOLEANS:    tosa: aten.sort of booleans, which TOSA cannot order
