// RUN: unmess-opt --pipeline stablehlo %s | filecheck %s

// StableHLO has no erf. CHLO has, and its erf is decomposed.

// CHECK-LABEL: func.func @main
// CHECK-NOT:     chlo.
// CHECK:         stablehlo.clamp
// CHECK:         stablehlo.multiply
func.func @main(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %0 = torch.aten.erf %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}
