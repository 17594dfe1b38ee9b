// RUN: unmess pipeline linalg | filecheck %s
// RUN: unmess pipeline tosa --json | filecheck %s --check-prefix JSON
// RUN: unmess pipeline reference | filecheck %s --check-prefix REFERENCE
// RUN: unmess pipeline stablehlo-to-linalg | filecheck %s --check-prefix TO-LINALG
// RUN: not unmess pipeline linlag 2>&1 | filecheck %s --check-prefix UNKNOWN

// CHECK:      linalg: 29 steps
// CHECK-NEXT:    1 linalg-integer-programs
// CHECK-NEXT:      lower the operators of integer programs to named operations and rescaling
// CHECK-NEXT:    2 linalg-transposed-convolutions
// CHECK:         3 linalg-loop-slices
// CHECK:         4 narrow-casts
// CHECK:         5 linalg-cumulative-f64
// CHECK:         6 func.func(torch-restructure-non-constant-axes)
// CHECK:        26 torch-verify-linalg-on-tensors-backend-contract
// CHECK:        29 linalg-nan-order

// JSON:       "pipeline": "tosa"
// JSON:       "name": "convert-torch-to-tosa"
// JSON-NEXT:  "text": "func.func(convert-torch-to-tosa{require-full-tosa-conversion=true})"

// Passes and Python steps, in the order in which they run.
// REFERENCE:      1 split-long-sums
// REFERENCE:      2 reference-narrow-products
// REFERENCE:      3 reference-attention-weights
// REFERENCE:      4 reference-set-apart
// REFERENCE-NEXT:     separate the operands of matrix products
// REFERENCE-NEXT: 5 func.func(linalg-generalize-named-ops)
// REFERENCE:      reference-outline
// REFERENCE:      reference-vectorize
// REFERENCE:      func.func(convert-linalg-to-loops)
// REFERENCE:      reference-annotate

// TO-LINALG: stablehlo-to-linalg: {{[0-9]+}} steps
// TO-LINALG: func.func(stablehlo-legalize-to-linalg)

// UNKNOWN:    usage: unknown pipeline 'linlag'
