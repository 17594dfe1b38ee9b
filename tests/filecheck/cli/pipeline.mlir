// RUN: unmess pipeline linalg | filecheck %s
// RUN: unmess pipeline tosa --json | filecheck %s --check-prefix JSON
// RUN: unmess pipeline reference | filecheck %s --check-prefix REFERENCE
// RUN: not unmess pipeline linlag 2>&1 | filecheck %s --check-prefix UNKNOWN

// CHECK:      linalg: 21 steps
// CHECK-NEXT:    1 linalg-loop-slices
// CHECK-NEXT:      read and write the rows of loops over sequences as slices, not by index tensors
// CHECK-NEXT:    2 func.func(torch-restructure-non-constant-axes)
// CHECK:        20 torch-verify-linalg-on-tensors-backend-contract
// CHECK:        21 linalg-nan-order

// JSON:       "pipeline": "tosa"
// JSON:       "name": "convert-torch-to-tosa"
// JSON-NEXT:  "text": "func.func(convert-torch-to-tosa{require-full-tosa-conversion=true})"

// Passes and Python steps, in the order in which they run.
// REFERENCE:      1 split-long-sums
// REFERENCE:      2 reference-set-apart
// REFERENCE-NEXT:     separate the operands of matrix products
// REFERENCE-NEXT: 3 func.func(linalg-generalize-named-ops)
// REFERENCE:      reference-outline
// REFERENCE:      reference-vectorize
// REFERENCE:      func.func(convert-linalg-to-loops)
// REFERENCE:      reference-annotate

// UNKNOWN:    usage: unknown pipeline 'linlag'
