// RUN: unmess-opt --pipeline reference %s --print-after reference-sorts 2>&1 >/dev/null | filecheck %s

// A sort becomes merge loops before bufferization, so that it needs memory for one row only.
// CHECK:     After reference-sorts
// CHECK:     scf.for
// CHECK:     tensor.insert
// CHECK-NOT: tm_tensor.sort
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = tm_tensor.sort dimension(0) outs(%x : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.cmpf ole, %a, %b : f32
    tm_tensor.yield %1 : i1
  } -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
