// RUN: not unmess contract %s 2>&1 | filecheck %s --check-prefix EXIT
// RUN: not unmess contract --at linalg %s 2>&1 | filecheck %s --check-prefix STAGE
// RUN: not unmess contract --backend-legal-op aten.sofmax.int %s 2>&1 | filecheck %s --check-prefix NAME

// EXIT:       usage: the module is at stage tosa, but the backend contract applies to the torch dialect
// STAGE:      usage: unknown stage of the contract 'linalg'
// STAGE-NEXT:   hint: use one of raw, torch
// NAME:       usage: there is no operator 'aten.sofmax.int'
// NAME-NEXT:    hint: did you mean aten.softmax.int
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = tosa.abs %x : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
