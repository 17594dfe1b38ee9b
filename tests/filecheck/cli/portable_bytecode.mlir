// RUN: torch-mlir-opt --emit-bytecode %s -o %t.mlirbc
// RUN: not unmess portable --json %t.mlirbc | filecheck %s

// Upstream cannot read the encoding of affine maps in this bytecode. It can read the text.
// CHECK:      "ok": false
// CHECK:      "problem": "unknown attribute code: {{[0-9]+}}",
// CHECK-NEXT: "unknown": [],
// CHECK-NEXT: "removable": true,
// CHECK-NEXT: "remedy": "write text instead of bytecode (-o FILE.mlir)"
#id = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%x : tensor<4xf32>) {
  ^bb0(%out: f32):
    linalg.yield %out : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
