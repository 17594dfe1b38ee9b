// RUN: unmess-opt --pipeline linalg --insert-pass linalg=stablehlo-aggressive-simplification --insert-pass linalg=linalg-fuse-elementwise-ops %s | filecheck %s --check-prefix FUSED
// RUN: unmess-opt --pipeline torch --pipeline linalg --insert-pass torch=%S/Inputs/own_pass.py:relu_to_tanh %s | filecheck %s --check-prefix OWN
// RUN: unmess-opt --pipeline linalg --insert-pass linalg=%S/Inputs/own_pass.py:mark --insert-pass linalg=%S/Inputs/own_pass.py:mark_again %s | filecheck %s --check-prefix ORDER

// A pass of functions, as the first one is, needs no func.func(...) around it.
// FUSED:     linalg.generic
// FUSED:       arith.select
// FUSED:       math.exp
// FUSED-NOT: linalg.generic

// OWN:       math.tanh
// OWN-NOT:   arith.select

// At one place they run in the order given.
// ORDER:     attributes {my.mark = "first, second"}
func.func @main(%x: !torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32> {
  %0 = torch.aten.relu %x : !torch.vtensor<[2],f32> -> !torch.vtensor<[2],f32>
  %1 = torch.aten.exp %0 : !torch.vtensor<[2],f32> -> !torch.vtensor<[2],f32>
  return %1 : !torch.vtensor<[2],f32>
}
