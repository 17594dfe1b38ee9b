// RUN: unmess-opt --pipeline stablehlo %s | filecheck %s
// RUN: sed 's/ attributes {torch.*} {$/ {/' %s | unmess-opt --pipeline stablehlo | filecheck %s --check-prefix OPEN

// If torch.export has excluded the expansion of a dynamic size, an attribute of each broadcast
// says so, and the attribute of the function is removed. Otherwise, no attribute is added.

// CHECK-NOT:   unmess.strict_sizes
// CHECK:       stablehlo.dynamic_broadcast_in_dim {{.*}} {known_nonexpanding_dimensions = array<i64: 0>}

// OPEN:        stablehlo.dynamic_broadcast_in_dim
// OPEN-NOT:    known_nonexpanding_dimensions
func.func @main(%x: !torch.vtensor<[?,1],f32>, %y: !torch.vtensor<[?,4],f32>) -> !torch.vtensor<[?,4],f32> attributes {torch.assume_strict_symbolic_shapes} {
  %0 = torch.aten.mul.Tensor %x, %y : !torch.vtensor<[?,1],f32>, !torch.vtensor<[?,4],f32> -> !torch.vtensor<[?,4],f32>
  return %0 : !torch.vtensor<[?,4],f32>
}
