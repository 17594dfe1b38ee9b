// RUN: unmess-opt --pipeline generalize %s | filecheck %s --check-prefix GENERIC
// RUN: unmess-opt --pipeline generalize --pipeline specialize %s | filecheck %s --check-prefix NAMED

// GENERIC-LABEL: func.func @main
// GENERIC-NOT:   linalg.matmul
// GENERIC:       linalg.generic
// GENERIC:         arith.mulf
// GENERIC:         arith.addf

// NAMED-LABEL: func.func @main
// NAMED:       linalg.matmul ins(%{{.*}}, %{{.*}} : tensor<?x4xf32>, tensor<4x5xf32>)
// NAMED-NOT:   linalg.generic
func.func @main(%x: tensor<?x4xf32>, %y: tensor<4x5xf32>, %out: tensor<?x5xf32>) -> tensor<?x5xf32> {
  %0 = linalg.matmul ins(%x, %y : tensor<?x4xf32>, tensor<4x5xf32>) outs(%out : tensor<?x5xf32>) -> tensor<?x5xf32>
  return %0 : tensor<?x5xf32>
}
