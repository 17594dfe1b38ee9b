// RUN: %python -m unmess analyze %s | filecheck %s
// RUN: %python -m unmess analyze %s --top 1 | filecheck %s --check-prefix=TOP
// RUN: %python -m unmess analyze %s -v | filecheck %s --check-prefix=FORMS
// RUN: %python -m unmess analyze %s --json --html %t.html | filecheck %s --check-prefix=JSON
// RUN: filecheck %s --check-prefix=HTML --input-file %t.html

// Counts for a matrix product with a bias, by kind, layer and source line.

// CHECK:      analyze.mlir at linalg
// CHECK:      dialect {{ *}}operation {{ *}}count {{ *}}in bodies
// CHECK:      linalg {{ *}}fill {{ *}}1
// CHECK:      linalg {{ *}}yield {{ *}}3
// CHECK:      Distinct bodies of linalg operations
// CHECK-DAG:  1 {{ *}}fill {{ *}}2 parallel {{ *}}f32 {{ *}}yield in0
// CHECK-DAG:  1 {{ *}}matmul {{ *}}2 parallel, 1 reduction {{ *}}f32 {{ *}}yield addf(out0, mulf(in0, in1))
// CHECK-DAG:  1 {{ *}}generic {{ *}}2 parallel {{ *}}f32 {{ *}}yield addf(in0, in1)
// CHECK:      one call: 135 FLOP; 268 B read, 180 B written; 0.301 FLOP/B
// CHECK:      memory: inputs 48 B, weights 100 B, results 60 B, peak of temporaries 120 B
// CHECK:      contraction {{ *}}1 {{ *}}120 {{ *}}88.9 %
// CHECK:      layer {{ *}}class {{ *}}operations
// CHECK:      fc {{ *}}Linear {{ *}}3 {{ *}}135 {{ *}}100.0 % {{.*}} 25 {{ *}}100 B
// CHECK:      net.py:7 {{ *}}3 {{ *}}135

// TOP: 8 more; pass --top 0 to show all

// FORMS: 1 {{ *}}generic {{ *}}2 parallel {{ *}}f32 {{ *}}(d0, d1) -> (d0, d1) {{ *}}yield addf(in0, in1)
// FORMS-NEXT: (d0, d1) -> (d1)

// HTML: <title>analyze.mlir at linalg</title>
// HTML: <svg class="icicle"

// JSON:     "ok": true,
// JSON:     "expression": "yield addf(out0, mulf(in0, in1))"
// JSON:     "total": {
// JSON-NEXT:  "flops": 135,
// JSON:     "peak_temporaries": 120,

#id = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
#fc = loc(fused<{class = "Linear", layer = "fc"}>["net.py":7:0])
func.func @main(
    %x: tensor<3x4xf32> {unmess.input = "x"},
    %w: tensor<4x5xf32> {unmess.weight = "fc.weight"},
    %b: tensor<5xf32> {unmess.weight = "fc.bias"}) -> tensor<3x5xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<3x5xf32> loc(#fc)
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<3x5xf32>) -> tensor<3x5xf32> loc(#fc)
  %2 = linalg.matmul ins(%x, %w : tensor<3x4xf32>, tensor<4x5xf32>)
                     outs(%1 : tensor<3x5xf32>) -> tensor<3x5xf32> loc(#fc)
  %3 = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]}
      ins(%2, %b : tensor<3x5xf32>, tensor<5xf32>) outs(%0 : tensor<3x5xf32>) {
  ^bb0(%in: f32, %bias: f32, %out: f32):
    %4 = arith.addf %in, %bias : f32
    linalg.yield %4 : f32
  } -> tensor<3x5xf32> loc(#fc)
  return %3 : tensor<3x5xf32>
}
