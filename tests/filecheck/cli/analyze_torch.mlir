// RUN: %python -m unmess analyze %s | filecheck %s --check-prefix=TORCH
// RUN: %python -m unmess analyze %s --at linalg | filecheck %s --check-prefix=LINALG
// RUN: not %python -m unmess analyze %s --at raw 2>&1 | filecheck %s --check-prefix=BACK

// A file is analyzed at its own stage or a later one. An earlier stage is an error.

// TORCH:     analyze_torch.mlir at torch
// TORCH-NOT: FLOP
// TORCH:     torch {{ *}}aten.exp {{ *}}1
// TORCH:     cli/analyze_torch.mlir:19 {{ *}}1 {{ *}}%0 = torch.aten.exp

// LINALG: analyze_torch.mlir at linalg
// LINALG: yield exp(in0)
// LINALG: one call: 0 FLOP; 4 transcendental functions; 16 B read, 16 B written

// BACK: usage: cannot lower a module at stage torch to raw

func.func @main(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  %0 = torch.aten.exp %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}
