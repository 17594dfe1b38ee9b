// RUN: unmess pipeline linalg | filecheck %s
// RUN: unmess pipeline tosa --json | filecheck %s --check-prefix JSON
// RUN: not unmess pipeline linlag 2>&1 | filecheck %s --check-prefix UNKNOWN

// CHECK:      linalg: 19 steps
// CHECK-NEXT:    1 func.func(torch-restructure-non-constant-axes)
// CHECK-NEXT:      an axis that is computed becomes a choice between constant ones
// CHECK:        18 torch-verify-linalg-on-tensors-backend-contract
// CHECK:        19 linalg-nan-order

// JSON:       "pipeline": "tosa"
// JSON:       "name": "convert-torch-to-tosa"
// JSON-NEXT:  "text": "func.func(convert-torch-to-tosa{require-full-tosa-conversion=true})"

// UNKNOWN:    usage: unknown pipeline 'linlag'
