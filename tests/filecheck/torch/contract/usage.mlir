// RUN: not unmess contract %s 2>&1 | filecheck %s --check-prefix EXIT
// RUN: not unmess contract --at linalg %s 2>&1 | filecheck %s --check-prefix STAGE
// RUN: not unmess contract --backend-legal-op aten.sofmax.int %s 2>&1 | filecheck %s --check-prefix NAME

// EXIT:       usage: the backend contract is of the torch dialect, and the module is at tosa
// STAGE:      usage: unknown stage of the contract 'linalg'
// STAGE-NEXT:   hint: one of raw, torch
// NAME:       usage: no operator is called 'aten.sofmax.int'
// NAME-NEXT:    hint: did you mean aten.softmax.int
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = tosa.abs %x : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
