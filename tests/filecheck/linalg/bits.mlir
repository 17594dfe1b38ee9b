// RUN: unmess-opt --pipeline linalg %s | filecheck %s

// Viewing f32 as i32 keeps the bits of every element, including NaN.
// CHECK-LABEL: func.func @bits
// CHECK:         linalg.generic
// CHECK:           arith.bitcast %{{.*}} : f32 to i32
func.func @bits(%x: !torch.vtensor<[?,3],f32>) -> !torch.vtensor<[?,3],si32> {
  %type = torch.constant.int 3
  %0 = torch.aten.view.dtype %x, %type : !torch.vtensor<[?,3],f32>, !torch.int -> !torch.vtensor<[?,3],si32>
  return %0 : !torch.vtensor<[?,3],si32>
}
