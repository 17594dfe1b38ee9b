// RUN: unmess-opt --pipeline linalg --stop-after convert-torch-to-linalg %s | filecheck %s --check-prefix PASS
// RUN: unmess-opt --pipeline torch --pipeline linalg --stop-after torch %s | filecheck %s --check-prefix STAGE
// RUN: unmess-opt --pipeline linalg --stop-after canonicalize:4 %s | filecheck %s --check-prefix FOURTH

// Inside a pipeline, operators are already lowered to linalg, and signatures have torch types.
// PASS:       func.func @main(%arg0: !torch.vtensor<[2],f32>)
// PASS:       torch_c.to_builtin_tensor
// PASS:       linalg.generic

// STAGE-NOT:  linalg
// STAGE:      torch.aten.relu

// The pipeline stops after the fourth `canonicalize`, not after the first.
// FOURTH:     func.func @main(%arg0: tensor<2xf32>)
// FOURTH:     linalg.generic
// FOURTH-NOT: torch_c
func.func @main(%x: !torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32> {
  %0 = torch.aten.relu %x : !torch.vtensor<[2],f32> -> !torch.vtensor<[2],f32>
  return %0 : !torch.vtensor<[2],f32>
}
