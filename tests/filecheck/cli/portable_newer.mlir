// RUN: not unmess portable %s | filecheck %s

// Operations that are different upstream are listed one by one, with upstream's error message.
// CHECK:      operation arith.extui, 1 time
// CHECK-NEXT:   at: {{.*}}portable_newer.mlir:{{[0-9]+}}
// CHECK-NEXT:   upstream: invalid properties {nonNeg} for op arith.extui
// CHECK-NEXT:   removable: yes
// CHECK:      operation arith.flush_denormals, 1 time
// CHECK-NEXT:   at:
// CHECK-NEXT:   upstream: unregistered operation 'arith.flush_denormals' found in dialect ('arith')
// CHECK-NEXT:   removable: no
// CHECK:      operation linalg.elementwise, 1 time
// CHECK-NEXT:   at:
// CHECK-NEXT:   upstream: expected ::mlir::linalg::ElementwiseKind to be one of
// CHECK-NEXT:   removable: no
// Properties that upstream reads and drops are listed, too.
// CHECK-NEXT: property arith.addf.roundingmode, on 1 operation
// CHECK-NEXT:   at:
// CHECK-NEXT:   removable: yes
// CHECK-NEXT: {{.*}}portable_newer.mlir: {{.*}} rejects it
// CHECK:        hint: --to linalg --upstream-only is rejected too: custom op 'arith.flush_denormals' is unknown

func.func @main(%x: f32, %i: i8) -> (f32, i32, tensor<2xf32>) {
  %0 = arith.addf %x, %x to_nearest_even : f32
  %1 = arith.extui %i nneg : i8 to i32
  %2 = arith.flush_denormals %0 : f32
  %e = tensor.empty() : tensor<2xf32>
  %f = linalg.fill ins(%2 : f32) outs(%e : tensor<2xf32>) -> tensor<2xf32>
  %3 = linalg.elementwise kind=#linalg.elementwise_kind<sin> ins(%f : tensor<2xf32>) outs(%e : tensor<2xf32>) -> tensor<2xf32>
  return %2, %1, %3 : f32, i32, tensor<2xf32>
}
