// RUN: unmess-opt --pipeline linalg %s | filecheck %s

// Random numbers use a seed that is a global of the module, and is updated for the next call.

// CHECK:         ml_program.global private mutable @global_seed
// CHECK-LABEL: func.func @main
// CHECK:         %[[SEED:.*]] = ml_program.global_load @global_seed
// CHECK:         %[[NEXT:.*]] = tensor.insert %{{.*}} into %[[SEED]][]
// CHECK-NEXT:    ml_program.global_store @global_seed = %[[NEXT]]
// CHECK:         linalg.generic
func.func @main(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %low = torch.constant.float 0.000000e+00
  %high = torch.constant.float 1.000000e+00
  %none = torch.constant.none
  %0 = torch.aten.uniform %x, %low, %high, %none : !torch.vtensor<[4],f32>, !torch.float, !torch.float, !torch.none -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}
