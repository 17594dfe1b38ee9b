// RUN: unmess-opt --pipeline linalg --insert-pass linalg=stablehlo-aggressive-simplification --insert-pass linalg=linalg-fuse-elementwise-ops %s | filecheck %s --check-prefix FUSED
// RUN: unmess-opt --pipeline torch --pipeline linalg --insert-pass torch=%S/Inputs/user_pass.py:relu_to_tanh %s | filecheck %s --check-prefix OWN
// RUN: unmess-opt --pipeline linalg --insert-pass linalg=%S/Inputs/user_pass.py:mark --insert-pass linalg=%S/Inputs/user_pass.py:mark_again %s | filecheck %s --check-prefix ORDER

// The first pass runs on functions. unmess wraps it in `func.func(...)`.
// FUSED:     linalg.generic
// FUSED:       arith.select
// FUSED:       math.exp
// FUSED-NOT: linalg.generic

// OWN:       math.tanh
// OWN-NOT:   arith.select

// Passes at the same place run in the given order.
// ORDER:     attributes {my.mark = "first, second"}
func.func @main(%x: !torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32> {
  %0 = torch.aten.relu %x : !torch.vtensor<[2],f32> -> !torch.vtensor<[2],f32>
  %1 = torch.aten.exp %0 : !torch.vtensor<[2],f32> -> !torch.vtensor<[2],f32>
  return %1 : !torch.vtensor<[2],f32>
}
