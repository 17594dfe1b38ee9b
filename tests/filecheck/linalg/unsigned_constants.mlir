// RUN: unmess-opt --pipeline linalg %s | filecheck %s
// RUN: unmess-opt --pipeline stablehlo %s | filecheck %s --check-prefix STABLEHLO
// RUN: unmess-opt --pipeline tosa %s | filecheck %s --check-prefix TOSA

// A result that is a constant of uint8. Folding its casts would give it the type of int8.

// CHECK-LABEL: func.func @main() -> tensor<2xi8>
// CHECK:         arith.constant dense<[7, -56]> : tensor<2xi8>
// STABLEHLO-LABEL: func.func @main() -> tensor<2xui8>
// STABLEHLO:         stablehlo.constant dense<[7, 200]> : tensor<2xui8>
// TOSA-LABEL:    func.func @main() -> tensor<2xi8>
// TOSA:            "tosa.const"() <{values = dense<[7, -56]> : tensor<2xi8>}>
func.func @main() -> !torch.vtensor<[2],ui8> {
  %0 = torch.vtensor.literal(dense<[7, 200]> : tensor<2xui8>) : !torch.vtensor<[2],ui8>
  return %0 : !torch.vtensor<[2],ui8>
}
